import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from faber_site.runtime import processes, pulse
from faber_site.runtime.processes import BUSY, IDLE, SHORT_BUSY, SHORT_IDLE, Process
from faber_site.runtime.pulse import (
    CALM_AFTER,
    FIRST_PATIENCE,
    INTERVAL,
    PATIENCE,
    Pulse,
    Stillness,
    Watch,
)
from faber_site.runtime.vitals import Vitals
from runs.jobs import heartbeat, queue
from runs.jobs.table import Lane

SESSION = 7


def watch(*, answered: bool = True) -> Watch:
    return Watch(session=SESSION, lane=Lane.STEPS, is_beat_sent=True, has_answered=answered)


def test_a_cluster_that_leaves_beats_unanswered_is_stuck() -> None:
    seen = watch()
    for _ in range(PATIENCE):
        assert not seen.is_stuck
        seen.saw_silence(worker_is_idle=True)

    assert seen.is_stuck


def test_an_answer_begins_the_count_anew() -> None:
    seen = watch()
    for _ in range(PATIENCE * 2):
        seen.saw_silence(worker_is_idle=True)
        seen.saw_answer()

    assert not seen.is_stuck


def test_busy_workers_excuse_silence() -> None:
    seen = watch()
    for _ in range(PATIENCE * 2):
        seen.saw_silence(worker_is_idle=False)

    assert not seen.is_stuck


def test_a_new_cluster_has_more_time_for_its_first_answer() -> None:
    seen = watch(answered=False)
    for _ in range(FIRST_PATIENCE - 1):
        seen.saw_silence(worker_is_idle=True)

    assert not seen.is_stuck


def workers(*names: str) -> list[Process]:
    return [
        Process(pid=pid, parent=SESSION, session=SESSION, name=name)
        for pid, name in enumerate(names, start=SESSION)
    ]


@pytest.mark.parametrize(
    ("members", "missed"),
    [
        pytest.param(workers(BUSY, IDLE), 1, id="one is idle"),
        pytest.param(workers(BUSY), 1, id="one is missing"),
        pytest.param(workers(BUSY, BUSY), 0, id="all are busy"),
        pytest.param([], 0, id="nothing can be known"),
    ],
)
@pytest.mark.django_db
def test_silence_counts_only_when_a_worker_could_have_answered(
    members: list[Process],
    missed: int,
    settings: Settings,
) -> None:
    settings.FABER_WORKERS = 2
    seen = Watch(session=SESSION, lane=Lane.STEPS)

    pulse._look(seen, members)  # sends the beat
    pulse._look(seen, members)

    assert not queue.is_answered(SESSION, Lane.STEPS)
    assert seen.missed == missed


@pytest.mark.parametrize(
    ("members", "shows"),
    [
        pytest.param(workers(BUSY, BUSY), True, id="all are busy"),
        pytest.param(workers(BUSY, IDLE), False, id="one is idle"),
        pytest.param(workers(BUSY, SHORT_BUSY, SHORT_BUSY), False, id="one is missing"),
    ],
)
@pytest.mark.django_db
def test_a_lane_that_is_too_busy_for_a_beat_is_shown_to_be_alive(
    members: list[Process], shows: bool, settings: Settings
) -> None:
    settings.FABER_WORKERS = 2
    seen = watch()
    queue.beat(SESSION, Lane.STEPS)

    pulse._look(seen, members)

    assert heartbeat.silent(heartbeat.ages()) == [*([] if shows else [Lane.STEPS]), Lane.SHORT]


@pytest.mark.django_db
def test_a_cluster_is_stuck_when_one_of_its_lanes_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "in_session", lambda _session: workers(IDLE, SHORT_IDLE))
    vitals = Vitals()
    vitals.watch(SESSION)
    seen = Pulse(vitals)
    seen._round()
    queue.forget(SESSION, Lane.STEPS)  # answered
    seen._round()
    assert not vitals.has_answered
    queue.forget(SESSION)
    seen._round()
    assert vitals.has_answered

    for _ in range(PATIENCE):
        assert not vitals.is_stuck
        queue.forget(SESSION, Lane.STEPS)
        seen._round()

    assert vitals.is_stuck


def test_what_was_told_of_a_cluster_means_nothing_for_the_next() -> None:
    vitals = Vitals()
    vitals.watch(SESSION)
    vitals.tell(SESSION, has_answered=True, is_stuck=True)
    assert vitals.has_answered
    assert vitals.is_stuck

    vitals.watch(SESSION + 1)

    assert not vitals.has_answered
    assert not vitals.is_stuck


@pytest.mark.parametrize(
    ("before", "after", "is_calm"),
    [
        pytest.param(workers(IDLE, IDLE), workers(IDLE, IDLE), True, id="nothing happens"),
        pytest.param(workers(IDLE, IDLE), workers(IDLE, BUSY), False, id="somebody is busy"),
        pytest.param(workers(IDLE, IDLE), workers(IDLE), False, id="somebody was killed"),
        pytest.param(workers(IDLE), workers(IDLE, IDLE), False, id="somebody came"),
        pytest.param([], [], False, id="nothing can be known"),
    ],
)
def test_calm_comes_when_nothing_has_happened_for_a_while(
    before: list[Process], after: list[Process], monkeypatch: pytest.MonkeyPatch, *, is_calm: bool
) -> None:
    calm = Stillness()
    calm.saw(before)
    assert not calm.has_come

    later = time.monotonic() + CALM_AFTER + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    calm.saw(after)

    assert calm.has_come == is_calm


@pytest.mark.django_db
def test_in_calm_nothing_is_written_between_two_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    vitals, now = Vitals(), time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    there = workers(IDLE)
    monkeypatch.setattr(processes, "in_session", lambda _session: there)
    monkeypatch.setattr(processes, "are_still_there", lambda members: members == there)
    vitals.watch(SESSION)
    seen = Pulse(vitals)
    seen._round()
    for lane in Lane:
        queue.forget(SESSION, lane)  # answered

    now += CALM_AFTER + 1
    seen._round()
    now += INTERVAL
    with CaptureQueriesContext(connection) as asked:
        seen._round()

    assert len(asked) == 0
    there = workers(BUSY)  # no longer as it was
    with CaptureQueriesContext(connection) as asked:
        seen._round()
    assert len(asked) > 0


@pytest.mark.django_db
def test_each_lane_has_beats_of_its_own() -> None:
    for lane in Lane:
        pulse._look(Watch(session=SESSION, lane=lane), [])

    assert not any(queue.is_answered(SESSION, lane) for lane in Lane)


@pytest.mark.django_db
def test_no_beat_is_sent_to_a_cluster_that_is_still_starting() -> None:
    seen = Watch(session=SESSION, lane=Lane.STEPS)

    pulse._look(seen, workers("python"))

    assert queue.is_answered(SESSION, Lane.STEPS)
    assert not seen.is_beat_sent


@pytest.mark.django_db
def test_a_beat_is_sent_when_the_one_before_was_answered() -> None:
    seen = Watch(session=SESSION, lane=Lane.STEPS)
    pulse._look(seen, [])
    queue.forget(SESSION)

    pulse._look(seen, [])

    assert seen.has_answered
    assert not queue.is_answered(SESSION, Lane.STEPS)
