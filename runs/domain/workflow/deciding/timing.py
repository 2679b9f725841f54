"""Time as a workflow says it: reminders, escalation, a due date and what follows at it."""

from collections.abc import Iterable, Iterator, Sequence

from runs.domain.values.moments.durations import maybe_duration
from runs.domain.values.moments.timing import Timing
from runs.domain.values.questions import (
    KNOWN_OPTIONS,
    FeedbackType,
    Option,
    lets_go_on,
    make_option,
    options_of,
)
from runs.domain.workflow.definition import Step, Workflow
from runs.domain.workflow.problems import Notes, did_you_mean, place_of

Chain = Sequence[Workflow]

_KEYS = ("due", "remind", "escalate", "on_timeout", "allow_timeout_approval")
_NO_DUE = "has no effect without due: say when it is taken"
_SILENCE = (
    "{option} lets the run continue although nobody decided; that needs "
    "allow_timeout_approval: true"
)
_WORDS = "{option} needs a comment, and nobody writes one at a timeout"
_NAMED = {option.value: option for option in KNOWN_OPTIONS}


def effective(step: Step, chain: Chain) -> dict[str, object]:
    """What a step says about time; what it does not say the nearest workflow does."""
    return {key: _nearest(key, step, chain) for key in _KEYS}


def timing_of(step: Step, options: Iterable[Option]) -> Timing:
    """How long people may take to answer this step with one of these options."""
    escalate = step.escalate
    return Timing(
        due=maybe_duration(step.due or ""),
        remind=maybe_duration(step.remind or ""),
        escalate_after=maybe_duration(escalate.after if escalate else ""),
        escalate_to=escalate.to if escalate else (),
        on_timeout=_taken(step, options),
    )


def _taken(step: Step, options: Iterable[Option]) -> str:
    """What is taken at the due date, where it is offered and may be taken by nobody."""
    offered = next((option for option in options if option.value == step.on_timeout), None)
    if offered is None or offered.needs_words:
        return ""
    is_approved = not lets_go_on(offered) or step.allow_timeout_approval is True
    return offered.value if is_approved else ""


def check_step(step: Step, chain: Chain, place: str, notes: Notes) -> None:
    """What a step's own keys may not say, with what its workflows say beside them."""
    if step.on_timeout is None:
        return
    where, name = place_of(place, "on_timeout"), step.on_timeout
    offered = {option.value: option for option in _offered(step)}
    if _nearest("due", step, chain) is None:
        notes.refuse(where, _NO_DUE)
    if name not in offered:
        near = did_you_mean(name, offered) or f": {', '.join(offered)}"
        notes.refuse(where, f"{name} is not one of the options{near}")
    else:
        is_allowed = _nearest("allow_timeout_approval", step, chain) is True
        _check_option(offered[name], is_allowed=is_allowed, place=where, notes=notes)


def check_workflows(chain: Chain, steps: Sequence[Step], notes: Notes) -> None:
    for workflow in chain:
        if workflow.on_timeout is None:
            continue
        place = "on_timeout" if workflow is chain[0] else f"{workflow.id}: on_timeout"
        own = (option for step in steps for option in _offered(step))
        offered = {**_NAMED, **{option.value: option for option in own}}
        if all(each.due is None for each in chain):
            notes.refuse(place, _NO_DUE)
        if (option := offered.get(workflow.on_timeout)) is None:
            near = did_you_mean(workflow.on_timeout, offered)
            notes.refuse(place, f"no step offers {workflow.on_timeout}{near}")
        else:
            is_allowed = any(each.allow_timeout_approval for each in chain)
            _check_option(option, is_allowed=is_allowed, place=place, notes=notes)


def _check_option(option: Option, *, is_allowed: bool, place: str, notes: Notes) -> None:
    if option.needs_words:
        notes.refuse(place, _WORDS.format(option=option.value))
    elif lets_go_on(option) and not is_allowed:
        notes.refuse(place, _SILENCE.format(option=option.value))


def _offered(step: Step) -> Iterator[Option]:
    """Every option that a question of this step may have."""
    asked = step.approval_type or FeedbackType.APPROVAL
    own = [
        make_option(asked, option.value, action=option.action, description=option.description)
        for option in step.options
    ]
    yield from own or options_of(asked)
    if step.confirm:
        yield from options_of(FeedbackType.CONFIRMATION)
    yield from options_of(FeedbackType.APPROVAL)  # before its phase, or where it checks in
    yield from options_of(FeedbackType.ERROR_RESOLUTION)
    yield from (_NAMED[name] for name in ("continue", "fix", "stop"))


def _nearest(key: str, step: Step, chain: Chain) -> object:
    said = (getattr(holder, key) for holder in (step, *chain))
    return next((value for value in said if value is not None), None)
