"""Writes a run as the seeds' run directory."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from django.db import transaction

from feedback.exchange.full_record import record_of
from feedback.exchange.key_order import arranged, arranged_event
from runs.changes import archive
from runs.domain.values.errors import Refused
from runs.domain.values.events import file_name
from runs.isolation import file_modes
from runs.models import Event, Run
from runs.record import state_json
from runs.terminal.console import as_text

# What is ours and not the seeds': readers of their layout need not look there.
OWN = "faber"
RECORD = f"{OWN}/record.json"
KEPT_FILES = f"{OWN}/artifacts"
KEPT_CODE = f"{OWN}/code"


def export(run: Run, folder: Path) -> None:
    """Write the whole run into an empty folder, or nothing at all."""
    files = _files(run)
    try:
        with file_modes.as_usual():
            _export(files, folder)
    except OSError as error:
        raise Refused(f"{error.filename or folder} can't be written: {error.strerror}.") from error


def _export(files: Mapping[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise Refused(f"{folder} is not empty. Export a run to an empty or new folder.")
    draft = Path(tempfile.mkdtemp(prefix=".exporting-", dir=folder))
    try:
        _write(files, draft)
        # The state comes last: whoever finds it finds the rest as well.
        for name in (OWN, "events", "metadata.json", "state.json"):
            (draft / name).rename(folder / name)
    finally:
        shutil.rmtree(draft)


def _files(run: Run) -> dict[str, bytes]:
    """Every file of the directory by its name, all of the same moment."""
    with transaction.atomic():
        held = Run.objects.select_for_update(of=("self",)).get(pk=run.pk)
        told = Event.objects.filter(run=held).order_by("number")
        events: list[dict[str, object]] = list(told.values_list("document", flat=True))
        revisions = list(held.revisions.order_by("pk"))
        snapshots = list(held.snapshots.order_by("pk"))
        state = as_text(arranged(state_json.state_of(held)))
        record = record_of(held, state=state, revisions=revisions, snapshots=snapshots)
        documents: Mapping[str, str] = {
            **{f"events/{_file_name(event)}": as_text(arranged_event(event)) for event in events},
            "events/.next-id": str(held.last_event_id + 1),
            "metadata.json": as_text(arranged(state_json.metadata_of(held))),
            "state.json": state,
            RECORD: as_text(arranged(record)),
        }
    return {
        **{name: f"{text}\n".encode() for name, text in documents.items()},
        # Named by their hash: a path of somebody's choosing never becomes a file's name.
        **{f"{KEPT_FILES}/{kept.sha256}": bytes(kept.content) for kept in revisions},
        **{f"{KEPT_CODE}/{name}": content for name, content in archive.files_of(snapshots).items()},
    }


def _file_name(event: dict[str, object]) -> str:
    return file_name(int(str(event["event_id"])), str(event["type"]))


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
