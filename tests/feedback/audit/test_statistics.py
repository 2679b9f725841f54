"""Figures of waiting: how they are made of values, and what the page tells of them."""

import re
from datetime import datetime, timedelta
from html import unescape

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from feedback.audit import charts, statistics
from feedback.audit.charts import Measure
from feedback.audit.statistics import Waited
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.answers import respond
from runs.accounts import users
from runs.accounts.membership import EVERYTHING
from runs.domain.values.actors import POLICY, TIMEOUT, Role
from tests import factories as f

# Pure


@pytest.mark.parametrize(
    ("values", "median", "p90"),
    [([], 0, 0), ([7], 7, 7), ([1, 2], 1, 2), ([1, 2, 3], 2, 3), (list(range(1, 101)), 50, 90)],
)
def test_a_percentile_is_a_value_that_occurred(values: list[int], median: int, p90: int) -> None:
    assert statistics.percentile(values, 0.5) == median
    assert statistics.percentile(values, 0.9) == p90


def test_open_requests_count_with_what_they_waited_so_far() -> None:
    waited = [
        Waited("failure", "error_resolution", "build", 100, is_open=False),
        Waited("failure", "error_resolution", "build", 900, is_open=True),
        Waited("failure", "error_resolution", "build", 300, is_open=False),
    ]

    (figure,) = statistics.grouped(waited, lambda one: one.gate, str)

    assert (figure.count, figure.open) == (3, 1)
    assert (figure.median_ms, figure.p90_ms, figure.longest_ms) == (300, 900, 900)


def test_the_group_that_waits_longest_comes_first() -> None:
    waited = [
        Waited(gate, "review", "build", milliseconds, is_open=False)
        for gate, milliseconds in (("phase", 10), ("warning", 30), ("input", 20))
    ]

    figures = statistics.grouped(waited, lambda one: one.gate, str)

    assert [one.label for one in figures] == ["warning", "input", "phase"]


def test_the_busiest_person_comes_first() -> None:
    people = statistics.by_person([("Mei", 5), ("Rita", 10), ("Rita", 30), ("Rita", 20)])

    assert [(one.name, one.count, one.median_ms) for one in people] == [
        ("Rita", 3, 20),
        ("Mei", 1, 5),
    ]


def test_bars_share_the_width_of_the_longest() -> None:
    drawn = charts.bars(
        [
            Measure(label="a", typical=50, worst=200),
            Measure(label="b", typical=0, worst=25),
        ]
    )

    assert [(bar.typical, bar.worst) for bar in drawn.bars] == [("25%", "100%"), ("0.4%", "12.5%")]
    assert drawn.bars[0].bar_y + drawn.thickness < drawn.bars[1].words_y < drawn.bars[1].bar_y
    assert drawn.bars[1].bar_y + drawn.thickness <= drawn.height


def test_bars_of_nothing_take_no_room() -> None:
    assert charts.bars([]).height == 0
    assert charts.bars([Measure(label="a", typical=0, worst=0)]).bars[0].worst == "0.4%"


def test_columns_stand_on_the_ground_and_reach_as_high_as_the_most() -> None:
    drawn = charts.columns([("Mon", 0), ("Tue", 50), ("Wed", 1), ("Thu", 25)])

    assert [(one.y, one.height) for one in drawn.columns] == [
        (120, 0),
        (0, 120),
        (118, 2),
        (60, 60),
    ]
    assert [one.x for one in drawn.columns] == ["2.5%", "27.5%", "52.5%", "77.5%"]
    assert {one.width for one in drawn.columns} == {"20%"}
    assert (drawn.total, drawn.most) == (76, 50)


def test_columns_of_nothing_are_flat() -> None:
    assert charts.columns([]).columns == []
    assert charts.columns([("Mon", 0)]).columns[0].height == 0


# Read from the database


def asked(waited: timedelta, *, answer: str = "approve", who: str = "Rita") -> FeedbackRequest:
    """A review that was asked so long ago, and answered just now unless the answer is empty."""
    request = f.pending(f.started(f.five_steps()))
    # The database's clock, which stamps the answer, may be a moment behind ours.
    long_ago = timezone.now() - waited - timedelta(seconds=1)
    FeedbackRequest.objects.filter(pk=request.pk).update(requested_at=long_ago)
    if answer:
        f.answer(request.run, answer, actor=f.person(who))
    return request


def shown(now: datetime | None = None, days: int = 30) -> statistics.Statistics:
    now = now or timezone.now()
    return statistics.statistics(since=now - timedelta(days=days), now=now, sight=EVERYTHING)


