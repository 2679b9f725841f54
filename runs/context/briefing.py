"""What an executor is told: one step, why it is executed, and everything known."""

from collections.abc import Iterable, Mapping

from runs.domain.values.plain_json import given
from runs.domain.values.text import Scrubber, clean, fenced, scrubbed, tame, visible
from runs.domain.workflow.plan import Plan, Unit

_CLEAN = Scrubber(clean)

AFTER_FEEDBACK = """\
Resume workflow run {run_id} from step {phase}:{step}.
User feedback received: {feedback}.
Continue executing workflow steps. Follow workflow definition.
Do NOT diverge from the planned workflow."""

LONGEST_FEEDBACK = 500
IN_FULL = "(cut here; in full under feedback)"

LOCK_REASON = "Resuming after feedback - must follow workflow"

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
    """The response, its comment, the fixes it chose, without a full stop of its own at the end.

    It stands among our own orders, so it is one tame line; as it was written, it is in `feedback`.
    """
    parts = [clean(str(feedback.get(key) or "")) for key in ("response", "comment")]
    if fixes := _fixes(feedback):
        parts.append(f"Suggested fixes: {'; '.join(fix.rstrip('.') for fix in fixes)}")
    whole = ": ".join(part for part in parts if part)
    line = tame(whole, LONGEST_FEEDBACK).rstrip(".")
    return f"{line} {IN_FULL}" if line.endswith("…") else line


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
        {**item, **_cleaned(item)}
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, Mapping)
    ]
    if values := feedback.get("values"):
        told["values"] = scrubbed(values, _CLEAN, names=False)
    for mark in ("skipped", "withdrawn"):
        if feedback.get(mark):
            told[mark] = True
    if fixes := _fixes(feedback):
        told["suggested_fixes"] = fixes
    if edits := given(feedback, "edits", list):
        told["edits"] = [{key: edit[key] for key in ("path", "revision")} for edit in edits]
    return told


def _cleaned(item: Mapping[str, object]) -> dict[str, object]:
    # A replacement is code: its indentation and its own comments belong to it.
    tidied = {"body": clean, "replacement": visible}
    return {key: tidy(str(item[key])) for key, tidy in tidied.items() if item.get(key) is not None}


def _fixes(feedback: Mapping[str, object]) -> list[str]:
    """What the failed result suggested, where the answer was to do that."""
    return [clean(str(fix)) for fix in given(feedback, "suggested_fixes", list)]


def done_in(package: Mapping[str, object]) -> list[str]:
    """Keys of the steps that are completed or skipped, as the package tells them."""
    phases = given(given(package, "state", dict), "phases", dict)
    return [
        f"{name}:{step['id']}"
        for name, phase in phases.items()
        for step in phase["steps"]
        if step["status"] in ("completed", "skipped")
    ]


def lock(package: Mapping[str, object]) -> dict[str, object]:
    """The seeds' workflow lock, told from the first answer on."""
    decisions = package.get("decisions")
    asked = decisions if isinstance(decisions, list) else []
    if not any(decision.get("response") for decision in asked):
        return {}
    return {"workflow_locked": True, "workflow_lock_reason": LOCK_REASON}


def context_for_executor(package: Mapping[str, object]) -> dict[str, object]:
    """The package with a fence around each text that somebody wrote on the issue."""
    issue = package.get("issue")
    if not isinstance(issue, Mapping):
        return dict(package)
    mark = str(package.get("mark", ""))
    comments = [_fenced_body(comment, mark) for comment in issue.get("comments", ())]
    return {**package, "issue": {**_fenced_body(issue, mark), "comments": comments}}


def _fenced_body(said: Mapping[str, object], mark: str) -> dict[str, object]:
    author, permission = (str(said.get(key) or "unknown") for key in ("author", "permission"))
    body = fenced(
        str(said.get("body", "")), mark=mark, author=author, permission=permission, channel="issue"
    )
    return {**said, "body": body}
