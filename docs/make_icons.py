"""Re-creates static/icons.svg from the npm package it is picked from.

    python docs/make_icons.py

Add a name from https://lucide.dev/icons to ICONS, run it, commit the sprite. Needs npm.
"""

import io
import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "lucide-static"
VERSION = "1.62.0"
# fmt: off
ICONS = [
    "activity", "archive", "arrow-down", "arrow-left", "arrow-right", "arrow-up", "ban",
    "bell", "book-open", "bot", "bug", "calendar", "chart-column", "check", "chevron-down",
    "chevron-left", "chevron-right", "chevron-up", "circle", "circle-alert", "circle-check",
    "circle-dashed", "circle-dot", "circle-pause", "circle-play", "circle-question-mark",
    "circle-slash", "circle-x", "clock", "code", "columns-2", "copy", "corner-down-left",
    "corner-down-right", "download", "ellipsis", "external-link", "eye", "file-code",
    "file-diff", "file-search", "file-text", "flag", "folder-git-2", "funnel", "gauge",
    "git-branch", "hash", "history", "hourglass", "inbox", "info", "keyboard", "layers",
    "link", "list", "list-checks", "list-filter", "list-tree", "loader-circle", "lock",
    "log-in", "log-out", "message-circle-question-mark", "message-square",
    "message-square-plus", "message-square-text", "minus", "monitor", "moon", "octagon-alert",
    "package", "panel-right", "pause", "pencil", "play", "plus", "quote", "refresh-cw",
    "rotate-ccw", "route", "scroll-text", "search", "send", "settings", "shield-check",
    "shield-question-mark", "skip-forward", "sliders-horizontal", "sparkles", "stamp", "sun",
    "tag", "terminal", "text-search", "timer", "trash-2", "triangle-alert", "undo-2", "user",
    "user-check", "users", "workflow", "wrap-text", "x", "zap",
]
# fmt: on

STATIC = Path(__file__).resolve().parents[1] / "static"
_INNER = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        package = fetched(Path(folder))
        (STATIC / "icons.svg").write_text(sprite(package))
        (STATIC / "icons.LICENSE").write_text(member(package, "LICENSE"))


def fetched(folder: Path) -> tarfile.TarFile:
    order = ["npm", "pack", f"{PACKAGE}@{VERSION}", "--json", "--pack-destination", str(folder)]
    told = json.loads(subprocess.run(order, check=True, capture_output=True, text=True).stdout)
    return tarfile.open(fileobj=io.BytesIO((folder / told[0]["filename"]).read_bytes()))


def member(package: tarfile.TarFile, path: str) -> str:
    file = package.extractfile(f"package/{path}")
    if file is None:
        raise SystemExit(f"{path} is not in {PACKAGE} {VERSION}.")
    return file.read().decode()


def sprite(package: tarfile.TarFile) -> str:
    symbols = "\n".join(symbol(package, name) for name in sorted(ICONS))
    return (
        f"<!-- @license {PACKAGE} v{VERSION} - ISC, see icons.LICENSE; "
        "made by docs/make_icons.py -->\n"
        f'<svg xmlns="http://www.w3.org/2000/svg">\n{symbols}\n</svg>\n'
    )


def symbol(package: tarfile.TarFile, name: str) -> str:
    inner = _INNER.sub(r"\1", member(package, f"icons/{name}.svg")).partition("-->")[2]
    shapes = " ".join(inner.split()).replace(" />", "/>").replace("> <", "><")
    return f'<symbol id="{name}" viewBox="0 0 24 24">{shapes}</symbol>'


if __name__ == "__main__":
    main()
