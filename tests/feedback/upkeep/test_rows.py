"""Every row of every table comes back from its line as it was."""

from pathlib import Path

import pytest
from django.apps import apps
from django.db.models import Model

from feedback.models import WebhookEndpoint
from feedback.upkeep import rows
from runs.models import ContextPart
from tests import factories as f
from tests.repositories import Repository, reviewed

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def values(row: Model) -> dict[str, object]:
    found = {field.attname: getattr(row, field.attname) for field in rows.columns(type(row))}
    return {k: bytes(v) if isinstance(v, memoryview) else v for k, v in found.items()}


def test_every_row_comes_back_as_it_was(tmp_path: Path) -> None:
    f.answered(reviewed(Repository(tmp_path / "code"), work_id="258"), "approve", "Gut: ä, 😀, \\n")
    f.reviewed_list(tmp_path)
    WebhookEndpoint.objects.create(endpoint_id="wh_1", url="https://x/", events=["a"])
    ContextPart.objects.create(digest="d", content=bytes(range(256)), size=256)

    compared: set[str] = set()
    for model in rows.tables(apps):
        names = [field.attname for field in rows.columns(model)]
        kept = {row.pk: values(row) for row in model._base_manager.all()}
        back = [values(rows.read(model, names, line)) for line in rows.lines(model, "default")]
        assert back == [kept[row[model._meta.pk.attname]] for row in back]
        assert len(back) == len(kept)
        compared.update({model._meta.label} if back else ())

    assert {"faber_runs.Run", "faber_runs.Event", "faber_runs.Artifact"} <= compared
    assert {"faber_feedback.FeedbackResponse", "faber_runs.CodeSnapshot"} <= compared


def test_what_is_of_the_moment_is_no_part_of_a_backup() -> None:
    held = {model._meta.label for model in rows.tables(apps)}

    assert {model._meta.label for model in apps.get_models()} >= rows.PASSING
    assert not held & rows.PASSING
    assert not any(label.startswith("django_q.") for label in held)
