import pytest
from pytest_django import Settings

from faber_site.runtime import processes, pulse
from faber_site.runtime.processes import BUSY, IDLE, Process
from faber_site.runtime.pulse import FIRST_PATIENCE, PATIENCE, Watch
from runs.jobs import queue

SESSION = 7


def watch(*, answered: bool = True) -> Watch:
    return Watch(session=SESSION, is_beat_sent=True, has_answered=answered)


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
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.FABER_WORKERS = 2
    monkeypatch.setattr(processes, "in_session", lambda _session: members)
    seen = Watch(session=SESSION)

    pulse._look(seen)  # sends the beat
    pulse._look(seen)

    assert not queue.is_answered(SESSION)
    assert seen.missed == missed


@pytest.mark.django_db
def test_no_beat_is_sent_to_a_cluster_that_is_still_starting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "in_session", lambda _session: workers("python"))
    seen = Watch(session=SESSION)

    pulse._look(seen)

    assert queue.is_answered(SESSION)
    assert not seen.is_beat_sent


@pytest.mark.django_db
def test_a_beat_is_sent_when_the_one_before_was_answered() -> None:
    seen = Watch(session=SESSION)
    pulse._look(seen)
    queue.forget(SESSION)

    pulse._look(seen)

    assert seen.has_answered
    assert not queue.is_answered(SESSION)
