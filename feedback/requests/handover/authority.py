"""Whether somebody may answer a request, and what an answer of theirs decides."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.contrib.auth.models import Group

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.accounts import permissions
from runs.domain.values.actors import TIMEOUT, Actor
from runs.domain.values.errors import AlreadyAnswered
from runs.domain.values.questions import Choice
from runs.domain.workflow.deciding import quorum
from runs.domain.workflow.reviewers import GROUP

Earlier = Sequence[FeedbackResponse]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """From where somebody answers: their own place or another's, and the groups it counts for."""

    actor: Actor
    on_behalf_of: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What an answer counts as."""

    decides: bool
    seat: Seat
    override: dict[str, object] = field(default_factory=dict)

    @property
    def in_place(self) -> dict[str, object]:
        """What `provided_by` tells besides who it was."""
        told = {"on_behalf_of": self.seat.on_behalf_of, "groups": list(self.seat.groups)}
        return {key: value for key, value in told.items() if value}


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
        quorum=2 if request.is_shared else 1,
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


def seat_of(request: FeedbackRequest, actor: Actor, place: str) -> Seat:
    """For which groups of its quorum an answer counts: those of whoever's place it is."""
    groups = [name for name in request.quorum_groups if _is_of(actor, place, name)]
    return Seat(actor=actor, on_behalf_of=place, groups=tuple(groups))


def _is_of(actor: Actor, place: str, group: str) -> bool:
    name = group.removeprefix(GROUP)
    if not place:
        return actor.is_in(name)
    return Group.objects.filter(name=name, user__username=place).exists()


def ruling(
    request: FeedbackRequest, seat: Seat, choice: Choice, earlier: Earlier, *, override: str
) -> Ruling:
    decides = _decides(request, choice, earlier, seat)
    if override:
        rules = {
            "reviewers": not permissions.is_asked(seat.actor, request.deciders),
            "quorum": not decides,
        }
        rule = ", ".join(name for name, is_broken in rules.items() if is_broken)
        told: dict[str, object] = {"reason": override, "rule": rule or "none"}
        return Ruling(decides=True, seat=seat, override=told)
    return Ruling(decides=decides or seat.actor == TIMEOUT, seat=seat)


def _decides(request: FeedbackRequest, choice: Choice, earlier: Earlier, seat: Seat) -> bool:
    """Going on needs the whole quorum to say the same; any other answer decides alone."""
    if not choice.takes_quorum:
        return True
    alike = [other for other in earlier if other.response == choice.response]
    if request.quorum_groups:
        seats = [*map(_groups, alike), frozenset(seat.groups)]
        return not quorum.missing(request.quorum_groups, seats)
    return 1 + len(alike) >= request.quorum


def _groups(response: FeedbackResponse) -> frozenset[str]:
    told = response.provided_by.get("groups")
    return frozenset(map(str, told)) if isinstance(told, list) else frozenset()


def still_needed(request: FeedbackRequest, given: Earlier) -> str:
    """Who must still agree, in words; nothing once it is decided or where one answer is enough."""
    if not request.is_shared or any(each.decides for each in given):
        return ""
    said = Counter(each.response for each in given).most_common(1)
    alike = [each for each in given if said and each.response == said[0][0]]
    if not request.quorum_groups:
        return f"{request.quorum - len(alike)} more"
    missing = quorum.missing(request.quorum_groups, [_groups(each) for each in alike])
    return ", ".join(
        f"{count} of {name.removeprefix(GROUP)}" for name, count in sorted(missing.items())
    )
