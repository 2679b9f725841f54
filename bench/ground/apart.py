"""One measurement in a process of its own, on a scratch data directory."""

import json
import os
import subprocess
import sys
import tempfile
from typing import Any


def measured_apart(module: str, database_url: str, steps: str) -> Any:
    """What the process prints."""
    with tempfile.TemporaryDirectory(prefix="faber-bench-") as folder:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "faber_site.settings",
            "FABER_DATA_DIR": folder,
            "FABER_DATABASE_URL": database_url,
            "FABER_PYTHON_STEPS": steps,
            "FABER_WORKERS": "2",
        }
        done = subprocess.run(
            [sys.executable, "-m", module],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return json.loads(done.stdout)
