"""Everything an agent is told; it knows nothing else of the run."""

import json
import re
from collections.abc import Iterator, Mapping

from runs.domain.responses.schema import SKILL_RESPONSE
from runs.domain.values.text import WORDS_ARE_DATA
from runs.executors.agents.remarks import feedback_section
from runs.executors.orders import Order

RULES_OF_ANSWERING = """\
- `status` is the worst case: `failure` with `errors` if anything failed, `warning` with `warnings`
  if something deserves a look, otherwise `success`.
- If you cannot go on without an answer from a person, say `pending_input` with your questions; add
  `"can_proceed_without": true` if you could also decide yourself. The step is executed again with
  the answers.
- Files, branches and pull requests you made go into `details` as `artifact_path`, `spec_path`,
  `branch_name`, `pr_url`, `pr_number`.
- Do this step only. The steps behind it are not yours."""

HOW_TO_ANSWER = f"""\
End your answer with one JSON object, the skill response, and nothing behind it. Its schema:

```json
{json.dumps(SKILL_RESPONSE)}
```

For example:

```json
{{"status": "success", "message": "The specification is written.", \
"details": {{"spec_path": "specs/WORK-00123.md"}}}}
```

{RULES_OF_ANSWERING}"""

HOW_TO_ANSWER_AGAIN = f"""\
End your answer with one JSON object, the skill response, as before, and nothing behind it.

{RULES_OF_ANSWERING}"""

GOING_ON = """\
You executed this step before, in this session. What you read and did then still holds, as far as
what follows does not say otherwise. {why}"""

ANSWER_ONLY = """\
A reviewer asks you about your work before deciding on it. Only answer the question: change no file,
run nothing that changes anything, and do not go on with the work. Your answer decides nothing; the
reviewer decides. If you do not know, say so. Answer in Markdown, not as a JSON skill response."""

_WHY = {
    "revise": "Changes to your work are asked for: make them.",
    "retry": "It is executed again: mend what went wrong.",
    "answer": "Your questions are answered: go on with the step.",
}


def prompt(order: Order, *, resumed: bool = False) -> str:
    """The whole story for somebody who begins; what is new for somebody who goes on."""
    sections = _what_is_new(order) if resumed else _whole_story(order)
    return "\n\n".join(sections) + "\n"


def question_prompt(order: Order, question: str, *, resumed: bool) -> str:
    """A question about a step, for the session that executed it or for one that did not."""
    sections = [ANSWER_ONLY, *(() if resumed else _story(order)), f"## The question\n\n{question}"]
    return "\n\n".join(sections) + "\n"


def _whole_story(order: Order) -> Iterator[str]:
    yield from _instruction(order)
    yield from _story(order)
    yield f"## How to answer\n\n{HOW_TO_ANSWER}"


def _story(order: Order) -> Iterator[str]:
    yield _step(order)
    yield from _since_then(order)
    if plan := order.briefing.get("plan"):
        yield f"## The plan\n\n{_plan(plan, order.key)}"
    yield from _context(order, "Context")


def _what_is_new(order: Order) -> Iterator[str]:
    """The step is told again, as it is short and a long session may have forgotten it."""
    yield from _instruction(order)
    why = _WHY.get(str(order.briefing.get("action")), "It is executed again.")
    yield f"## Your session goes on\n\n{GOING_ON.format(why=why)}"
    yield _step(order)
    yield from _since_then(order)
    yield from _context(order, "Context, as it is now")
    yield f"## How to answer\n\n{HOW_TO_ANSWER_AGAIN}"


def _instruction(order: Order) -> Iterator[str]:
    if instruction := order.briefing.get("instruction"):
        yield str(instruction)


def _step(order: Order) -> str:
    step, arguments = order.step, order.briefing.get("arguments")
    parts = (
        step.description,
        f"Run the command `{step.command}`." if step.command else "",
        f"Use the skill `{step.skill}`." if step.skill else "",
        step.prompt or "",
        f"Arguments:\n\n{_quoted(arguments)}" if arguments else "",
        f"Configuration:\n\n{_quoted(step.config)}" if step.config else "",
    )
    return f"## The step: {order.key}\n\n" + "\n\n".join(part for part in parts if part)


def _since_then(order: Order) -> Iterator[str]:
    if feedback := order.briefing.get("feedback"):
        yield f"## Feedback\n\n{feedback_section(feedback, _mark(order))}"
    if failed := order.briefing.get("failure_context"):
        yield f"## What failed before\n\n{_quoted(failed)}"


def _context(order: Order, title: str) -> Iterator[str]:
    if context := order.briefing.get("context"):
        yield f"## {title}\n\n{WORDS_ARE_DATA}\n\n{_quoted(context)}"


def _mark(order: Order) -> str:
    context = order.briefing.get("context")
    return str(context.get("mark") or "") if isinstance(context, Mapping) else ""


def _plan(marks: object, current: str) -> str:
    return "\n".join(
        f"- [{'x' if mark.get('done') else ' '}] {mark.get('step')}"
        + (" (this step)" if mark.get("step") == current else "")
        for mark in (marks if isinstance(marks, list) else [])
    )


def _quoted(value: object) -> str:
    """A block that nothing inside can close: its fence is longer than any run of backticks."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{'' if isinstance(value, str) else 'json'}\n{text}\n{fence}"
