from pathlib import Path
from types import SimpleNamespace

import pytest
from pytest_django import Settings

from runs.jobs import draining
from runs.jobs.celery import app, lanes
from runs.jobs.table import Lane


@pytest.mark.parametrize("lane", Lane)
def test_who_is_asked_to_drain_takes_beats_and_no_steps(
    lane: Lane, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FABER_DATA_DIR = tmp_path
    monkeypatch.setattr(draining, "_known", draining.last_order())
    taken = {app.called(name) for name in (lanes._own(lane), *lanes._shared(lane))}
    queues = SimpleNamespace(consume_from=taken)
    consumer = SimpleNamespace(
        app=SimpleNamespace(amqp=SimpleNamespace(queues=queues)), cancel_task_queue=taken.remove
    )
    watch, before = lanes.LaneWatch(consumer), set(taken)

    watch._look(consumer)
    assert taken == before

    draining.Draining()
    watch._look(consumer)
    watch._look(consumer)

    assert taken == ({app.called(lanes._own(lane))} if lane is Lane.STEPS else before)
