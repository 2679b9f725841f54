"""The comments about runs: how they stand, and the one that follows a run to its end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from feedback.channels.markdown.comments import DecisionShown, Shown, joined, mark, moment
from feedback.channels.markdown.escape import code, line, link
from runs.domain.values.status import RunStatus
from runs.domain.workflow.plan import Progress

MOST_DECISIONS = 50
# What a run made that people look at elsewhere, as its artifacts name it.
_LINKS = {"pr_url": "Pull request", "branch_name": "Branch", "spec_path": "Specification"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatusShown:
    """What a comment says of one run."""

    run_id: str
    title: str
    status: RunStatus
    url: str
    phase: str = ""
    step: str = ""
    progress: Progress | None = None
    updated_at: datetime | None = None
    outcome: str = ""  # who rejected or cancelled it
    message: str = ""
    pending: Shown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A request that has its answer, as a line of the comment that follows its run."""

    request_id: str
    url: str
    prompt: str
    decision: DecisionShown


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFollowed:
    """What the one comment about a run says from its start to its end."""

    status: RunStatusShown
    mark: str
    started_by: str
    decided: Sequence[Decided] = ()
    made: Mapping[str, object]  # its artifacts, by their names
    comment_url: str = ""  # of the open request's own comment


def status_comment(runs: Sequence[RunStatusShown]) -> str:
    """What `@faber status` posts."""
    if not runs:
        return "This issue has no workflow runs."
    cards = [_card(run) for run in runs[:10]]
    more = [f"{len(runs) - 10} older runs are not shown."] if len(runs) > 10 else []
    return joined(["## Workflow Status", *cards, *more])


def run_comment(run: RunFollowed) -> str:
    """Edited in place whenever something changes; each open request has a comment of its own."""
    shown = run.status
    answer_here = link("Answer it here", run.comment_url) if run.comment_url else ""
    title = f"**{line(shown.title, 200)}** · {link('View run in FABER', shown.url)}"
    links = list(_links(run))
    return joined(
        [
            title,
            f"## {shown.status.label.capitalize()}",
            f"{_card(shown)}\n**Started by**: {line(run.started_by, 150)}",
            answer_here,
            *(["### Decisions", "\n".join(_decisions(run))] if run.decided else []),
            *(["### Links", "\n".join(links)] if links else []),
            mark(run.mark),
        ]
    )


def _decisions(run: RunFollowed) -> Iterator[str]:
    for each in islice(run.decided, MOST_DECISIONS):
        given = each.decision
        marks = f" ({', '.join(given.marks)})" if given.marks else ""
        yield (
            f"- {link(line(each.prompt, 150), each.url)}: **{line(given.response, 200)}** by "
            f"**{line(given.who, 150)}** {given.source.where}, {moment(given.at)}{marks}"
        )
    if more := len(run.decided) - MOST_DECISIONS:
        yield f"- … and {more} more" if more > 0 else ""


def _links(run: RunFollowed) -> Iterator[str]:
    for name, label in _LINKS.items():
        value = str(run.made.get(name) or "")
        if value.startswith(("https://", "http://")):
            yield f"- {label}: {link(line(value, 300), value)}"
        elif value:
            yield f"- {label}: {code(value)}"


def _card(run: RunStatusShown) -> str:
    at = [line(run.phase.capitalize(), 100), line(run.step, 150)]
    asked = run.pending
    rows = {
        "Title": line(run.title),
        "Workflow Run": link(code(run.run_id), run.url),
        "Status": run.status.label,
        "Outcome": line(run.outcome, 200),
        "At": " → ".join(part for part in at if part),
        "Progress": "{} of {} steps".format(*run.progress) if run.progress else "",
        "Updated": moment(run.updated_at) if run.updated_at else "",
        "Message": line(run.message, 500),
        "Waits for": f"{link(asked.request_id, asked.url)}: {line(asked.prompt)}" if asked else "",
    }
    return "\n".join(f"**{name}**: {value}" for name, value in rows.items() if value)
