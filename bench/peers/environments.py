"""An environment of its own for each peer, made once for each set of versions."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.ground.scratch_site import ROOT

PLACE = Path(os.environ.get("BENCH_PEERS_DIR") or ROOT / "bench" / ".scratch" / "peers")


def python_with(needs: tuple[str, ...]) -> Path:
    """The interpreter that has them; with this one's version, so that it counts for nobody."""
    if not needs:
        return Path(sys.executable)
    named = hashlib.sha256(repr((needs, sys.version)).encode()).hexdigest()[:12]
    folder = PLACE / f"{needs[0].partition('=')[0]}-{named}"
    made = folder / "made"
    if not made.exists():
        _make(folder, needs)
        made.touch()
    return folder / "bin" / "python"


def _make(folder: Path, needs: tuple[str, ...]) -> None:
    print(f"Installing {', '.join(needs)} (once) …", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-qq", *needs], check=True)
