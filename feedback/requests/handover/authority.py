"""Whether somebody may answer a request, and what an answer of theirs decides."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.accounts import permissions
from runs.domain.values.actors import TIMEOUT, Actor
from runs.domain.values.errors import AlreadyAnswered
from runs.domain.values.questions import Choice

Earlier = Sequence[FeedbackResponse]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What an answer counts as."""

    decides: bool
    override: dict[str, object] = field(default_factory=dict)
    on_behalf_of: str = ""

    @property
    def in_place(self) -> dict[str, object]:
        """What `provided_by` tells besides who it was."""
        return {"on_behalf_of": self.on_behalf_of} if self.on_behalf_of else {}


def check(request: FeedbackRequest, actor: Actor, earlier: Earlier, *, override: str) -> str:
    """In whose place somebody answers, their own being none; refuses whoever may not answer.

    `earlier` are the answers that count so far.
    """
    already = {each.identity for each in earlier}
    if override:
        permissions.check_may_override(actor, request.run, already)
        return ""
    permissions.check_may_answer(
        actor,
        request.run,
        reviewers=request.deciders,
        quorum=request.quorum,
        already=already,
    )
    place = place_of(request, actor)
    _check_seat(actor, place, earlier)
    return place


def place_of(request: FeedbackRequest, actor: Actor) -> str:
    """For whom somebody answers who is not asked themselves: who handed it over, or is away."""
    if request.reviewers and permissions.is_asked(actor, request.reviewers):
        return ""
    handed = (each for each in request.delegated if permissions.is_called(actor, str(each["to"])))
    if giver := next((str(each["from"]) for each in handed), ""):
        return _first_giver(request, giver)
    return permissions.stands_in_for(actor, request.run, request.deciders)


def _first_giver(request: FeedbackRequest, giver: str) -> str:
    """Whose place it is that was handed on and on."""
    seen: set[str] = set()
    while giver not in request.reviewers and giver not in seen:
        seen.add(giver)
        earlier = (str(d["from"]) for d in request.delegated if d["to"] == giver)
        giver = next(earlier, giver)
    return giver


def _check_seat(actor: Actor, place: str, earlier: Earlier) -> None:
    """However often a place is handed on, one answer is given from it."""
    for other in earlier:
        names = {other.on_behalf_of, str(other.provided_by.get("account") or other.name)} - {""}
        if any(permissions.is_called(actor, name) or name == place for name in names):
            raise AlreadyAnswered(f"{other.who} has answered for {place or 'you'} already.")


def ruling(
    request: FeedbackRequest, actor: Actor, choice: Choice, earlier: Earlier, *, override: str
) -> Ruling:
    decides = _decides(request, choice, earlier)
    if override:
        rules = {
            "reviewers": not permissions.is_asked(actor, request.deciders),
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
