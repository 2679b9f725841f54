"""The questions a run stops with: what each gate asks, and with which options."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from runs.domain.planning import budgets
from runs.domain.planning.budgets import WHOLE_RUN, Overspent
from runs.domain.responses.results import Result
from runs.domain.values.forms.questions import question_shape, read_form
from runs.domain.values.plain_json import given
from runs.domain.values.questions import (
    SKIP_QUESTION,
    Action,
    FeedbackType,
    Gate,
    Option,
    Question,
    begins_a_round,
    make_option,
    options_of,
)
from runs.domain.values.text import shortened
from runs.domain.workflow.deciding.timing import timing_of
from runs.domain.workflow.definition import Step
from runs.domain.workflow.placeholders import fill_text
from runs.domain.workflow.plan import Plan, Unit

LONGEST_SAID = 500
LONGEST_QUESTION = 5000


def addressed(plan: Plan, at: int, question: Question) -> Question:
    """Whatever a step asks goes to those who decide about it, also when it fails or doubts."""
    step = _decided_about(plan, at)
    takes_one = question.type.takes_text
    takes_rounds = any(begins_a_round(option) for option in question.options)
    return replace(
        question,
        reviewers=step.reviewers or tuple(step.quorum_groups),
        quorum=1 if takes_one else step.quorum_number,
        quorum_groups={} if takes_one else step.quorum_groups,
        max_rounds=step.max_rounds if takes_rounds else None,
        timing=timing_of(step, question.options),
    )


def title_of(asked: FeedbackType, prompt: str, form: Sequence[Mapping[str, object]] = ()) -> str:
    """The question, where that says best what is asked; else nothing, and the run's title does."""
    if not asked.is_named_by_question:
        return ""
    alone = str(form[0]["question"]) if len(form) == 1 else ""
    return alone or prompt


def filled(question: Question, known: Mapping[str, object]) -> Question:
    """A question of the workflow's own wording, with what the run knows by now."""
    if not question.is_template:
        return question
    fill = partial(fill_text, known=known)
    return replace(
        question,
        prompt=shortened(fill(question.prompt), LONGEST_QUESTION),
        title=shortened(fill(question.title), LONGEST_QUESTION),
        is_template=False,
    )


def _worded(step: Step, question: Question) -> Question:
    """The question as the author of the workflow words it, if they do."""
    if not step.question:
        return question
    title = title_of(question.type, step.question)
    return replace(question, prompt=step.question, title=title, is_template=True)


def _decided_about(plan: Plan, at: int) -> Step:
    """The step at a place; a hook is asked about like the step it stands beside."""
    unit = plan.units[at]
    beside = [*plan.units[at:], *reversed(plan.units[:at])]
    own = (near.step for near in beside if near.phase is unit.phase and not near.is_hook)
    return next(own, unit.step)


def before_phase(plan: Plan, at: int) -> Question:
    unit = plan.units[at]
    return Question(
        type=FeedbackType.APPROVAL,
        gate=Gate.PHASE,
        prompt=f"Approve starting the {unit.phase.title} phase?",
        options=_described(
            options_of(FeedbackType.APPROVAL), f"Start the {unit.phase.title} phase"
        ),
        context={"summary": plan.phase(unit.phase).description},
    )


def before_step(plan: Plan, at: int) -> Question:
    """A step that must be confirmed, or that an approval was asked for by its id."""
    step = plan.units[at].step
    asked = FeedbackType.CONFIRMATION if step.confirm else FeedbackType.APPROVAL
    if step.confirm and step.approval_type and not step.requires_approval:
        asked = step.approval_type
    own = step.options if not step.requires_approval else ()
    question = Question(
        type=asked,
        gate=Gate.BEFORE_STEP,
        prompt=f"Go ahead with “{step.title}”?",
        options=_described(_options(asked, step, own), f"Execute “{step.title}”"),
        context={"summary": step.description},
    )
    # What the author words is the review of the result, where there is one.
    return question if step.requires_approval else _worded(step, question)


