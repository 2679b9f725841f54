"""Turns what a program wants to ask into a question for people."""

from collections.abc import Mapping, Sequence

from runs.api.schemas import AskPeople, OptionSent
from runs.domain.planning.gates import questions_in as form_of
from runs.domain.planning.gates import title_of
from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.forms.questions import problems_of
from runs.domain.values.questions import (
    Action,
    FeedbackType,
    Gate,
    Option,
    Question,
    make_option,
    options_of,
)


def question_of(body: AskPeople, gate: Gate) -> Question:
    prompt, form = body.prompt.strip(), form_of(body.context)
    return Question(
        type=body.type,
        gate=gate,
        prompt=prompt,
        title=title_of(body.type, prompt, form),
        options=_options(body),
        context=_context(body.context, form),
    )


def _context(sent: Mapping[str, object], form: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """What was sent, with the questions of a form as every page and terminal reads them."""
    if "questions" not in sent:
        return dict(sent)
    listed = sent["questions"] if isinstance(sent["questions"], list) else ()
    problems = [
        Problem(f"context.questions[{index}].{key}", message)
        for index, question in enumerate(listed)
        if isinstance(question, Mapping)
        for key, message in problems_of(question)
    ]
    if problems:
        raise Invalid(problems)
    return {**sent, "questions": form}


def _options(body: AskPeople) -> tuple[Option, ...]:
    sent = [_spelt_out(option) for option in body.options]
    if body.type.takes_text and sent:
        raise _wrong(f"a {body.type} takes a text answer; use the type selection for options")
    if body.type is FeedbackType.SELECTION and not sent:
        raise _wrong("a selection needs options")
    if len({option.value for option in sent}) < len(sent):
        raise _wrong("two options have the same value")
    return tuple(_option(body.type, option) for option in sent) or options_of(body.type)


def _spelt_out(option: OptionSent | str) -> OptionSent:
    return OptionSent(value=option) if isinstance(option, str) else option


def _option(feedback_type: FeedbackType, option: OptionSent) -> Option:
    action = Action(option.action) if option.action else None
    try:
        return make_option(
            feedback_type, option.value, action=action, description=option.description
        )
    except ValueError as error:
        raise _wrong(str(error)) from error


def _wrong(message: str) -> Invalid:
    return Invalid([Problem("options", message)])
