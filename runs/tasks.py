"""What the worker runs."""

from runs import batches, beats, driving, engine, recovery
from runs.ports import asker


def advance_run(run_pk: int) -> None:
    """Go on with a run until it parks."""
    driving.drive(engine.claim(run_pk, driving.worker_name()))


def give_turns(batch_pk: int) -> None:
    """A run of the batch has stopped: another may begin."""
    batches.give_turns(batch_pk)


def sweep() -> None:
    """Bring back what should be running and is not."""
    for run_pk in recovery.find_lost():
        engine.bring_back(run_pk)
    recovery.requeue_stranded()
    batches.catch_up()
    asker().catch_up()


def beat() -> None:
    beats.record()
