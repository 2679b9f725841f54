"""Guides a newcomer through the demo, decision by decision, until they put the guide away."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from runs.accounts.membership import Sight
from runs.domain.values.status import RunStatus
from runs.models import DEMO, Dismissal, Run
from runs.pages.http import PageRequest, SeeOther

NAME = "demo-guide"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """What somebody can do next in the demo."""

    number: int
    title: str
    text: str
    run: Run | None = None

    last = 4

    @property
    def is_last(self) -> bool:
        return self.number == self.last


# By the step that the demo's run stands at; elsewhere it does not ask anything.
_BY_STEP = {
    "write-spec": Guide(
        number=1,
        title="Review the specification",
        text="Comment on a line and choose Request changes to see another round, or approve it.",
    ),
    "test-and-fix": Guide(
        number=2,
        title="Decide about a failure",
        text="The change has a real bug. Read the analysis, then choose Retry: the fix is applied "
        "and the tests run again.",
    ),
    "merge": Guide(
        number=3,
        title="Approve the release",
        text="The release notes list what will be merged once you approve.",
    ),
}
_RUNNING = Guide(
    number=1, title="The demo is running", text="It asks for your first decision in a few seconds."
)
_DONE = Guide(
    number=Guide.last,
    title="The demo is complete",
    text="Its page shows every step and decision. Next, start a run of your own workflow.",
)


def newest(user: User, sight: Sight) -> Guide | None:
    """The guide for the newest demo that somebody sees; none when they put it away."""
    if _is_dismissed(user):
        return None
    demos = sight.of(Run.objects.filter(project__name=DEMO), "project")
    run = demos.select_related("project").order_by("-pk").first()
    return _at(run) if run else None


def beside(user: User, run: Run) -> Guide | None:
    """The guide on a page of this very run; runs of others than the demo have none."""
    if run.project.name != DEMO or _is_dismissed(user):
        return None
    return _at(run)


@require_POST
def dismiss(request: PageRequest) -> HttpResponse:
    Dismissal.objects.get_or_create(user=request.user, what=NAME)
    back = request.POST.get("next", "")
    is_here = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()})
    return SeeOther(back if is_here else resolve_url("inbox"))


def _is_dismissed(user: User) -> bool:
    return Dismissal.objects.filter(user=user, what=NAME).exists()


def _at(run: Run) -> Guide | None:
    if run.state is RunStatus.COMPLETED:
        found = _DONE
    elif run.state.is_stopped and run.state is not RunStatus.AWAITING_FEEDBACK:
        return None
    else:
        step = run.unit.step.id if run.unit else ""
        is_asked = run.state is RunStatus.AWAITING_FEEDBACK
        found = _BY_STEP.get(step, _RUNNING) if is_asked else _RUNNING
    return Guide(number=found.number, title=found.title, text=found.text, run=run)
