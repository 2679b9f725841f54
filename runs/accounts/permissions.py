"""Who may do what: the one place every channel asks."""

from collections.abc import Collection, Iterable, Sequence

from django.conf import settings

from runs.accounts import membership
from runs.domain.values.actors import Absent, Actor, Role, Source
from runs.domain.values.errors import AlreadyAnswered, NotAllowed, OnHold, Refused
from runs.models import Project, Run

_ANSWER = frozenset({Role.REVIEWER.value, Role.OPERATOR.value, Role.ADMIN.value})
_OPERATE = frozenset({Role.OPERATOR.value, Role.ADMIN.value})
_NO_AGENTS = "Agents can ask and wait, but can't answer."
_NO_VIEWERS = "Only reviewers and operators can answer."


def may_start(actor: Actor, project: Project | None = None) -> bool:
    """Start runs, in this project or in some."""
    return not actor.is_agent and bool(_rights(actor, project) & _ANSWER)


def may_start_somewhere(actor: Actor) -> bool:
    """Whether there is a project this person may start runs in, or make."""
    members = Project.objects.exclude(members=[])
    return may_start(actor) or any(may_start(actor, project) for project in members)


def may_steer(actor: Actor, run: Run) -> bool:
    """Cancel, resume and rerun: operators, and whoever started the run."""
    if actor.is_agent or not membership.sees(actor, run.project):
        return False
    # Who started an imported run is what a directory says.
    has_started = not run.imported_at and _has_started(actor, run)
    return may_operate(actor, run.project) or has_started


def check_may_start(actor: Actor, project: Project | None = None) -> None:
    if not may_start(actor, project):
        raise NotAllowed("Only reviewers and operators can start runs.")


def check_may_steer(actor: Actor, run: Run) -> None:
    if not may_steer(actor, run):
        raise NotAllowed("Only operators and the person who started the run can do this.")


def may_operate(actor: Actor, project: Project | None = None) -> bool:
    """Operate a project; without one, the site."""
    return not actor.is_agent and bool(_rights(actor, project) & _OPERATE)


def check_may_operate(actor: Actor, project: Project | None = None) -> None:
    if not may_operate(actor, project):
        raise NotAllowed("Only operators can do this.")


def may_act(actor: Actor, project: Project | None = None) -> bool:
    """Whether a program may do more than read: ask, execute remote steps, report."""
    if actor.is_agent and actor.user_id is None:
        return True
    return bool(_rights(actor, project) & _ANSWER)


def check_may_act(actor: Actor, project: Project | None = None) -> None:
    if not may_act(actor, project):
        raise NotAllowed("A viewer's token is read-only.")


def may_rule(actor: Actor, project: Project) -> bool:
    """Decide for calls to come: who may answer for the project, and never an agent."""
    is_named = not project.reviewers or _is_named(actor, project.reviewers)
    return may_start(actor, project) and is_named


def check_may_rule(actor: Actor, project: Project) -> None:
    if not may_rule(actor, project):
        raise NotAllowed("Standing rules are for those who may answer in this project.")


def check_may_comment(actor: Actor, run: Run) -> None:
    """Note things on a request before it is answered."""
    if actor.is_agent or not membership.rights(actor, run.project) & _ANSWER:
        raise NotAllowed("Only reviewers and operators can comment.")


def check_may_answer_some(actor: Actor, projects: Iterable[Project | None]) -> None:
    """Before each of many is judged by itself: whether any of them could be answered."""
    if actor.is_agent:
        raise NotAllowed(_NO_AGENTS)
    if not any(may_start(actor, project) for project in projects):
        raise NotAllowed(_NO_VIEWERS)


def on_hold(run: Run) -> OnHold:
    """Why nobody can answer what a held run asks, and what ends that."""
    how = f"Operators resume it on the run page or with `faber resume {run.run_id}`."
    return OnHold(f"{OnHold.__doc__} {how}")


def refusal_to_answer(actor: Actor, run: Run, reviewers: Sequence[str]) -> str:
    """Why this person may not answer; nothing when they may."""
    if run.on_hold:
        return str(OnHold())
    if actor.source is Source.POLICY:
        return ""
    if actor.is_agent:
        return _NO_AGENTS
    if not membership.sees(actor, run.project):
        return "Only members of this project can answer."
    if not membership.rights(actor, run.project) & _ANSWER:
        return _NO_VIEWERS
    if settings.FABER_SELF_APPROVAL == "refuse" and is_starter(actor, run):
        return "You started this run, so someone else must answer."
    if reviewers and not (_is_named(actor, reviewers) or stands_in_for(actor, run, reviewers)):
        return f"Only {', '.join(reviewers)} can answer this request."
    return ""


