import argparse
import os
import secrets
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, ClassVar

from django.conf import settings
from django.core.management.base import CommandParser

from faber_site.configuration import data_place
from faber_site.hook import claude, local_site, settings_file
from runs.accounts import tokens
from runs.chain import entries
from runs.domain.values.actors import Scope
from runs.domain.values.errors import Invalid, NotFound, Problem
from runs.models import migrate
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply, has_site

AUTO_MODE = (
    "In auto mode Claude Code decides most calls by itself. Use `claude --permission-mode default`,"
    " or have FABER asked before every command with `faber hook install --tool Bash`."
)
NO_SITE = "There is no FABER site in {}. Start one with `faber up`, or set FABER_URL."


class Command(FaberCommand):
    help = """Have Claude Code's permission prompts, plans and questions answered in FABER.
`claude` is what Claude Code calls; `install` puts it into the settings of a folder."""
    needs_site: ClassVar[bool] = False

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(
            dest="do", required=True, metavar="install|remove|claude|codex"
        )
        install = actions.add_parser("install", help="write .claude/settings.json of a folder")
        install.add_argument(
            "--tool",
            action="append",
            default=[],
            metavar="T",
            help="ask before this tool also where Claude Code would not, and in headless runs; "
            "may be said again",
        )
        install.add_argument("--project", metavar="P", help="whose reviewers are asked")
        remove = actions.add_parser("remove", help="take it out of the settings again")
        for action in (install, remove):
            action.add_argument("--dir", default=".", metavar="DIR", help="default: this folder")
        for agent in ("claude", "codex"):
            asks = actions.add_parser(agent, help="ask about the call on standard input")
            asks.add_argument("--wait", type=float, metavar="SECONDS", help="default: 24 hours")
            asks.add_argument("--project", metavar="P", help="whose reviewers are asked")
        actions.add_parser("connect", help="make the token that the hook uses on this machine")
        for action in actions.choices.values():
            action.add_argument("--json", action="store_true", default=argparse.SUPPRESS)

    def reply(self, **options: Any) -> Reply:
        match options["do"]:
            case "install":
                return _install(options)
            case "remove":
                return _remove(_folder(options["dir"]))
            case "connect":
                _connect()
                return Reply(document={"connected": True}, text="The hook can reach this site.")
            case _:  # only for its help: `faber hook claude` starts without Django
                return Reply(exit_code=claude.main([]))


def _install(options: dict[str, Any]) -> Reply:
    folder = _folder(options["dir"])
    names = [name.strip() for given in options["tool"] for name in given.split(",")]
    tools = [name for name in names if name]
    command = _command(options["project"])
    try:
        file = settings_file.install(folder, command, tools)
    except settings_file.Unreadable as error:
        raise _unreadable(folder, error) from error
    if local_site.is_local() and not (settings.FABER_DATA_DIR / local_site.TOKEN).exists():
        _connect()
    told = [f"Claude Code asks FABER in {folder}: {command}", *([] if tools else [AUTO_MODE])]
    return Reply(
        document={"file": str(file), "command": command, "tools": tools}, text="\n".join(told)
    )


def _remove(folder: Path) -> Reply:
    try:
        was_there = settings_file.remove(folder)
    except settings_file.Unreadable as error:
        raise _unreadable(folder, error) from error
    text = f"Claude Code asks by itself again in {folder}." if was_there else "It was not there."
    return Reply(document={"removed": was_there}, text=text)


def _connect() -> None:
    """Make a token of an agent, which asks and waits and never answers."""
    if not has_site():
        raise NotFound(NO_SITE.format(migrate.place()))
    actor = identity.cli_actor()
    token, secret = tokens.create(f"hook-{actor.account}-{secrets.token_hex(3)}", scope=Scope.AGENT)
    entries.rule(actor, f"made the token {token.name}: scope {token.scope}")
    folder = settings.FABER_DATA_DIR
    local_site.keep(folder, local_site.TOKEN, secret)
    if not (folder / local_site.ADDRESS).exists():
        local_site.keep(folder, local_site.ADDRESS, settings.FABER_BASE_URL)


def _command(project: str | None) -> str:
    """What Claude Code has its shell run; short where the short form means the same."""
    own = Path(sys.executable).with_name("faber")
    found = shutil.which("faber")
    is_found = found is not None and Path(found).resolve() == own.resolve()
    words = ["faber" if is_found else str(own), "hook", "claude"]
    words += ["--project", project] if project else []
    is_elsewhere = local_site.is_local() and os.environ.get("FABER_DATA_DIR", "").strip()
    place = f"FABER_DATA_DIR={shlex.quote(str(data_place.place()))} " if is_elsewhere else ""
    return f"{place}{shlex.join(words)}"


def _folder(name: str) -> Path:
    folder = Path(name).resolve()
    if not folder.is_dir():
        raise Invalid([Problem("--dir", f"{name} is no folder")])
    return folder


def _unreadable(folder: Path, error: settings_file.Unreadable) -> Invalid:
    return Invalid([Problem(str(folder / settings_file.FILE), f"was left as it is: {error}")])
