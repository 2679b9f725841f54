"""What a measurement was taken on."""

import os
import platform
from datetime import UTC, datetime


def machine() -> dict[str, object]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }
