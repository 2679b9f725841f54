"""Rows of any database as lines of text, and back."""

import base64
import json
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any
from uuid import UUID

from django.apps.registry import Apps
from django.db.models import Field, Model

# What is not of the site but of the moment: who is signed in, which machines and jobs there are.
PASSING = {
    *("sessions.Session", "faber_runs.BrowserSession", "faber_runs.OutputPart"),
    *("faber_runs.WorkerBeat", "faber_runs.SiteHost", "faber_runs.Upkeep"),
    # Counted again from the rows that a backup brings.
    *("faber_feedback.KeptTotal", "faber_feedback.DailyTotal"),
}
PASSING_APPS = {"django_q"}


def tables(known: Apps) -> list[type[Model]]:
    """Every table that a backup holds."""
    models = known.get_models(include_auto_created=True)
    return [
        model
        for model in models
        if model._meta.managed
        and not model._meta.proxy
        and model._meta.app_label not in PASSING_APPS
        and model._meta.label not in PASSING
    ]


def columns(model: type[Model]) -> list["Field[Any, Any]"]:
    return list(model._meta.concrete_fields)


def lines(model: type[Model], alias: str) -> Iterator[str]:
    names = [field.attname for field in columns(model)]
    rows = model._base_manager.using(alias).order_by("pk").values_list(*names)
    for row in rows.iterator(chunk_size=500):
        yield json.dumps([_plain(value) for value in row])


def read(model: type[Model], names: Sequence[str], line: str | bytes) -> Model:
    """A row to be written; raises ValueError when it is none."""
    fields = {field.attname: field for field in columns(model)}
    values = dict(zip(names, json.loads(line), strict=True))
    return model(**{name: fields[name].to_python(value) for name, value in values.items()})


def _plain(value: object) -> object:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode()
    return value
