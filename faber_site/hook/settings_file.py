"""Puts the hook into Claude Code's settings of a folder, and takes it out; the rest stays."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]

FILE = Path(".claude") / "settings.json"
TIMEOUT = 86_400  # seconds; the hook itself gives up a little sooner
_OURS = re.compile(r"(?:^|[\s/])faber['\"]? hook claude(?:\s|$)")


class Unreadable(Exception):
    """The settings are not what Claude Code could have written."""


def install(folder: Path, command: str, tools: Sequence[str]) -> Path:
    """Have the hook asked for every permission, and before the named tools in any case."""
    file = folder / FILE
    settings = _without_ours(_read(file))
    hooks = settings.setdefault("hooks", {})
    hooks.setdefault("PermissionRequest", []).append(_entry("*", command))
    if tools:
        hooks.setdefault("PreToolUse", []).append(_entry("|".join(tools), command))
    _write(file, settings)
    return file


def remove(folder: Path) -> bool:
    """Whether the hook was there."""
    file = folder / FILE
    before = _read(file)
    after = _without_ours(before)
    if after == before:
        return False
    if after:
        _write(file, after)
    else:
        file.unlink()
    return True


def _entry(matcher: str, command: str) -> Json:
    return {
        "matcher": matcher,
        "hooks": [{"type": "command", "command": command, "timeout": TIMEOUT}],
    }


def _without_ours(settings: Json) -> Json:
    """The same settings; what held nothing but this hook goes with it."""
    before = _hooks(settings).items()
    hooks = {event: kept for event, groups in before if (kept := _others(groups)) or not groups}
    rest = {key: value for key, value in settings.items() if key != "hooks"}
    return {**settings, "hooks": hooks} if hooks else rest


def _others(groups: list[Json]) -> list[Json]:
    kept = []
    for group in groups:
        hooks = [hook for hook in group.get("hooks", []) if not _is_ours(hook)]
        if hooks or not group.get("hooks"):
            kept.append({**group, "hooks": hooks} if "hooks" in group else group)
    return kept


def _is_ours(hook: object) -> bool:
    return isinstance(hook, dict) and bool(_OURS.search(str(hook.get("command", ""))))


def _hooks(settings: Json) -> dict[str, list[Json]]:
    hooks = settings.get("hooks", {})
    lists = hooks.values() if isinstance(hooks, dict) else [None]
    if not all(isinstance(each, list) and all(isinstance(g, dict) for g in each) for each in lists):
        raise Unreadable("`hooks` is not a list of matchers for each event")
    return dict(hooks)


def _read(file: Path) -> Json:
    try:
        settings = json.loads(file.read_text() or "{}") if file.exists() else {}
    except ValueError as error:
        raise Unreadable(f"it is no JSON: {error}") from error
    if not isinstance(settings, dict):
        raise Unreadable("it is no JSON object")
    return settings


def _write(file: Path, settings: Json) -> None:
    place = file.resolve()  # it may be a link to where somebody keeps all their settings
    place.parent.mkdir(parents=True, exist_ok=True)
    new = place.with_name(f".{place.name}.new")
    new.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
    new.replace(place)
