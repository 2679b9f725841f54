"""The release before this one, as it was: from the history, without the network."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.chaos.scratch import CHECKOUT

LAST_RELEASE = "e703a76"


def last_release(folder: Path) -> Path:
    """Its files in a folder; the test is skipped, loudly, where the history is not there."""
    archive = folder / "release.tar"
    made = subprocess.run(
        ["git", "archive", "--output", str(archive), LAST_RELEASE],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(
            f"The last release ({LAST_RELEASE}) is not in the history here, so that nothing can "
            f"be started beside it: {made.stderr.strip()}"
        )
    code = folder / "release"
    with tarfile.open(archive) as packed:
        packed.extractall(code, filter="data")
    return code
