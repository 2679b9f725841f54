"""The steps of the measured workload: each appends one small dict, as the peers' do."""

import time
from collections.abc import Mapping


def note(briefing: Mapping[str, object]) -> dict[str, object]:
    return {
        "status": "success",
        "message": "noted",
        "details": {"step": briefing["step"], "at": time.time()},
    }
