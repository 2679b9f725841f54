"""What the doctor says of the machines of a site."""

from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from feedback.doctor import diagnosis, hosts
from runs.isolation import ways
from runs.models import StepAttempt
from tests import factories as f
from tests import workers
from tests.commands import faber
from tests.machines import ON_SHARED_DATABASE, Become, becoming, was_last_seen

pytestmark = [pytest.mark.django_db, *ON_SHARED_DATABASE]


@pytest.fixture
def become(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Become:
    workers.report()
    monkeypatch.setattr(ways, "why_not", lambda hidden: "")  # whatever this machine can do
    return becoming(settings, tmp_path)


def test_machines_that_disagree_are_a_problem(become: Become, settings: Settings) -> None:
    become("first")
    settings.SECRET_KEY = "Zk3-v9Qm_17LwBxTtN0sYcE4uHdRf8ga"
    become("second")

    told = faber("doctor")

    assert told.code == 4
    assert told.out.startswith("The machines of this site use different secret keys: first and ")
    assert "  → Copy the file secret_key of one data directory to all others, or set" in told.out


def test_steps_that_wait_for_a_machine_without_workers_are_told(become: Become) -> None:
    become("first")
    become("second")
    run = f.start(f.five_steps())
    StepAttempt.objects.filter(run=run).update(host="first")
    assert list(hosts.findings()) == []

    was_last_seen("first", timedelta(minutes=1))

    (found,) = diagnosis.findings()
    assert found.what == f"1 step is waiting for first, such as frame:one of {run.run_id}"
    assert found.repair == "Start `faber work` on first."
