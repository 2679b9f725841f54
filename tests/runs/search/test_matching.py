"""Runs are found by any part of what they are called, from an index, on both databases."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench.ground import filling
from runs.accounts.membership import Sight
from runs.models import Project, Run
from runs.pages.lists import listing
from runs.pages.lists.listing import RunFilter
from runs.search import matching
from runs.search.index import RUNS
from tests import factories as f
from tests.plans import read_whole

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def found(text: str, workflow: str = "", status: str = "") -> list[str]:
    runs = listing.found(RunFilter(text=text, workflow=workflow, status=status))
    return list(runs.values_list("work_id", flat=True))


@pytest.fixture
def three() -> None:
    # No text that is looked for can stand in the random id of a run.
    for work_id, title in (("258", "Export “Invoices” 100%"), ("7z7", "Login fails"), ("A-1", "x")):
        run = f.start(f.five_steps(), work_id=work_id)
        Run.objects.filter(pk=run.pk).update(own_title=title)


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("text", "work_ids"),
    [
        ("export", ["258"]),
        ("PORT “inv", ["258"]),
        ("ces” 100%", ["258"]),
        ("100_", []),
        ("login fails", ["7z7"]),
        ("fails login", []),
        ("#258", ["258"]),
        ("#25", []),
        ("#a-1", ["A-1"]),
        ('"*', []),
        ("7z7", ["7z7"]),
        ("x", ["A-1", "258"]),
        ("acme/app", ["A-1", "7z7", "258"]),
        ("Five", ["A-1", "7z7", "258"]),
    ],
)
def test_a_text_finds_every_run_that_has_it_in_a_name(text: str, work_ids: list[str]) -> None:
    Run.objects.update(workflow_id="fivesteps")

    assert found(text) == work_ids


@pytest.mark.usefixtures("three")
def test_a_run_is_found_by_what_it_is_called_now_and_never_when_it_is_gone() -> None:
    Run.objects.filter(work_id="7z7").update(own_title="Sign-in breaks")
    Project.objects.filter(runs__work_id="258").update(name="Globex/Shop")

    assert found("login") == []
    assert found("sign-in") == ["7z7"]
    assert found("globex") == ["A-1", "7z7", "258"]

    Run.objects.filter(work_id="7z7").delete()

    assert found("sign-in") == []


@pytest.mark.usefixtures("three")
def test_what_else_narrows_a_search_narrows_all_it_finds_and_not_the_newest_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matching, "MOST", 1)
    monkeypatch.setattr(matching, "_PAGE", 1)
    Run.objects.filter(work_id="258").update(workflow_id="other", status="failed")
    hidden = frozenset(Project.objects.exclude(runs=None).values_list("pk", flat=True))

    assert found("faber") == []
    assert found("acme/app") == ["A-1"]
    assert found("acme/app", workflow="other") == ["258"]
    assert found("acme/app", status="failed") == ["258"]
    assert not listing.found(RunFilter(text="acme/app", sight=Sight(hidden=hidden)))
    assert len(listing.found(RunFilter(text="acme/app"), is_all=True)) == 3


def test_runs_from_before_the_index_are_in_it_once_the_database_is_migrated() -> None:
    with connection.cursor() as cursor:
        for trigger in ("run_put_into_search", "run_taken_from_search", "run_renamed_in_search"):
            of = " ON faber_runs_run" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER {trigger}{of}")
        cursor.execute(f"DROP TABLE {RUNS.table}")
    f.start(f.five_steps(), work_id="1258")

    call_command("migrate", verbosity=0)
    f.start(f.five_steps(), work_id="2258")

    assert found("258") == ["2258", "1258"]


def test_no_list_of_runs_reads_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for room, name in ((listing, "COUNTED"), (matching, "MOST"), (matching, "RECENT")):
        monkeypatch.setattr(room, name, 100)  # as few of 3,000 as the real ones are of many
    f.answered(f.started(f.five_steps()), "approve")
    filling.fill_up_to(3000)
    project = Project.objects.get(name="acme/app-7")
    some = Sight(hidden=frozenset({project.pk}))
    asked = (
        RunFilter(),
        RunFilter(status="completed"),
        RunFilter(sight=some),
        RunFilter(project=project.name),
        RunFilter(workflow="flow-3"),
        RunFilter(started_by="user-3"),
        RunFilter(phase="frame"),
        RunFilter(text="invoice"),
        RunFilter(text="acme/app"),
        RunFilter(text="of unit 31"),
        RunFilter(text="#258"),
        RunFilter(text="invoice", status="failed", sight=some),
    )
    with CaptureQueriesContext(connection) as queries:
        for wanted in asked:
            listing.listed(wanted, "")
            list(listing.found(wanted)[:51])
        listing.workflows(some)
        listing.starters(some)
        list(Run.objects.filter(work_id="258").order_by("-created_at", "-pk")[:51])

    assert list(read_whole(queries, "faber_runs_run")) == []
    assert list(read_whole(queries, RUNS.table)) == []
