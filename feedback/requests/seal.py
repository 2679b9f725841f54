"""The seal of a request: a hash of what the reviewer sees and decides on, and of nothing else."""

import hashlib
import json
from collections.abc import Sequence

from feedback.models import FeedbackRequest
from runs.models import Artifact


def seal_of(request: FeedbackRequest, shown: Sequence[Artifact], plan_hash: str) -> str:
    meaning = [
        request.request_id,
        [(artifact.path, artifact.revision, artifact.sha256) for artifact in shown],
        [(option["value"], option["action"]) for option in request.options],
        plan_hash,
    ]
    if request.snapshot is not None:
        meaning.append([request.snapshot.base, request.snapshot.tree])
    return hashlib.sha256(json.dumps(meaning, ensure_ascii=False).encode()).hexdigest()
