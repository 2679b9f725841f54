"""Sites on data directories of their own, without waiting for the migrations each time."""

import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.commands import CHECKOUT, environment


def seed(data: Path) -> Path:
    """Put an empty, up-to-date database into a data directory; the directory again."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copy(_migrated(), data)
    return data


@cache
def _migrated() -> Path:
    """A database that this process has made once."""
    folder = Path(tempfile.mkdtemp(prefix="faber-site-"))
    subprocess.run(
        [sys.executable, CHECKOUT / "manage.py", "migrate", "--verbosity", "0"],
        env=environment(folder),
        check=True,
    )
    return folder / "data" / "faber.sqlite3"
