"""Pages that look back: the audit of decisions, its CSV, the statistics, and what agents cost."""

from datetime import timedelta
from functools import partial
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe
from django_htmx.http import push_url

from feedback.audit import charts, costs, decisions, lines, statistics
from feedback.audit.charts import Measure
from feedback.audit.filters import AuditForm, PeriodForm
from feedback.audit.statistics import Figure
from runs.models import AuditKind
from runs.pages.http import PageRequest, chosen, page, sight
from runs.search.counts import Quantity

PER_PAGE = 50
REFUSALS = 20


@require_safe
def audit(request: PageRequest) -> HttpResponse:
    form = AuditForm(request.GET, auto_id="%s", sight=sight(request))
    wanted = form.wanted
    number = request.GET.get("page", "")
    is_other = wanted.kind != AuditKind.DECISION
    if is_other:
        leaf: Page[Any] = Paginator(lines.found(wanted).reverse(), PER_PAGE).get_page(number)
        total = Quantity(leaf.paginator.count)
    else:
        leaf, total = decisions.leaf_of(wanted, number, PER_PAGE)
    context = {
        "form": form,
        "leaf": leaf,
        "total": total,
        "is_narrowed": bool(wanted),
        # Called by the template, which shows them on the whole page only.
        "refusals": partial(lines.newest_refusals, wanted.sight, REFUSALS),
        "is_other": is_other,
    }
    response = page(request, "feedback/audit.html", context, part="news")
    return push_url(response, chosen(request)) if request.htmx else response


@require_safe
def audit_csv(request: PageRequest) -> HttpResponseBase:
    """Every decision the same form finds, line by line as the database hands them out."""
    rows = lines.found(AuditForm(request.GET, sight=sight(request)).wanted)
    told = lines.csv_lines(rows.iterator(chunk_size=decisions.FETCHED))
    response = StreamingHttpResponse(told, content_type="text/csv; charset=utf-8; header=present")
    response["Content-Disposition"] = 'attachment; filename="decisions.csv"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


@require_safe
def statistics_page(request: PageRequest) -> HttpResponse:
    form = PeriodForm(request.GET)
    now = timezone.now()
    since = now - timedelta(days=form.days) if form.days else None
    figures = statistics.statistics(since=since, now=now, sight=sight(request))
    days = [(f"{day:%-d %b}", count) for day, count in figures.days]
    context = {
        "form": form,
        "figures": figures,
        "gates_chart": charts.bars([_measure(one) for one in figures.by_gate]),
        "phases_chart": charts.bars([_measure(one) for one in figures.by_phase]),
        "days_chart": charts.columns(days),
        "most": statistics.MOST,
    }
    return page(request, "feedback/statistics.html", context)


@require_safe
def costs_page(request: PageRequest) -> HttpResponse:
    form = PeriodForm(request.GET)
    now = timezone.now()
    since = costs.first_day(now, form.days)
    figures = costs.costs(since=since, now=now, sight=sight(request))
    weeks = [(f"{week.monday:%-d %b}", round(week.cost.usd * 100)) for week in figures.weeks]
    chart = charts.columns(weeks)
    context = {
        "form": form,
        "figures": figures,
        "chart": chart,
        "weeks": list(zip(figures.weeks, chart.columns, strict=True)),
    }
    return page(request, "feedback/costs.html", context)


def _measure(figure: Figure) -> Measure:
    return Measure(label=figure.label, typical=figure.median_ms, worst=figure.p90_ms)
