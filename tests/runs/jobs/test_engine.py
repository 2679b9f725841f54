import pytest
from pytest_django import Settings

from runs.jobs import engine
from runs.jobs.celery import engine as celery
from runs.jobs.database import engine as database
from runs.jobs.engine import QueueEngine

# Held to the protocol by the type checker too.
ENGINES: dict[str, QueueEngine] = {"database": database, "celery": celery}


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_offers_all_that_is_asked_of_one(name: str) -> None:
    asked = [each for each in vars(QueueEngine) if not each.startswith("_")]

    assert {"enqueue", "enqueue_at", "oldest", "beat", "run_worker"} <= set(asked)
    assert not [each for each in asked if not callable(getattr(ENGINES[name], each, None))]


def test_jobs_are_rows_of_the_sites_own_database_unless_it_is_told_otherwise(
    settings: Settings,
) -> None:
    assert engine.chosen() is database

    settings.FABER_QUEUE = "celery"

    assert engine.chosen() is celery
