"""The rules between a workflow's keys, which no key can break alone."""

from runs.domain.values.phases import Phase
from runs.domain.values.questions import (
    Action,
    FeedbackType,
    Option,
    known_action,
    make_option,
    options_of,
)
from runs.domain.workflow.commands import (
    IN_A_SCRIPT,
    assigned_by_make,
    names_in,
    scripts_in,
)
from runs.domain.workflow.deciding.spending import check_written
from runs.domain.workflow.old_files import AGENT_KEYS, given, ways_to_execute
from runs.domain.workflow.problems import (
    Notes,
    did_you_mean,
    hooks_in,
    phases_in,
    place_of,
    steps_in,
    steps_of,
)

BOUNDARIES = tuple(f"{side}_{phase}" for phase in Phase for side in ("pre", "post"))

_ASKING_KEYS = ("approval_type", "options", "question", "max_rounds")
_READ_BY_MAKE = (
    "make would expand the value of {{{name}}}, and its recipes may hand it to a shell; "
    'read it there from the environment, as "$$FABER_TARGET"'
)
_HOOK_NEEDS = {"document": "path", "script": "path", "skill": "skill", "prompt": "prompt"}


def check_rules(document: dict[str, object], notes: Notes) -> None:
    """Look at a tidied document that may still hold wrong types; those are told elsewhere."""
    gated = _gated(document)
    for name, phase in phases_in(document):
        for place, step in steps_of(name, phase):
            _check_step(step, place, notes)
            if not _asks(step, name, gated):
                _no_effect(step, place, notes)
    _agent(document, "", notes)
    check_written(document, "", notes)
    _unique_ids(document, notes)
    _failures_stop(document, notes)
    _check_hooks(document, notes)


def _check_step(step: dict[str, object], place: str, notes: Notes) -> None:
    for rule in _STEP_RULES:
        rule(step, place, notes)
    if step.get("agent") and not any(given(step, key) for key in AGENT_KEYS):
        notes.warn(place_of(place, "agent"), "has no effect without prompt, command or skill")


def _one_way(step: dict[str, object], place: str, notes: Notes) -> None:
    ways = ways_to_execute(step)
    agent = [way for way in ways if way in AGENT_KEYS]
    if not ways:
        notes.refuse(
            place,
            "has nothing to execute; add run, prompt, command, skill, python or remote: true",
        )
    elif len(ways) > max(1, len(agent)):
        notes.refuse(place, f"has more than one thing to execute: {', '.join(ways)}")


def _run_says_something(step: dict[str, object], place: str, notes: Notes) -> None:
    run = step.get("run")
    if run == [] or (isinstance(run, list) and run[0] == ""):
        notes.refuse(place_of(place, "run"), "must name a program")


def _scripts(step: dict[str, object], place: str, notes: Notes) -> None:
    """A value inside a script could be any command; nothing quotes it there."""
    pieces = step.get("evidence")
    commands = [("run", step.get("run"))]
    for index, piece in enumerate(pieces if isinstance(pieces, list) else []):
        if isinstance(piece, dict):
            commands.append((place_of("evidence", index, "command"), piece.get("command")))
    for where, command in commands:
        if isinstance(command, list) and all(isinstance(word, str) for word in command):
            for at in sorted(scripts_in(command)):
                for name in names_in(command[at], is_script=True)[:1]:
                    notes.refuse(place_of(place, where, at), IN_A_SCRIPT.format(name=name))
            for at in assigned_by_make(command):
                for name in names_in(command[at], is_script=False)[:1]:
                    notes.warn(place_of(place, where, at), _READ_BY_MAKE.format(name=name))


def _agent(holder: dict[str, object], place: str, notes: Notes) -> None:
    agent = holder.get("agent")
    if not isinstance(agent, dict):
        return
    where, command = place_of(place, "agent", "command"), agent.get("command")
    if command is None and agent.get("kind", "plain") == "plain":
        notes.refuse(where, "missing key; only claude and codex are known without one")
    elif command == [] or (isinstance(command, list) and command[0] == ""):
        notes.refuse(where, "must name a program")


def _quorum(step: dict[str, object], place: str, notes: Notes) -> None:
    reviewers, quorum = _texts(step.get("reviewers")), step.get("quorum")
    if isinstance(quorum, dict) and isinstance(step.get("reviewers"), list):
        for group in quorum:
            if group not in reviewers:
                notes.refuse(place_of(place, "quorum"), f"{group} is not among the reviewers")
    if not reviewers or not isinstance(quorum, int):
        return
    if not any(name.startswith("group:") for name in reviewers) and quorum > len(reviewers):
        notes.refuse(place_of(place, "quorum"), f"asks for {quorum} of {len(reviewers)} reviewers")


