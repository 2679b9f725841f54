"""A run directory as the original FABER's scripts write it, small and in the tests' own words."""

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]

RUN_ID = "acme/app/6c56ca55-50cb-44fa-aabb-54b37224fffd"
ASKED = "fr-20251206-a1b2c3"
AT = "2026-11-16T00:20:04.102Z"


def put(file: Path, document: object) -> None:
    file.write_text(document if isinstance(document, str) else json.dumps(document, indent=2))


def got(file: Path) -> Any:
    return json.loads(file.read_text())


def change(file: Path, **fields: object) -> None:
    """Change a document the way the original does: a new file takes the old one's place."""
    draft = file.with_name(f"{file.name}.tmp")
    put(draft, {**got(file), **fields})
    draft.rename(file)


def emit(folder: Path, kind: str, **fields: object) -> None:
    """Tell an event: the number first, then the file, then the state."""
    counter = folder / "events" / ".next-id"
    number = int(counter.read_text())
    counter.write_text(f"{number + 1}\n")
    document = {"event_id": number, "type": kind, "timestamp": AT, "run_id": run_id(folder)}
    put(folder / "events" / f"{number:03d}-{kind}.json", {**document, **fields})
    change(folder / "state.json", last_event_id=number)


def run_id(folder: Path) -> str:
    return "/".join(folder.parts[-3:])


def ask(folder: Path, request_id: str = ASKED, **fields: object) -> None:
    """Stop the run at a decision point."""
    emit(folder, "decision_point", phase="architect", step="design-review", message="Review it")
    park(folder, request_id, **fields)


def park(folder: Path, request_id: str = ASKED, **fields: object) -> None:
    """Have the state say that somebody is asked."""
    request = {
        "request_id": request_id,
        "type": "approval",
        "prompt": "Please review the design",
        "options": ["approve", "reject"],
        "context": {"summary": "3 layers"},
        "requested_at": "2026-11-16T00:20:34Z",
        "notification_sent": {"cli": True, "issue_comment": False, "comment_url": None},
    }
    change(
        folder / "state.json",
        status="awaiting_feedback",
        current_phase="architect",
        current_step="design-review",
        updated_at="2026-11-16T00:20:34Z",
        feedback_request={**request, **fields},
        resume_point={"phase": "architect", "step": "design-review", "step_index": 2},
    )


def answer_there(folder: Path, response: str = "approve", user: str = "jmcwilliam") -> None:
    """Answer in a terminal of the original, and go on."""
    state = got(folder / "state.json")
    asked = state.pop("feedback_request")
    about = {"request_id": asked["request_id"], "response": response}
    emit(
        folder,
        "feedback_received",
        phase="architect",
        step="design-review",
        metadata={**about, "provided_by": {"user": user, "source": "cli"}},
    )
    entry = {
        "request_id": asked["request_id"],
        "request_type": asked["type"],
        "response": response,
        "provided_by": {"user": user, "source": "cli"},
        "received_at": "2026-11-16T00:30:00Z",
    }
    change(
        folder / "state.json",
        status="in_progress",
        updated_at="2026-11-16T00:30:00Z",
        feedback_request=None,
        resume_point=None,
        feedback_history=[*state.get("feedback_history", []), entry],
    )


def make_run(base: Path, run: str = RUN_ID) -> Path:
    """A run that has begun its second phase, below a base path."""
    folder = base / run
    (folder / "events").mkdir(parents=True)
    phases: dict[str, Json] = {
        name: {"status": "pending", "steps": []}
        for name in ("frame", "architect", "build", "evaluate", "release")
    }
    put(
        folder / "state.json",
        {
            "run_id": run,
            "work_id": "258",
            "workflow_version": "2.1",
            "status": "in_progress",
            "current_phase": "architect",
            "last_event_id": 0,
            "started_at": None,
            "updated_at": "2026-11-16T00:20:03Z",
            "completed_at": None,
            "phases": phases,
            "artifacts": {},
            "errors": [],
        },
    )
    put(
        folder / "metadata.json",
        {
            "run_id": run,
            "work_id": "258",
            "target": "hitl",
            "workflow_id": "default",
            "autonomy": "guarded",
            "source_type": "github",
            "phases": list(phases),
            "created_at": "2026-11-16T00:20:03.958Z",
            "created_by": "unknown",
            "relationships": {"parent_run_id": None, "rerun_of": None, "child_runs": []},
            "environment": {"working_directory": "/home/dev/app"},
        },
    )
    (folder / "events" / ".next-id").write_text("1\n")
    emit(folder, "workflow_start", message="start")
    emit(folder, "phase_start", phase="architect")
    emit(folder, "step_start", phase="architect", step="design-review", status="started")
    return folder