def after_step(plan: Plan, at: int, result: Result) -> Question:
    step = plan.units[at].step
    asked = step.approval_type or FeedbackType.APPROVAL
    question = Question(
        type=asked,
        gate=Gate.AFTER_STEP,
        prompt=f"Please review the result of “{step.title}”."
        if asked is FeedbackType.REVIEW
        else f"“{step.title}” is done. How should the run continue?",
        options=_described(_options(asked, step, step.options), _next(plan, at)),
        context=_shown(result),
    )
    return _worded(step, question)


def after_skip(plan: Plan, at: int, result: Result | None) -> Question:
    """A step was passed over whose result somebody wanted to see: they decide about that too."""
    step = plan.units[at].step
    asked = step.approval_type or FeedbackType.APPROVAL
    return Question(
        type=asked,
        gate=Gate.AFTER_STEP,
        prompt=f"“{step.title}” will be skipped. Continue without it?",
        options=_described(_options(asked, step, step.options), _next(plan, at)),
        context=_shown(result) if result else {},
    )


def after_success(plan: Plan, at: int, result: Result) -> Question:
    """`on_success: prompt`: the author wants a word before the run goes on."""
    return Question(
        type=FeedbackType.APPROVAL,
        gate=Gate.AFTER_STEP,
        prompt=f"“{plan.units[at].step.title}” is done. Continue?",
        options=_described(options_of(FeedbackType.APPROVAL), _next(plan, at)),
        context=_shown(result),
    )


def check_in(plan: Plan, at: int, result: Result) -> Question:
    return Question(
        type=FeedbackType.APPROVAL,
        gate=Gate.CHECK_IN,
        prompt=f"Check-in after “{plan.units[at].step.title}”. Continue?",
        options=_described(options_of(FeedbackType.APPROVAL), _next(plan, at)),
        context=_shown(result),
    )


def on_warning(plan: Plan, at: int, result: Result) -> Question:
    return Question(
        type=FeedbackType.SELECTION,
        gate=Gate.WARNING,
        prompt=f"“{plan.units[at].step.title}” ended with warnings: {_said(result)}",
        options=tuple(
            make_option(FeedbackType.SELECTION, name) for name in ("continue", "fix", "stop")
        ),
        context=_shown(result),
    )


def on_failure(plan: Plan, at: int, result: Result) -> Question:
    return Question(
        type=FeedbackType.ERROR_RESOLUTION,
        gate=Gate.FAILURE,
        prompt=f"“{plan.units[at].step.title}” failed: {_said(result)}",
        options=options_of(FeedbackType.ERROR_RESOLUTION),
        context=_shown(result),
    )


def on_budget(plan: Plan, at: int, result: Result, over: Overspent) -> Question:
    """Asked after the step that used it up, before its result is looked at."""
    who = "This run" if over.scope == WHOLE_RUN else f"“{plan.units[at].step.title}”"
    limit = budgets.spoken(over.budget)
    prompt = f"{who} has used {budgets.used(over)} of its budget of {limit}. Continue?"
    said = {"continue": f"Raise the budget to {budgets.spoken(over.raised)} and continue"}
    return Question(
        type=FeedbackType.SELECTION,
        gate=Gate.BUDGET,
        prompt=prompt,
        title=prompt,
        options=tuple(
            make_option(FeedbackType.SELECTION, name, description=said.get(name, ""))
            for name in ("continue", "stop")
        ),
        context={**_shown(result), "budget": over.shape()},
    )


def on_pending_input(plan: Plan, at: int, result: Result) -> Question:
    pending = result.pending_input
    asked, form = _input_type(result), questions_in(pending)
    step = plan.units[at].step
    choices = _choices(form) if asked is FeedbackType.SELECTION else ()
    if asked is FeedbackType.SELECTION and not choices:
        asked = FeedbackType.CLARIFICATION  # nothing to choose from; the words still can be given
    options = choices or _options(asked, step, step.options if not asked.takes_text else ())
    if pending.get("can_proceed_without") and "skip" not in {option.value for option in options}:
        options = (*options, SKIP_QUESTION)
    prompt = str(pending.get("reason") or (form[0]["question"] if choices else _said(result)))
    return Question(
        type=asked,
        gate=Gate.INPUT,
        prompt=prompt,
        title=title_of(asked, prompt, form),
        options=options,
        context={**_shown(result), "questions": [] if choices else form},
    )