def _selection(step: dict[str, object], place: str, notes: Notes) -> None:
    if step.get("approval_type") == FeedbackType.SELECTION and not step.get("options"):
        notes.refuse(place_of(place, "options"), "missing key; a selection needs options")


def _options(step: dict[str, object], place: str, notes: Notes) -> None:
    asked = _feedback_type(step)
    options = step.get("options")
    if asked is None or not isinstance(options, list):
        return
    seen: set[str] = set()
    for index, option in enumerate(options):
        name = option.get("value") if isinstance(option, dict) else None
        if isinstance(name, str):
            where = place_of(place, "options", index)
            _known_action(asked, name, option.get("action"), where, notes)
            if name in seen:
                notes.refuse(where, f"the option {name} is offered twice")
            seen.add(name)


def _rounds(step: dict[str, object], place: str, notes: Notes) -> None:
    """A limit of rounds limits nothing where nobody is offered to ask for changes."""
    if "max_rounds" not in step:
        return
    asked, own = _feedback_type(step), step.get("options")
    offered = own if isinstance(own, list) else [{"value": o.value} for o in _usual(asked)]
    names = [(o.get("value"), o.get("action")) for o in offered if isinstance(o, dict)]
    if not any(Action.REVISE in (action, known_action(str(name))) for name, action in names):
        notes.warn(
            place_of(place, "max_rounds"), "has no effect without the option request_changes"
        )


def _usual(asked: FeedbackType | None) -> tuple[Option, ...]:
    return options_of(asked) if asked else ()


def _feedback_type(step: dict[str, object]) -> FeedbackType | None:
    named = step.get("approval_type")
    if named is None:
        return FeedbackType.APPROVAL
    return FeedbackType(named) if isinstance(named, str) and named in set(FeedbackType) else None


def _known_action(asked: FeedbackType, name: str, action: object, place: str, notes: Notes) -> None:
    if action is not None and action not in list(Action):
        return  # refused at its own place
    try:
        make_option(asked, name, action=Action(str(action)) if action else None)
    except ValueError as error:
        said = str(error) if action else f"{error} ({', '.join(Action)})"
        notes.refuse(place, said)


_STEP_RULES = (
    *(_one_way, _run_says_something, _agent, _quorum, _selection, _options, _rounds, _scripts),
    check_written,
)


def _gated(document: dict[str, object]) -> frozenset[str]:
    """The phases and steps this file itself asks an approval for, besides the steps' own keys."""
    gated = {name for name, phase in phases_in(document) if phase.get("require_approval") is True}
    autonomy = document.get("autonomy")
    if isinstance(autonomy, dict):
        gated |= _texts(autonomy.get("require_approval_for"))
        if autonomy.get("pause_before_release") is True or autonomy.get("level") == "assist":
            gated.add(Phase.RELEASE)
    return frozenset(gated)


def _asks(step: dict[str, object], phase: str, gated: frozenset[str]) -> bool:
    return (
        step.get("requires_approval") is True
        or step.get("confirm") is True
        or not gated.isdisjoint({phase, str(step.get("id")), f"{phase}:{step.get('id')}"})
    )


def _no_effect(step: dict[str, object], place: str, notes: Notes) -> None:
    for key in _ASKING_KEYS:
        if key in step:
            notes.warn(place_of(place, key), "has no effect without requires_approval or confirm")


def _unique_ids(document: dict[str, object], notes: Notes) -> None:
    first: dict[str, str] = {}
    for place, step in steps_in(document):
        name = step.get("id")
        if not isinstance(name, str):
            continue
        if name in first:
            where = place_of(place, "id")
            notes.refuse(where, f"the step id {name} is already used at {first[name]}")
        else:
            first[name] = place


def _failures_stop(document: dict[str, object], notes: Notes) -> None:
    phases = ((place_of("phases", name), phase) for name, phase in phases_in(document))
    for place, holder in (("", document), *phases, *steps_in(document)):
        handling = holder.get("result_handling")
        if isinstance(handling, dict) and handling.get("on_failure") == "continue":
            where = place_of(place, "result_handling", "on_failure")
            notes.warn(where, "has no effect: a failed step always stops")


def _check_hooks(document: dict[str, object], notes: Notes) -> None:
    hooks = document.get("hooks")
    for name in hooks if isinstance(hooks, dict) else ():
        if name not in BOUNDARIES:
            near = did_you_mean(name, BOUNDARIES)
            notes.refuse(place_of("hooks", name), f"must be pre_ or post_ and a phase{near}")
    for place, hook in hooks_in(document):
        needed = _HOOK_NEEDS.get(str(hook.get("type")))
        if needed and not given(hook, needed):
            message = f"missing key; a {hook['type']} hook needs it"
            notes.refuse(place_of(place, needed), message)


def _texts(value: object) -> set[str]:
    return {item for item in value if isinstance(item, str)} if isinstance(value, list) else set()
