"""A project that takes one run at a time: who works, who waits, and that nobody is forgotten."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django_q.models import OrmQ

from faber_site.runtime.sweep import sweep
from runs import engine
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.domain.values.status import RunStatus
from runs.engine import starting, turns
from runs.jobs.table import Job
from runs.models import Project, Run
from runs.pages.projects import settings
from runs.record import run_json
from runs.worker import remote
from tests import factories as f
from tests.commands import faber
from tests.jobs import work_off

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return Project.objects.create(name="Acme/App", exclusive=True)


def start(project: Project, work_id: str = "", **fields: object) -> Run:
    order = engine.Start(
        plan=f.plan_of(f.five_steps()),
        project=project,
        workspace=Path("/"),
        actor=f.STARTER,
        work_id=work_id,
        **fields,  # type: ignore[arg-type]
    )
    return turns.start(order)[0]


def cancel(run: Run) -> None:
    engine.cancel(run.pk, reason="not needed", actor=f.STARTER)


def statuses() -> list[str]:
    return list(Run.objects.order_by("pk").values_list("status", flat=True))


def at_once(act: Callable[[int], object], times: int = 6) -> None:
    """Do it in as many threads, all of which begin together."""
    barrier = threading.Barrier(times)

    def go(number: int) -> None:
        barrier.wait()
        try:
            act(number)
        finally:
            connection.close()

    threads = [threading.Thread(target=go, args=(number,)) for number in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_the_second_run_waits_and_has_no_step(project: Project) -> None:
    first, second = start(project), start(project)

    assert statuses() == ["in_progress", "pending"]
    assert not second.attempts.exists()
    assert engine.claim(second.pk, "somebody") is None
    assert run_json.run_shape(second)["error"] is None
    assert str(turns.wait_of(second)) == (
        "The run is queued: the project allows one run at a time; running now: "
        f"{first.short_id} (in progress)."
    )


def test_a_run_that_waits_for_people_or_failed_still_has_the_project(project: Project) -> None:
    first = f.work(start(project))
    assert first.state is RunStatus.AWAITING_FEEDBACK
    start(project)
    sweep()
    assert statuses() == ["awaiting_feedback", "pending"]

    Run.objects.filter(pk=first.pk).update(status=RunStatus.FAILED)
    sweep()

    assert statuses() == ["failed", "pending"]


def test_when_one_completes_the_oldest_begins_by_itself_and_only_that(project: Project) -> None:
    first, second, third = start(project), start(project), start(project)
    f.answered(f.work(first), "approve")

    work_off()

    assert f.fresh(first).state is RunStatus.COMPLETED
    assert f.fresh(second).state is RunStatus.AWAITING_FEEDBACK  # the job for its steps is done
    assert f.fresh(third).state is RunStatus.PENDING


def test_a_cancelled_run_makes_room_and_one_that_waits_can_be_cancelled(project: Project) -> None:
    first, second, third = start(project), start(project), start(project)

    cancel(second)
    turns.give(project.pk)
    assert statuses() == ["in_progress", "cancelled", "pending"]
    cancel(first)
    turns.give(project.pk)

    assert statuses() == ["cancelled", "cancelled", "in_progress"]
    assert third.attempts.count() == 1


def test_nobody_passes_those_who_wait(project: Project) -> None:
    first = start(project)
    start(project)
    cancel(first)  # and before anybody gives the turn, a third one comes

    start(project)

    assert statuses() == ["cancelled", "pending", "pending"]
    turns.give(project.pk)
    assert statuses() == ["cancelled", "in_progress", "pending"]


def test_the_sweep_gives_a_turn_whose_job_died(project: Project) -> None:
    cancel(start(project))
    waiting = start(project)
    cancel(waiting)
    start(project)
    late = start(project)
    OrmQ.objects.all().delete()
    cancel(Run.objects.get(status=RunStatus.IN_PROGRESS))
    OrmQ.objects.all().delete()

    sweep()

    assert f.fresh(late).state is RunStatus.IN_PROGRESS


def test_other_projects_do_not_wait(project: Project) -> None:
    start(project)
    other = Project.objects.create(name="Acme/Other", exclusive=True)

    start(other)
    f.start(f.five_steps())

    assert statuses() == ["in_progress"] * 3


def test_a_question_from_outside_neither_waits_nor_is_waited_for(project: Project) -> None:
    start(project)
    asking = remote.start_asking(f.STARTER, project="Acme/App", work_id="")

    assert asking.state is RunStatus.IN_PROGRESS
    cancel(Run.objects.exclude(pk=asking.pk).get())
    assert start(project).state is RunStatus.IN_PROGRESS


def test_when_the_project_takes_many_again_all_that_wait_begin(project: Project) -> None:
    for _ in range(3):
        start(project)

    settings.change(project, {"exclusive": False}, actor=f.STARTER)

    assert statuses() == ["in_progress"] * 3


def test_a_project_that_becomes_exclusive_waits_for_all_that_work_there() -> None:
    project = Project.objects.create(name="Acme/App")
    first, second = start(project), start(project)
    settings.change(project, {"exclusive": True}, actor=f.STARTER)
    third = start(settings.find("acme/app", seen_by=None))

    cancel(first)
    work_off()
    assert f.fresh(third).state is RunStatus.PENDING
    f.answered(f.fresh(second), "approve")
    work_off()

    assert f.fresh(third).state is RunStatus.AWAITING_FEEDBACK


def test_a_batch_in_such_a_project_goes_one_by_one(project: Project, tmp_path: Path) -> None:
    from runs.engine import batches

    wish = starting.Wish(workflow="default", workspace=tmp_path, project="Acme/App")
    batch = batches.start(batches.BatchWish(wish=wish, work_ids=("1", "2", "3")), f.STARTER)

    assert statuses() == ["in_progress", "pending", "pending"]
    cancel(Run.objects.get(work_id="1"))
    assert turns.give(batch.project_id) == 1
    assert statuses() == ["cancelled", "in_progress", "pending"]


def test_resuming_a_run_that_waits_only_looks_whether_its_turn_has_come(project: Project) -> None:
    first, second = start(project), start(project)

    assert engine.resume_stopped(second.pk, f.STARTER).state is RunStatus.PENDING
    work_off()
    assert f.fresh(second).state is RunStatus.PENDING
    cancel(f.fresh(first))
    OrmQ.objects.all().delete()
    engine.resume_stopped(second.pk, f.STARTER)
    work_off()

    assert f.fresh(second).state is RunStatus.AWAITING_FEEDBACK


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_of_runs_started_at_the_same_time_one_begins() -> None:
    project = Project.objects.create(name="Acme/App", exclusive=True)

    at_once(lambda number: start(project, str(number)))

    assert sorted(statuses()) == ["in_progress"] + ["pending"] * 5


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_turn_that_many_give_at_the_same_time_is_given_once_to_the_oldest() -> None:
    project = Project.objects.create(name="Acme/App", exclusive=True)
    for _ in range(4):
        start(project)
    cancel(Run.objects.get(status=RunStatus.IN_PROGRESS))

    at_once(lambda _number: turns.give(project.pk))

    assert statuses() == ["cancelled", "in_progress", "pending", "pending"]


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_run_that_starts_while_the_holder_ends_is_not_forgotten() -> None:
    project = Project.objects.create(name="Acme/App", exclusive=True)
    for _ in range(5):
        holder = start(project)
        OrmQ.objects.all().delete()

        at_once(lambda number, run=holder: cancel(run) if number else start(project), times=2)  # type: ignore[misc]
        for job in OrmQ.objects.all():
            if job.func() == Job.GIVE_TURNS:
                turns.give(*job.task["args"])

        late = Run.objects.get(status=RunStatus.IN_PROGRESS)
        assert late.pk != holder.pk
        cancel(late)


# What people are told


@pytest.fixture
def client() -> Client:
    user: User = users.create("rita", role=Role.REVIEWER)
    client = Client()
    client.force_login(user)
    return client


def page_of(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def test_the_pages_tell_whom_a_run_waits_for(project: Project, client: Client) -> None:
    first, _, third = start(project, "7"), start(project), start(project)

    page = page_of(client, f"/runs/{third.run_id}/")
    assert "This run is queued: the project allows one run at a time" in page
    assert f'id="turn-{first.short_id}" href="/runs/{first.run_id}/">#7 {first.short_id}' in page
    assert "1 more run ahead of it" in page
    assert f"waiting for {first.short_id}" in page_of(client, "/runs/")
    assert "This run is queued" not in page_of(client, f"/runs/{first.run_id}/")
    begin = page_of(client, "/start/")
    assert "One run at a time; a new run waits for" in begin
    assert f'href="/runs/{first.run_id}/"' in begin


def test_runs_that_share_a_folder_name_each_other(client: Client, tmp_path: Path) -> None:
    project = Project.objects.create(name="Acme/App", workspace=str(tmp_path))
    first, second = f.start(f.five_steps(), tmp_path), f.start(f.five_steps(), tmp_path)
    elsewhere = f.start(f.five_steps())

    page = page_of(client, f"/runs/{first.run_id}/")
    assert "Other unfinished runs use this folder" in page
    assert f'href="/runs/{second.run_id}/"' in page
    assert elsewhere.short_id not in page
    begin = " ".join(page_of(client, "/start/").split())
    assert f"{project.name}: 2 unfinished runs use this folder" in begin
    assert f'href="/runs/{second.run_id}/"' in begin

    cancel(second)
    assert "Not alone" not in page_of(client, f"/runs/{first.run_id}/")
    assert "Not alone" not in page_of(client, f"/runs/{second.run_id}/")


def test_of_each_folder_its_own_runs_are_named(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("app", "other", "empty")]
    projects = [
        Project.objects.create(name=f"Here/{folder.name}", workspace=str(folder))
        for folder in folders
    ]
    runs = [f.start(f.five_steps(), folder) for folder in folders[:2]]

    found = {busy.project.name: list(busy.runs) for busy in turns.busy(projects)}

    assert found == {"Here/app": [runs[0]], "Here/other": [runs[1]]}


def test_the_status_tells_it_too(project: Project) -> None:
    first, second = start(project), start(project)

    card = faber("status", second.short_id)
    assert "Queued      the project allows one run at a time; running now" in card.out
    assert f"waiting for {first.short_id}" in faber("status").out
    assert faber("status", second.short_id, "--json").document["error"] is None
    assert "Waits" not in faber("status", first.short_id).out
