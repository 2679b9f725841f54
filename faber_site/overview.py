"""What `faber --help` shows: FABER's commands with a line each, read without Django."""

import re
from pathlib import Path

_CODE = Path(__file__).resolve().parents[1]
_APPS = ("faber_site", "runs", "feedback")

# What somebody wants to do, and the commands for it; a command in no group stands at the end.
GROUPS = {
    "Serve": ("up", "web", "work"),
    "Start and control runs": ("run", "resume", "cancel", "rerun", "batch"),
    "Decide": ("pending", "show", "ask", "answer", "delegate", "override"),
    "Inspect runs": ("status", "diff", "events", "state", "context", "verify", "audit"),
    "Write workflows": ("init", "validate", "validate_response", "render"),
    "Operate a site": (
        *("doctor", "project", "user", "token", "webhook", "rule", "login_link"),
        *("backup", "restore", "prune", "notify"),
    ),
    "Connect": ("hook", "mcp", "emit", "poll", "parse_comment", "export", "import", "sync"),
}
# The first line of a command's help as its module says it: importing all of them takes a second.
_FIRST_LINE = re.compile(r'^    help = \(?\s*"+([^"\n]*)', re.MULTILINE)


def text() -> str:
    """FABER's own commands; Django's are there too, under `manage.py help`."""
    lines = ["Usage: faber COMMAND … (faber COMMAND --help tells more)"]
    for title, known in grouped().items():
        lines += ["", f"{title}:"]
        lines += [f"  {spelt_for_people(name):20}{line}" for name, line in known.items()]
    return "\n".join([*lines, ""])


def grouped() -> dict[str, dict[str, str]]:
    """The lines of `commands` by what somebody wants to do."""
    ours = commands()
    named = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "More": tuple(name for name in ours if name not in named)}
    known = {
        title: {name: ours[name] for name in names if name in ours}
        for title, names in groups.items()
    }
    return {title: lines for title, lines in known.items() if lines}


def commands() -> dict[str, str]:
    """The line of each command, by the name of its module."""
    files = [file for app in _APPS for file in _folder(app).glob("[!_]*.py")]
    return {file.stem: _first_line(file) for file in sorted(files, key=lambda file: file.stem)}


def spelt_for_people(command: str) -> str:
    """Command modules cannot hold a dash: `login-link` lives in `login_link`."""
    return command.replace("_", "-")


def _folder(app: str) -> Path:
    return _CODE / app / "management" / "commands"


def _first_line(file: Path) -> str:
    found = _FIRST_LINE.search(file.read_text(encoding="utf-8"))
    return found.group(1) if found else ""