def check_may_answer(
    actor: Actor,
    run: Run,
    *,
    reviewers: Sequence[str],
    quorum: int = 1,
    already: Collection[str] = (),
) -> None:
    if run.on_hold:
        raise on_hold(run)
    if refusal := refusal_to_answer(actor, run, reviewers):
        raise NotAllowed(refusal)
    if _must_be_linked(actor, quorum):
        raise NotAllowed(
            f"This decision needs an account that is linked to the GitHub login {actor.name}. "
            "Ask an operator to link it, or answer on the review page."
        )
    if actor.identity in already:
        raise AlreadyAnswered("You have already answered. Waiting for another reviewer.")


def check_may_override(actor: Actor, run: Run, already: Collection[str] = ()) -> None:
    """Decide although others are asked: operators, but nobody in their own matter."""
    if run.on_hold:
        raise on_hold(run)
    if not may_operate(actor, run.project) or _is_unlinked(actor):
        raise NotAllowed("Overriding is for operators.")
    if settings.FABER_SELF_APPROVAL == "refuse" and is_starter(actor, run):
        raise NotAllowed("You started this run, so somebody else has to decide, also by override.")
    if actor.identity in already:
        raise AlreadyAnswered("You have already answered. Waiting for another reviewer.")


def may_override(actor: Actor, run: Run) -> bool:
    try:
        check_may_override(actor, run)
    except Refused:
        return False
    return True


def is_asked(actor: Actor, reviewers: Sequence[str]) -> bool:
    """Whether somebody is among those whom a request is for."""
    return not reviewers or _is_named(actor, reviewers)


def is_called(actor: Actor, name: str) -> bool:
    """Whether this is the name of their own account."""
    return _is_named(actor, [name])


def stands_in_for(actor: Actor, run: Run, reviewers: Sequence[str]) -> str:
    """Who is asked and away, and for whom this person decides; else nothing."""
    groups = {name.removeprefix("group:") for name in reviewers if name.startswith("group:")}
    names = {name.casefold() for name in reviewers}
    for absent in actor.stands_in_for:
        # What they might not answer themselves nobody answers for them.
        is_named = absent.name.casefold() in names or groups & absent.groups
        if is_named and not refusal_to_answer(_as_actor(absent), run, ()):
            return absent.name
    return ""


def _as_actor(absent: Absent) -> Actor:
    return Actor(
        name=absent.name,
        username=absent.name,
        source=Source.WEB,
        method="",
        user_id=absent.user_id,
        groups=absent.groups,
        sees_all=absent.sees_all,
    )


def _rights(actor: Actor, project: Project | None) -> frozenset[str]:
    return actor.groups if project is None else membership.rights(actor, project)


def _must_be_linked(actor: Actor, quorum: int) -> bool:
    """Where it matters that two people are two, a login that could be anybody's is not enough."""
    counts_people = quorum > 1 or settings.FABER_SELF_APPROVAL == "refuse"
    return counts_people and _is_unlinked(actor)


def _is_unlinked(actor: Actor) -> bool:
    """Whether this is a GitHub login that no account here is known to belong to."""
    return actor.source is Source.ISSUE_COMMENT and actor.user_id is None


def _has_started(actor: Actor, run: Run) -> bool:
    """Whether this gives a right: by account alone, never by a name that merely looks the same."""
    if actor.user_id is not None and actor.user_id == run.started_by_user_id:
        return True
    if _is_unlinked(actor):
        return False
    # On one machine the account name is the same person, whichever door they came through.
    account = (actor.account or actor.name).casefold()
    return bool(run.started_by_account) and account == run.started_by_account.casefold()


def is_starter(actor: Actor, run: Run) -> bool:
    """Whether this takes a right away: then a name that looks the same is enough."""
    if run.started_by_user_id in ({actor.user_id, actor.namesake_id} - {None}):
        return True
    names = {name.casefold() for name in (actor.account, _login(actor)) if name}
    starters = {run.started_by_account.casefold(), run.started_by.casefold()} - {""}
    return bool(names & starters)


def _login(actor: Actor) -> str:
    """The name that counts as identity: never a git name, which anybody can set."""
    is_git_name = actor.source is Source.CLI or actor.method == "git_config"
    return "" if is_git_name else actor.name


def _is_named(actor: Actor, reviewers: Sequence[str]) -> bool:
    # A GitHub login may be anybody's: the account it is linked to is named, or nobody.
    login = "" if actor.source is Source.ISSUE_COMMENT else _login(actor)
    names = {name.casefold() for name in (actor.account, login) if name}
    for reviewer in reviewers:
        if reviewer.startswith("group:"):
            if actor.is_in(reviewer.removeprefix("group:")):
                return True
        elif reviewer.casefold() in names:
            return True
    return False
