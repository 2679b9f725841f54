"""Small steps for workflows in tests: each is called with its briefing."""

import json
import os
from collections.abc import Mapping
from pathlib import Path


def succeed(briefing: Mapping[str, object]) -> dict[str, object]:
    return {"status": "success", "message": f"{briefing['step']} done"}


def warn(briefing: Mapping[str, object]) -> dict[str, object]:
    return {"status": "warning", "message": "careful", "warnings": ["something is deprecated"]}


def fail(briefing: Mapping[str, object]) -> dict[str, object]:
    return {"status": "failure", "message": "it broke", "errors": ["first", "second"]}


def ask(briefing: Mapping[str, object]) -> dict[str, object]:
    """Asks once; with an answer it succeeds."""
    if briefing["action"] == "answer":
        feedback = briefing["feedback"]
        assert isinstance(feedback, dict)
        return {"status": "success", "message": f"answered: {feedback['response']}"}
    return {
        "status": "pending_input",
        "message": "need to know",
        "pending_input": {
            "reason": "Which database?",
            "questions": ["Which database?"],
            "can_proceed_without": True,
        },
    }


def ask_typed(briefing: Mapping[str, object]) -> dict[str, object]:
    """Asks with a typed form; with an answer it tells the values it was given."""
    if briefing["action"] == "answer":
        feedback = briefing["feedback"]
        assert isinstance(feedback, dict)
        return {"status": "success", "message": json.dumps(feedback["values"])}
    return {
        "status": "pending_input",
        "message": "need to know",
        "pending_input": {
            "questions": [
                {"id": "rows", "question": "How many rows?", "type": "number", "required": True},
                {"id": "as", "question": "As what?", "type": "choice", "options": ["CSV", "JSON"]},
            ],
            "can_proceed_without": True,
        },
    }


def pass_third_time(briefing: Mapping[str, object]) -> dict[str, object]:
    return succeed(briefing) if briefing["attempt"] == 3 else fail(briefing)


def write_spec(briefing: Mapping[str, object]) -> dict[str, object]:
    context = briefing["context"]
    assert isinstance(context, dict)
    file = Path(context["metadata"]["workspace"]) / "specs" / "spec.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"# Spec, attempt {briefing['attempt']}\n")
    return succeed(briefing)


def keep_briefing(briefing: Mapping[str, object]) -> dict[str, object]:
    return {"status": "success", "message": "kept", "details": {"briefing": dict(briefing)}}


def say(briefing: Mapping[str, object]) -> object:
    """Hands back whatever its arguments tell it to."""
    arguments = briefing["arguments"]
    assert isinstance(arguments, dict)
    return arguments["response"]


def log(briefing: Mapping[str, object]) -> dict[str, object]:
    """Leaves a word in the workspace for each execution."""
    context = briefing["context"]
    assert isinstance(context, dict)
    with (Path(context["metadata"]["workspace"]) / "log").open("a") as file:
        file.write(f"{briefing['step']}\n")
    return succeed(briefing)


def fail_first(briefing: Mapping[str, object]) -> dict[str, object]:
    return fail(briefing) if briefing["attempt"] == 1 else succeed(briefing)


SHOPPING_LIST = ("# Shopping", "", "Buy apples.", "Buy pears.", "", "Pay in cash.")


def revise_list(briefing: Mapping[str, object]) -> dict[str, object]:
    """Writes a short list; each item of a review that names a line changes that line."""
    context, feedback = briefing["context"], briefing["feedback"]
    assert isinstance(context, dict)
    file = Path(context["metadata"]["workspace"]) / "list.md"
    lines = file.read_text().splitlines() if file.exists() else list(SHOPPING_LIST)
    items = feedback["items"] if isinstance(feedback, dict) else []
    for item in items[:2]:
        lines[item["line"] - 1] += f" ({item['body']})"
    file.write_text("\n".join(lines) + "\n")
    said: list[dict[str, object]] = [{"item": 1, "disposition": "done"}]
    if len(items) > 1:
        said.append({"item": 2, "disposition": "declined", "reason": "Pears are in season."})
    return {**succeed(briefing), "details": {"dispositions": said[: len(items)]}}


def leak(briefing: Mapping[str, object]) -> dict[str, object]:
    """Fails with secrets in what it says."""
    said = "pushed with ghp_0123456789abcdefghijABCDEFGHIJ012345, password=hunter2secret"
    return {"status": "failure", "message": said, "errors": [said]}


def raise_given(briefing: Mapping[str, object]) -> dict[str, object]:
    raise ValueError(os.environ["GIVEN"])
