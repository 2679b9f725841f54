"""What an executor is told: one step, why it is executed, and everything known."""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from runs.domain.plan import Plan, Unit

_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)

AFTER_FEEDBACK = """\
Resume workflow run {run_id} from step {phase}:{step}.
User feedback received: {feedback}.
Continue executing workflow steps. Follow workflow definition.
Do NOT diverge from the planned workflow."""

WITHOUT_FEEDBACK = """\
Execute step {phase}:{step} of workflow run {run_id}.
Execute this step only. Follow workflow definition.
Do NOT diverge from the planned workflow."""


def instruction(run_id: str, unit: Unit, feedback: Mapping[str, object] | None) -> str:
    """The seeds' words; after feedback they name the step that asked and what was answered."""
    if not feedback:
        return WITHOUT_FEEDBACK.format(run_id=run_id, phase=unit.phase, step=unit.step.id)
    point = feedback.get("resume_point")
    asked: Mapping[str, object] = point if isinstance(point, Mapping) else {}
    return AFTER_FEEDBACK.format(
        run_id=run_id,
        phase=asked.get("phase", unit.phase.value),
        step=asked.get("step", unit.step.id),
        feedback=_spoken(feedback),
    )


def _spoken(feedback: Mapping[str, object]) -> str:
    """The response, then its comment, without a full stop of its own at the end."""
    parts = (clean(str(feedback.get(key) or "")) for key in ("response", "comment"))
    return ": ".join(part for part in parts if part).rstrip(".")


def clean(words: str) -> str:
    """Somebody's words without what a reader cannot see: HTML comments and hidden characters."""
    visible = _HTML_COMMENT.sub("", words)
    return "".join(
        char for char in visible if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf")
    ).strip()


def plan_marks(plan: Plan, done: Iterable[str]) -> list[dict[str, object]]:
    """The plan's steps in order, each with whether it is done."""
    finished = set(done)
    return [{"step": key, "done": key in finished} for key in plan.step_keys]


def feedback_for_executor(feedback: Mapping[str, object] | None) -> dict[str, object] | None:
    if not feedback:
        return None
    told = {key: feedback[key] for key in ("response", "provided_by") if key in feedback}
    items = feedback.get("items")
    told["response"] = clean(str(feedback.get("response") or ""))
    told["comment"] = clean(str(feedback.get("comment") or ""))
    told["items"] = [
        {**item, "body": clean(str(item.get("body", "")))}
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, Mapping)
    ]
    if feedback.get("skipped"):
        told["skipped"] = True
    return told
