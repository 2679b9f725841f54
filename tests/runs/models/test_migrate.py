"""What an upgrade may do to a version that still runs, and what an older version refuses."""

import pytest
from django.db import connection
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from runs.domain.values.errors import NewerDatabase
from runs.models import migrate
from tests.commands import faber

pytestmark = [pytest.mark.django_db, pytest.mark.database]

# The last migrations of the last release, whose workers may run beside this version.
RELEASED = [("faber_runs", "0006_jobs_by_their_path"), ("faber_feedback", "0005_callbacks")]


def test_what_was_added_since_the_last_release_can_be_left_out_by_it() -> None:
    """It writes rows without columns it does not know: the database has to fill them in."""
    single = MigrationLoader(connection, replace_migrations=False)
    before, now = single.project_state(RELEASED), MigrationLoader(connection).project_state()

    needed = [
        f"{label}.{name}.{field}"
        for (label, name), model in before.models.items()
        for field, column in now.models[label, name].fields.items()
        if field not in model.fields
        and not (column.many_to_many or column.null or column.has_db_default())
    ]

    assert needed == []


def test_a_database_of_this_version_is_taken() -> None:
    assert migrate.check_version()


def test_a_database_of_a_newer_version_is_refused_by_every_command() -> None:
    MigrationRecorder(connection).record_applied("faber_runs", "9999_from_the_future")

    with pytest.raises(NewerDatabase, match="9999_from_the_future"):
        migrate.bring_up_to_date()

    refused = faber("status")
    assert refused.code == 2
    assert refused.err == (
        "A newer version of FABER upgraded this database: it has the migration "
        "9999_from_the_future, which this version does not know. Start the newer version, or "
        "restore the backup from before the upgrade.\n"
    )


def test_what_other_apps_applied_is_their_own_matter() -> None:
    MigrationRecorder(connection).record_applied("auth", "9999_from_the_future")

    assert migrate.check_version()


def test_migrations_taken_together_end_where_each_alone_does() -> None:
    single, together = (MigrationLoader(None, replace_migrations=some) for some in (False, True))
    ends = [node for node in together.graph.leaf_nodes() if node in single.graph.nodes]
    assert len(ends) == len(together.graph.leaf_nodes())
    assert not set(together.replacements) & set(single.graph._generate_plan(ends, True))

    changes = MigrationAutodetector(single.project_state(ends), together.project_state())

    assert changes.changes(graph=together.graph) == {}
