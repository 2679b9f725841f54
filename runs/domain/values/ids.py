"""Run ids and request ids: how they look, and how names are made to fit them."""

import re
from datetime import datetime
from uuid import UUID

from runs.domain.values.errors import Invalid, Problem

_NAME = r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_RUN_ID = re.compile(rf"{_NAME}/{_NAME}/{_UUID}")
_REMOTE = re.compile(r"(?:^[^/@]+@[^:/]+:|^\w+://[^/]+/)(?P<org>[^/]+)/(?P<name>.+?)(?:\.git)?/?$")
_WORK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,49}")


def sanitise(name: str) -> str:
    """A name as run ids carry it: lower case, only letters, digits, `_` and `-` between."""
    return re.sub(r"-+", "-", re.sub(r"[^a-z0-9_-]", "-", name.lower())).strip("-_") or "local"


def make_run_id(project: str, uuid: UUID) -> str:
    org, _, name = project.partition("/")
    return f"{sanitise(org)}/{sanitise(name)}/{uuid}"


def is_run_id(text: str) -> bool:
    return bool(_RUN_ID.fullmatch(text))


def make_request_id(at: datetime, random_bytes: bytes) -> str:
    return f"fr-{at:%Y%m%d}-{random_bytes[:3].hex()}"


def check_work_id(text: str) -> str:
    if text and not _WORK_ID.fullmatch(text):
        form = "use letters, digits, - and _ (1–50), beginning with a letter or digit"
        raise Invalid([Problem("work_id", f"{text!r} is not a work id; {form}")])
    return text


def check_project(text: str) -> str:
    org, _, name = text.partition("/")
    if not (org.strip() and name.strip()) or "/" in name or len(text) > 200:
        raise Invalid([Problem("project", f"{text!r} is not a project; write it as ORG/NAME")])
    return text


def project_of_remote(url: str) -> str | None:
    """`ORG/NAME` of a git remote, or None when the address has no such shape."""
    found = _REMOTE.search(url.strip())
    if not found or "/" in found["name"]:
        return None
    return f"{found['org']}/{found['name']}"
