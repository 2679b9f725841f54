"""Writes a run as the seeds' run directory."""

import shutil
import tempfile
from pathlib import Path

from django.db import transaction

from runs import records
from runs.console import as_text
from runs.domain.errors import Refused
from runs.domain.events import file_name
from runs.models import Event, Run


def export(run: Run, folder: Path) -> None:
    """Write the whole run into an empty folder, or nothing at all."""
    documents = _documents(run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Refused(f"{folder} is not empty; a run is exported to a folder of its own.")
        draft = Path(tempfile.mkdtemp(prefix=".exporting-", dir=folder))
        try:
            _write(documents, draft)
            # The state comes last: whoever finds it finds the rest as well.
            for name in ("events", "metadata.json", "state.json"):
                (draft / name).rename(folder / name)
        finally:
            shutil.rmtree(draft)
    except OSError as error:
        raise Refused(f"{error.filename or folder} cannot be written: {error.strerror}.") from error


def _documents(run: Run) -> dict[str, object]:
    """Every file of the directory, all of the same moment."""
    with transaction.atomic():
        held = Run.objects.select_for_update(of=("self",)).get(pk=run.pk)
        told = Event.objects.filter(run=held).order_by("number")
        events: list[dict[str, object]] = list(told.values_list("document", flat=True))
        return {
            **{f"events/{_file_name(event)}": event for event in events},
            "events/.next-id": held.last_event_id + 1,
            "metadata.json": records.metadata_of(held),
            "state.json": records.state_of(held),
        }


def _file_name(event: dict[str, object]) -> str:
    return file_name(int(str(event["event_id"])), str(event["type"]))


def _write(documents: dict[str, object], folder: Path) -> None:
    (folder / "events").mkdir()
    for name, document in documents.items():
        (folder / name).write_text(f"{as_text(document)}\n", encoding="utf-8")
