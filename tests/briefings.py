"""Steps that copy what they are told into their workspace, so that a test can read it there."""

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]

# Into a file named by the step.
COPY = ["sh", "-c", 'cat > "$FABER_STEP.json"']


def copying(step_id: str, **fields: object) -> Json:
    return {"id": step_id, "run": COPY, **fields}


def briefing_of(workspace: Path, step: str) -> Json:
    """What the executor of a step found on its standard input."""
    told: Json = json.loads((workspace / f"{step}.json").read_text())
    return told
