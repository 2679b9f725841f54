"""Whether somebody may answer a request, and what an answer of theirs decides."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.accounts import permissions
from runs.domain.values.actors import TIMEOUT, Actor
from runs.domain.values.questions import Choice

Earlier = Sequence[FeedbackResponse]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What an answer counts as."""

    decides: bool
    override: dict[str, object] = field(default_factory=dict)


def check(request: FeedbackRequest, actor: Actor, earlier: Earlier, *, override: str) -> None:
    """Refuse whoever may not answer; `earlier` are the answers that count so far."""
    already = {each.identity for each in earlier}
    if override:
        permissions.check_may_override(actor, request.run, already)
        return
    permissions.check_may_answer(
        actor,
        request.run,
        reviewers=request.reviewers,
        quorum=request.quorum,
        already=already,
    )


def ruling(
    request: FeedbackRequest, actor: Actor, choice: Choice, earlier: Earlier, *, override: str
) -> Ruling:
    decides = _decides(request, choice, earlier)
    if override:
        rules = {
            "reviewers": not permissions.is_asked(actor, request.reviewers),
            "quorum": not decides,
        }
        rule = ", ".join(name for name, is_broken in rules.items() if is_broken)
        return Ruling(decides=True, override={"reason": override, "rule": rule or "none"})
    return Ruling(decides=decides or actor == TIMEOUT)


def _decides(request: FeedbackRequest, choice: Choice, earlier: Earlier) -> bool:
    """Going on needs the whole quorum to say the same; any other answer decides alone."""
    if not choice.takes_quorum:
        return True
    return 1 + sum(1 for other in earlier if other.response == choice.response) >= request.quorum