@pytest.mark.django_db
@pytest.mark.database
def test_figures_are_read_per_gate_phase_and_person() -> None:
    asked(timedelta(minutes=10))
    asked(timedelta(minutes=30), who="Mei")
    asked(timedelta(hours=3), answer="")

    figures = shown()

    (gate,) = figures.by_gate
    assert (gate.label, gate.count, gate.open) == ("After a step · Review", 3, 1)
    assert gate.median_ms // 60_000 == 30
    assert gate.p90_ms // 60_000 == 180
    assert [phase.label for phase in figures.by_phase] == ["Architect"]
    assert [(one.name, one.median_ms // 60_000) for one in figures.people] == [
        ("Mei", 30),
        ("Rita", 10),
    ]
    assert figures.overall.count == 3
    assert not figures.is_cut


@pytest.mark.django_db
@pytest.mark.database
def test_answers_are_counted_on_their_day() -> None:
    now = timezone.now()
    first, second = asked(timedelta(hours=1)), asked(timedelta(hours=1))
    asked(timedelta(hours=1))
    FeedbackResponse.objects.filter(request=first).update(received_at=now - timedelta(days=3))
    FeedbackResponse.objects.filter(request=second).update(received_at=now - timedelta(days=45))

    days = dict(shown(now).days)

    assert len(days) == 30
    assert days[now.date()] == 1
    assert days[(now - timedelta(days=3)).date()] == 1
    assert sum(days.values()) == 2


@pytest.mark.django_db
def test_what_a_policy_approved_or_somebody_took_back_does_not_count() -> None:
    policy, back = asked(timedelta(minutes=1)), asked(timedelta(minutes=1))
    FeedbackResponse.objects.filter(request=policy).update(identity=POLICY.identity)
    FeedbackResponse.objects.filter(request=back).update(state="retracted")

    figures = shown()

    assert (figures.overall.count, figures.people) == (0, [])
    assert sum(count for _, count in figures.days) == 0


@pytest.mark.django_db
def test_answers_before_the_period_do_not_count() -> None:
    old = asked(timedelta(days=60))
    FeedbackResponse.objects.filter(request=old).update(
        received_at=timezone.now() - timedelta(days=50)
    )

    assert shown().overall.count == 0
    assert shown(days=90).overall.count == 1
    assert (
        statistics.statistics(since=None, now=timezone.now(), sight=EVERYTHING).overall.count == 1
    )


@pytest.mark.django_db
def test_what_holds_things_up_now_is_named() -> None:
    old = asked(timedelta(days=2), answer="")
    blocking = asked(timedelta(hours=1), answer="")
    FeedbackRequest.objects.filter(pk=blocking.pk).update(steps_behind=9)

    figures = shown()

    assert [one.request_id for one in figures.oldest] == [old.request_id, blocking.request_id]
    assert [one.request_id for one in figures.blocking] == [blocking.request_id, old.request_id]


@pytest.mark.django_db
def test_more_than_can_be_counted_is_cut_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MOST", 1)
    asked(timedelta(minutes=1))
    assert not shown().is_cut

    asked(timedelta(minutes=1))
    assert shown().is_cut
    assert shown().overall.count == 1


# The page


@pytest.fixture
def page_for(client: Client) -> Client:
    client.force_login(users.create("vera", role=Role.VIEWER))
    return client


def text(response: object) -> str:
    assert isinstance(response, HttpResponse)
    return unescape(response.content.decode())


@pytest.mark.django_db
def test_every_chart_says_what_it_shows_and_has_a_table(page_for: Client) -> None:
    asked(timedelta(minutes=10))
    asked(timedelta(hours=3), answer="")

    page = text(page_for.get("/statistics/"))

    drawn = re.findall(r'<svg class="chart" role="img".*?</svg>', page, re.DOTALL)
    assert len(drawn) == 3
    assert all("<title id=" in chart and "<desc id=" in chart for chart in drawn)
    assert page.count("<summary>Show as table</summary>") == 3
    assert "After a step · Review: median 10 min" in drawn[0]
    assert "style=" not in page
    assert "Waiting longest" in page
    assert 'href="/audit/?user=Rita"' in page


@pytest.mark.django_db
def test_a_chart_of_nothing_is_a_sentence(page_for: Client) -> None:
    asked(timedelta(hours=3), answer="")

    page = text(page_for.get("/statistics/"))

    assert "No decisions in the last 30 days." in page
    assert "at most 0 a day" not in page


@pytest.mark.django_db
def test_the_period_is_chosen_in_the_address(page_for: Client) -> None:
    def chosen(query: dict[str, str]) -> str:
        page = text(page_for.get("/statistics/", query))
        (value,) = re.findall(r'href="\?period=(\w+)" aria-current', page)
        return str(value)

    assert chosen({}) == "30"
    assert chosen({"period": "7"}) == "7"
    assert chosen({"period": "all"}) == "all"
    assert chosen({"period": "ever"}) == "30"


@pytest.mark.django_db
def test_without_figures_the_page_says_so(page_for: Client) -> None:
    assert "No requests in this period" in text(page_for.get("/statistics/"))


@pytest.mark.django_db
def test_the_page_costs_the_same_for_many_answers(
    page_for: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for minutes in range(4):
        asked(timedelta(minutes=minutes))
        asked(timedelta(minutes=minutes), answer="")
    page_for.get("/statistics/")  # from here on sums are kept

    with django_assert_max_num_queries(24):
        page_for.get("/statistics/")


@pytest.mark.django_db
@pytest.mark.database
def test_lateness_is_counted_of_what_was_due() -> None:
    now = timezone.now()
    asked(timedelta(hours=3))  # with no due date
    due = {"late": -1, "in time": 1, "timed out": -1}
    requests = {name: asked(timedelta(hours=2), answer="") for name in (*due, "open and late")}
    for name, request in requests.items():
        hours = due.get(name, -1)
        FeedbackRequest.objects.filter(pk=request.pk).update(due_at=now + timedelta(hours=hours))
    for name in due:
        actor = TIMEOUT if name == "timed out" else f.person()
        respond(requests[name].request_id, "reject", actor=actor)

    lateness = shown(timezone.now()).lateness

    assert (lateness.due, lateness.late, lateness.timed_out) == (4, 3, 1)
    assert lateness.share == 75
    assert [person.name for person in shown().people] == ["Rita"]


@pytest.mark.django_db
def test_the_page_tells_of_lateness_where_something_was_due(page_for: Client) -> None:
    request = asked(timedelta(hours=2), answer="")
    assert "Timed out" not in page_for.get("/statistics/").content.decode()

    FeedbackRequest.objects.filter(pk=request.pk).update(due_at=timezone.now())

    page = page_for.get("/statistics/").content.decode()
    assert "Late, of 1 due" in page
    assert "Timed out" in page