def on_context(unit: Unit, source: str, why: str) -> Question:
    """A source of the context is there and cannot be read: the step waits for a word."""
    said = {
        "retry": "Read it again",
        "continue": f"Continue without the {source}, in this and all later steps",
        "abort": "Cancel this workflow run",
    }
    return Question(
        type=FeedbackType.ERROR_RESOLUTION,
        gate=Gate.INPUT,
        prompt=f"“{unit.step.title}” can’t start: {why}",
        options=tuple(
            make_option(FeedbackType.ERROR_RESOLUTION, name, description=description)
            for name, description in said.items()
        ),
        context={"summary": why, "context_source": source},
    )


def on_folder(unit: Unit, why: str) -> Question:
    """No machine has the run's folder as the step before left it: the step waits for a word."""
    said = {"retry": "Look for the folder again", "abort": "Cancel this workflow run"}
    return Question(
        type=FeedbackType.ERROR_RESOLUTION,
        gate=Gate.INPUT,
        prompt=f"“{unit.step.title}” can’t start: {why}",
        options=tuple(
            make_option(FeedbackType.ERROR_RESOLUTION, name, description=description)
            for name, description in said.items()
        ),
        context={"summary": why},
    )


def _input_type(result: Result) -> FeedbackType:
    named = result.details.get("input_type")
    try:
        return FeedbackType(str(named)) if named else FeedbackType.CLARIFICATION
    except ValueError:
        return FeedbackType.CLARIFICATION


def _choices(form: Sequence[Mapping[str, object]]) -> tuple[Option, ...]:
    """What one question can be answered with; whatever is chosen, the step is rerun and told."""
    if len(form) != 1:
        return ()
    return tuple(
        Option(value=name, action=Action.ANSWER) for name in given(form[0], "options", list)
    )


def questions_in(pending: Mapping[str, object]) -> list[dict[str, object]]:
    """The step's questions as a form: each with an id, its words, its choices and its type."""
    return [question_shape(question) for question in read_form(pending.get("questions"))]


def _options(asked: FeedbackType, step: Step, own: tuple[object, ...]) -> tuple[Option, ...]:
    if not own:
        return options_of(asked)
    return tuple(
        make_option(asked, option.value, action=option.action, description=option.description)
        for option in step.options
    )


def _described(options: tuple[Option, ...], consequence: str) -> tuple[Option, ...]:
    """Say beside the option that goes on where it goes on to."""
    return tuple(
        replace(option, description=consequence)
        if option.value in ("approve", "confirm")
        else option
        for option in options
    )


def _next(plan: Plan, at: int) -> str:
    if at + 1 >= len(plan.units):
        return "Complete the workflow"
    here, following = plan.units[at], plan.units[at + 1]
    if here.phase is following.phase:
        return f"Continue with “{following.step.title}”"
    return f"Continue to {following.phase.title} phase"


def _said(result: Result) -> str:
    """The step's message as a part of a question; one that is long is told whole beside it."""
    return shortened(result.message, LONGEST_SAID)


def _shown(result: Result) -> dict[str, object]:
    """What a reviewer is told about a step's result; empty parts are left out."""
    shown: dict[str, object] = {
        "summary": result.message,
        "errors": list(result.errors),
        "warnings": list(result.warnings),
        "error_analysis": result.error_analysis,
        "warning_analysis": result.warning_analysis,
        "suggested_fixes": list(result.suggested_fixes),
        "output_tail": result.details.get("output_tail"),
        "artifact_path": result.details.get("artifact_path") or result.details.get("spec_path"),
    }
    return {key: value for key, value in shown.items() if value}


def gate_key(unit: Unit, question: Question, *, round_number: int) -> str:
    """What an approval is remembered under; each holds for one round of the loop only."""
    if question.type is FeedbackType.CONFIRMATION:
        return f"confirm:{unit.key}#{round_number}"
    place = f"phase:{unit.phase}" if question.gate is Gate.PHASE else f"step:{unit.key}"
    return f"{place}#{round_number}" if round_number else place
