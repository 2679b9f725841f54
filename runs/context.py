"""Gathers everything a step must know from stored facts, before it is executed."""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

from runs import records
from runs.models import Run
from runs.records import Records

LAST_EVENTS = 20
LARGEST_FILE = 1024 * 1024

Json = dict[str, object]


def reconstitute(known: Records) -> Json:
    """The context package: nothing in it is remembered, all of it is read now."""
    began = time.perf_counter()
    run = known.run
    package: Json = {"decisions": known.decisions, "resume_point": records.resume_point(run)}
    sources: dict[str, Json] = {}
    gathered: dict[str, Callable[[], object]] = {
        "state": lambda: records.render_state(known),
        "metadata": lambda: records.metadata_of(run),
        "events": lambda: known.events[-LAST_EVENTS:],
        "spec": lambda: _spec(run),
    }
    for name, gather in gathered.items():
        package[name], sources[name] = _timed(gather)
    package["documents"] = _documents(run)
    for name in ("issue", "branch"):
        package[name], sources[name] = None, {"status": "off"}
    package["sources"] = sources
    package["duration_ms"] = _milliseconds_since(began)
    return package


def _timed(gather: Callable[[], object]) -> tuple[object, Json]:
    began = time.perf_counter()
    value = gather()
    raw = value["content"] if isinstance(value, dict) and "content" in value else value
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, default=str)
    return value, {
        "status": "ok" if value is not None else "missing",
        "duration_ms": _milliseconds_since(began),
        "bytes": len(text.encode()) if value is not None else 0,
        "sha256": hashlib.sha256(text.encode()).hexdigest() if value is not None else None,
        "trust": "faber",
    }


def _spec(run: Run) -> Json | None:
    path = run.artifacts.get("spec_path")
    return _file(run, str(path)) if path else None


def _documents(run: Run) -> list[Json]:
    """The documents that older files' hooks add to the context."""
    passed = run.frozen_plan.units[: run.position + 1]
    found = (_file(run, unit.document) for unit in passed if unit.document)
    return [document for document in found if document]


def _file(run: Run, named: str) -> Json | None:
    root = Path(run.workspace).resolve()
    file = (root / named.lstrip("/")).resolve()
    if not file.is_relative_to(root) or not file.is_file():
        return None
    content = file.read_bytes()[:LARGEST_FILE].decode("utf-8", errors="replace")
    return {"path": str(file.relative_to(root)), "content": content}


def _milliseconds_since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)
