"""Who may do what: the one place every channel asks."""

from collections.abc import Collection, Sequence

from django.conf import settings

from runs.domain.values.actors import Actor, Role, Source
from runs.domain.values.errors import AlreadyAnswered, NotAllowed
from runs.models import Run


def may_start(actor: Actor) -> bool:
    return not actor.is_agent and _is(actor, Role.REVIEWER, Role.OPERATOR, Role.ADMIN)


def may_steer(actor: Actor, run: Run) -> bool:
    """Cancel, resume and rerun: operators, and whoever started the run."""
    if actor.is_agent:
        return False
    return _is(actor, Role.OPERATOR, Role.ADMIN) or _has_started(actor, run)


def check_may_start(actor: Actor) -> None:
    if not may_start(actor):
        raise NotAllowed("Starting runs is for reviewers and operators.")


def check_may_steer(actor: Actor, run: Run) -> None:
    if not may_steer(actor, run):
        raise NotAllowed("This is for operators and for whoever started the run.")


def may_operate(actor: Actor) -> bool:
    return not actor.is_agent and _is(actor, Role.OPERATOR, Role.ADMIN)


def check_may_operate(actor: Actor) -> None:
    if not may_operate(actor):
        raise NotAllowed("This is for operators.")


def refusal_to_answer(actor: Actor, run: Run, reviewers: Sequence[str]) -> str:
    """Why this person may not answer; nothing when they may."""
    if actor.source is Source.POLICY:
        return ""
    if actor.is_agent:
        return "An agent can ask and wait, but never answer."
    if not _is(actor, Role.REVIEWER, Role.OPERATOR, Role.ADMIN):
        return "Answering is for reviewers and operators."
    if settings.FABER_SELF_APPROVAL == "refuse" and is_starter(actor, run):
        return "You started this run, so somebody else has to answer."
    if reviewers and not _is_named(actor, reviewers):
        return f"This request is for {', '.join(reviewers)}."
    return ""


def check_may_answer(
    actor: Actor, run: Run, *, reviewers: Sequence[str], already: Collection[str] = ()
) -> None:
    if refusal := refusal_to_answer(actor, run, reviewers):
        raise NotAllowed(refusal)
    if actor.identity in already:
        raise AlreadyAnswered("You have answered this already; it waits for somebody else.")


def _has_started(actor: Actor, run: Run) -> bool:
    """Whether this gives a right: by account alone, never by a name that merely looks the same."""
    if actor.user_id is not None and actor.user_id == run.started_by_user_id:
        return True
    if actor.source is Source.ISSUE_COMMENT:
        return False
    # On one machine the account name is the same person, whichever door they came through.
    account = (actor.account or actor.name).casefold()
    return bool(run.started_by_account) and account == run.started_by_account.casefold()


def is_starter(actor: Actor, run: Run) -> bool:
    """Whether this takes a right away: then a name that looks the same is enough."""
    if actor.user_id is not None and actor.user_id == run.started_by_user_id:
        return True
    names = {name.casefold() for name in (actor.account, _login(actor)) if name}
    starters = {run.started_by_account.casefold(), run.started_by.casefold()} - {""}
    return bool(names & starters)


def _login(actor: Actor) -> str:
    """The name that counts as identity: never a git name, which anybody can set."""
    return "" if actor.source is Source.CLI else actor.name


def _is(actor: Actor, *roles: Role) -> bool:
    return actor.has_role(*roles)


def _is_named(actor: Actor, reviewers: Sequence[str]) -> bool:
    names = {name.casefold() for name in (actor.account, _login(actor)) if name}
    for reviewer in reviewers:
        if reviewer.startswith("group:"):
            if reviewer.removeprefix("group:") in actor.groups:
                return True
        elif reviewer.casefold() in names:
            return True
    return False
