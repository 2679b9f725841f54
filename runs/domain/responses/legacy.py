"""Responses in the words older skills used, turned into today's."""

import json
from collections.abc import Mapping

from runs.domain.values.plain_json import given

Response = Mapping[str, object]

# Where a field goes now, and what older responses call it; the last row is dropped.
_LEGACY: Mapping[str, tuple[str, ...]] = {
    "status": ("success",),
    "details": ("result", "data", "output"),
    "errors": ("error", "error_message"),
    "warnings": ("warning", "note"),
    "suggested_fixes": ("suggestion",),
    "": ("code", "error_code", "can_retry"),
}
NEW_NAMES = {name: home for home, names in _LEGACY.items() for name in names}

_TODAYS = ("errors", "warnings", "suggested_fixes")


def modern(document: Response) -> Response:
    """The response in today's words; an old one is kept whole under details.legacy."""
    if document.get("status") != "error" and not document.keys() & NEW_NAMES.keys():
        return document
    return {
        **{key: value for key, value in document.items() if key not in NEW_NAMES},
        **_old_status(document),
        **_old_message(document),
        **_old_items(document),
        **_old_details(document),
    }


def _old_status(document: Response) -> Response:
    status, success = document.get("status", "success"), document.get("success")
    if status == "error" or (success is False and status in ("success", "warning")):
        return {"status": "failure"}
    return {"status": status} if success is True else {}


def _old_message(document: Response) -> Response:
    names = ("message", *_LEGACY["details"], *_LEGACY["errors"])
    spoken = [text for name in names if (text := given(document, name, str).strip())]
    return {"message": spoken[0]} if spoken else {}


def _old_items(document: Response) -> Response:
    items = {}
    for home in _TODAYS:
        old = [text for name in _LEGACY[home] for text in _old_texts(document.get(name))]
        if old and isinstance(document.get(home), list | None):
            items[home] = [*given(document, home, list), *old]
    return items


def _old_texts(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    said = (item for item in values if item not in (None, False, ""))
    return [item if isinstance(item, str) else json.dumps(item) for item in said]


def _old_details(document: Response) -> Response:
    if not isinstance(document.get("details"), dict | None):
        return {}
    homes = (*_LEGACY["details"], "details")
    merged = {key: value for name in homes for key, value in given(document, name, dict).items()}
    return {"details": {**merged, "legacy": document}}
