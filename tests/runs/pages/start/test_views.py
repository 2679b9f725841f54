"""Starting in the browser: one run or many, for those who may."""

import json
import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from runs.accounts import users
from runs.domain.values.actors import Role
from runs.models import Batch, Project, Run
from tests import factories as f

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / ".fractary" / "faber" / "workflows"
    folder.mkdir(parents=True)
    (folder / "small.json").write_text(json.dumps(f.five_steps()))
    return Project.objects.create(name="Acme/App", workspace=str(tmp_path))


@pytest.fixture
def rita() -> User:
    return users.create("rita", role=Role.REVIEWER)


@pytest.fixture
def client(rita: User) -> Client:
    client = Client()
    client.force_login(rita)
    return client


def wanted(known: Project, /, **more: str) -> dict[str, str]:
    return {"project": known.name, "workflow": "small", "work_ids": "", **more}


def test_the_form_offers_what_is_known(project: Project, client: Client) -> None:
    page = client.get("/start/").content.decode()

    assert f'<option value="{project.name}">' in page
    assert 'name="workflow" value="small"' in page
    assert 'name="workflow" value="demo"' in page
    assert "Folder" not in page


def test_one_work_id_starts_a_run(project: Project, client: Client) -> None:
    response = client.post("/start/", wanted(project, work_ids="#124", autonomy="guarded"))

    run = Run.objects.get()
    assert (response.status_code, response["Location"]) == (303, f"/runs/{run.run_id}/")
    assert (run.work_id, run.autonomy, run.started_by, run.batch) == (
        "124",
        "guarded",
        "rita",
        None,
    )
    assert run.workspace == project.workspace


def test_several_start_a_batch(project: Project, client: Client) -> None:
    response = client.post("/start/", wanted(project, work_ids="124, 125\n126", concurrency="2"))

    batch = Batch.objects.get()
    assert response["Location"] == f"/batches/{batch.batch_id}/"
    assert set(batch.runs.values_list("work_id", flat=True)) == {"124", "125", "126"}
    assert batch.concurrency == 2
    assert batch.runs.filter(status="pending").count() == 1


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"work_ids": "1,2,1"}, 422, "1 is listed 2 times"),
        ({"work_ids": "a/b"}, 422, "is not a work id"),
        ({"work_ids": "-a"}, 422, "beginning with a letter or digit"),
        ({"work_ids": "1,--b"}, 422, "beginning with a letter or digit"),
        ({"workflow": "nothing"}, 404, "There is no workflow nothing"),
        ({"workflow": "/etc/small.yaml"}, 422, "Only operators can start a workflow from a file"),
        ({"project": ""}, 422, "Select a project with a folder"),
        ({"project": "Other/App"}, 422, "Select a valid choice"),
        ({"autonomy": "wild"}, 422, "Select a valid choice"),
        ({"concurrency": "0"}, 422, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_started_is_said_and_kept(
    project: Project, client: Client, fields: dict[str, str], status: int, said: str
) -> None:
    response = client.post("/start/", wanted(project, prompt="my words", **fields))

    assert response.status_code == status
    assert said in response.content.decode()
    assert "my words" in response.content.decode()
    assert not Run.objects.exists()


def test_a_viewer_may_not(project: Project) -> None:
    client = Client()
    client.force_login(users.create("vera", role=Role.VIEWER))

    assert client.get("/start/").status_code == 403
    assert client.post("/start/", wanted(project)).status_code == 403
    assert not Run.objects.exists()


def test_an_operator_names_a_folder_and_a_file(
    project: Project, client: Client, rita: User, tmp_path: Path
) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps(f.five_steps()))
    fields = wanted(project, project="", workflow=str(file), folder=str(tmp_path))
    assert client.post("/start/", fields).status_code == 422

    users.set_role(rita, Role.OPERATOR)
    assert client.post("/start/", fields).status_code == 303
    assert Run.objects.get().workspace == str(tmp_path)


def test_a_folder_that_a_reviewer_sends_is_not_read(project: Project, client: Client) -> None:
    client.post("/start/", wanted(project, folder="/"))

    assert Run.objects.get().workspace == project.workspace


def test_the_demo_needs_no_folder(client: Client) -> None:
    response = client.post("/start/", {"workflow": "demo", "work_ids": "1 2"})

    assert response.status_code == 303
    assert Batch.objects.get().project.name == "faber/demo"


def test_the_page_begins_with_the_workflows_and_what_they_do(
    project: Project, client: Client
) -> None:
    page = client.get("/start/").content.decode()

    assert page.index("<legend>Workflow</legend>") < page.index(">Project<")
    assert "A small change in a scratch repository, from request to merge" in page
    assert re.search(r"5 steps,\s+1 decision\b", page)
    assert re.search(r'two <span class="tag" data-tone="care">Review</span>', page)
    assert re.search(r"Approval</span> before it starts", page)  # the demo's release


def test_a_workflow_that_cannot_be_started_says_why(
    project: Project, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / ".fractary" / "faber" / "workflows" / "broken.json"
    file.write_text(json.dumps({"id": "broken", "phases": {"build": {"steps": [{}]}}}))

    assert "Can’t be started: " in client.get("/start/").content.decode()


def test_an_agent_that_is_not_installed_is_told_before_the_start(
    project: Project, client: Client, tmp_path: Path, settings: Settings
) -> None:
    settings.FABER_AGENT_COMMAND = ("no-such-agent",)
    file = tmp_path / ".fractary" / "faber" / "workflows" / "asking.json"
    file.write_text(json.dumps(f.workflow({"build": [{"id": "code", "prompt": "Write it."}]})))

    page = client.get("/start/").content.decode()

    told = "Agent <code>no-such-agent</code> is not installed."
    own = "Agent <code>claude</code> is not installed."  # claude-code brings its agent's command
    assert page.count(told) + page.count(own) == page.count('class="pick-warning"')
    assert page.count(told) > page.count(own)


def test_unfinished_runs_of_a_folder_are_one_folded_line(project: Project, client: Client) -> None:
    for number in (1, 2, 3):
        f.start(f.five_steps(), Path(project.workspace), work_id=str(number))

    page = client.get("/start/").content.decode()

    folded = re.search(r"<details class=\"hint busy\">(.*?)</details>", page, re.DOTALL)
    assert folded is not None
    assert "<summary>Unfinished runs in 1 folder</summary>" in folded[1]
    assert re.search(r"<dt>Acme/App: 3 unfinished\s+runs use this folder", folded[1])
    assert page.count('id="busy-') == folded[1].count('id="busy-') == 3


def test_a_start_without_a_workflow_is_refused(project: Project, client: Client) -> None:
    response = client.post("/start/", wanted(project, workflow=""))

    assert response.status_code == 422
    assert "Select a workflow." in response.content.decode()


def test_a_target_goes_along(project: Project, client: Client) -> None:
    client.post("/start/", wanted(project, target="invoices.py"))

    assert Run.objects.get().target == "invoices.py"


def test_an_operators_file_goes_before_the_list(
    project: Project, client: Client, rita: User, tmp_path: Path
) -> None:
    users.set_role(rita, Role.OPERATOR)
    file = tmp_path / "own.json"
    file.write_text(json.dumps(f.workflow({"build": [f.step("only")]})))

    client.post("/start/", wanted(project, file=str(file)))

    assert Run.objects.get().workflow_ref == str(file)
