"""Re-creates static/vendor/mermaid from the npm package it comes from.

    python docs/make_mermaid.py

Set VERSION, run it, commit what changed. Needs npm.
"""

import hashlib
import subprocess
import tempfile
from pathlib import Path

VERSION = "11.17.2"
FOLDER = Path(__file__).resolve().parents[1] / "static" / "vendor" / "mermaid"
SCRIPT = "mermaid.min.js"
NOTICES = ("LICENSE*", "LICENCE*", "license*", "COPYING*", "NOTICE*")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        order = ["npm", "install", "--ignore-scripts", "--no-audit", f"mermaid@{VERSION}"]
        subprocess.run(order, cwd=folder, check=True, capture_output=True)
        packages = Path(folder) / "node_modules"
        script = (packages / "mermaid" / "dist" / SCRIPT).read_bytes()
        (FOLDER / SCRIPT).write_bytes(script)
        (FOLDER / "LICENSE").write_bytes((packages / "mermaid" / "LICENSE").read_bytes())
        (FOLDER / "BUNDLED_LICENSES").write_text(bundled(packages))
    (FOLDER / "ORIGIN").write_text(
        f"npm mermaid {VERSION}, dist/{SCRIPT}, MIT (LICENSE)\n"
        "What it bundles: BUNDLED_LICENSES\n"
        f"sha256 {hashlib.sha256(script).hexdigest()}\n"
    )


def bundled(packages: Path) -> str:
    """The licence of every package that mermaid is built from."""
    found = [*sorted(packages.glob("[!@]*/")), *sorted(packages.glob("@[!t]*/*/"))]  # no @types
    return "\n".join(filter(None, map(notice, found)))


def notice(package: Path) -> str:
    name = "/".join(package.parts[package.parts.index("node_modules") + 1 :])
    files = {file for pattern in NOTICES for file in package.glob(pattern)}
    texts = [file.read_text(errors="replace").strip() for file in sorted(files)]
    if name == "mermaid" or not texts:
        return ""
    return "\n\n".join([f"{'=' * 20} {name}", *texts, ""])


if __name__ == "__main__":
    main()
