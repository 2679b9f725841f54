"""The commands in the documentation do what stands beside them, on a site of their own."""

import datetime
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from feedback.requests.answers import Words, respond
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.models import Project, Run
from tests import factories as f
from tests.briefings import briefing_of, copying
from tests.commands import environment, faber, shell
from tests.documentation import ROOT, block, blocks, commands, executed
from tests.fake_agents.programs import FakeAgents
from tests.sites import seed

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Settings) -> None:
    settings.FABER_DATA_DIR = tmp_path / "data"
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "elsewhere").mkdir()


@pytest.fixture
def kept(tmp_path: Path) -> dict[str, str]:
    """Where backups and checkpoints lie, and the day they are made."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    days = ("$(date +%F)", "2026-11-18", "2026-11-16")
    return {"/backup": str(tmp_path), **dict.fromkeys(days, today)}


def test_batches_are_started_and_shown() -> None:
    executed("batch-start")
    one, other = Run.objects.order_by("id")[:2]

    [shown] = executed("batch-show", {"4f1c2a9b": one.short_id, "acme/shop/8d2e…": other.run_id})

    assert Run.objects.count() == 6
    assert shown.startswith("## Parallel Workflow Status")


def test_projects_are_set_up() -> None:
    users.create("rita", role=Role.REVIEWER)
    users.create("olga", role=Role.REVIEWER)
    f.start(f.five_steps())

    executed("project-settings", {"group:leads": "group:reviewer"})
    executed("business-hours")

    project = Project.objects.get(name="Acme/App")
    assert (project.exclusive, project.timezone) == (True, "Europe/Berlin")


def test_a_step_adds_an_event_of_its_own() -> None:
    run = f.start(f.five_steps())

    executed("emit", {"$FABER_RUN_ID": run.run_id})

    assert run.events.get(type="commit_create").document["metadata"]["sha"] == "a1b2c3"


def test_old_output_is_counted_and_pruned() -> None:
    f.started(f.workflow({"build": [f.step("one")]}))

    counted, pruned = executed("prune")

    assert counted.startswith("Would ")
    assert "runs" in pruned


def test_the_record_is_signed_and_compared(kept: dict[str, str]) -> None:
    f.answered(f.started(f.five_steps()), "approve")

    _, compared = executed("checkpoint", kept)

    assert compared == "The record is intact.\n"


@pytest.mark.slow
def test_a_site_is_drained_backed_up_and_restored(kept: dict[str, str], tmp_path: Path) -> None:
    seed(tmp_path / "data")
    drain, before = commands("upgrade", kept)
    backup, restore = commands("backup", kept)

    assert faber(*drain).code == 0
    assert before[0] == backup[0]
    assert shell(tmp_path, *backup).code == 0
    assert shell(tmp_path / "elsewhere", *restore).code == 0


def test_comments_on_lines_reach_the_step_as_shown(tmp_path: Path) -> None:
    shown = json.loads(block("feedback-items").text)["feedback"]
    review = copying("two", requires_approval=True, approval_type="review")
    run = f.started(f.workflow({"architect": [review]}), tmp_path)
    words = Words(comment=shown["comment"], items=shown["items"])

    respond(f.pending(run).request_id, shown["response"], actor=f.person(), words=words)
    f.work(run)

    told = briefing_of(tmp_path, "two")["feedback"]
    assert {key: told[key] for key in shown} == shown


@pytest.mark.slow
def test_the_settings_behind_a_proxy_answer_over_https_alone(tmp_path: Path) -> None:
    """With the headers that the example for nginx sets, and without them."""
    headers = re.findall(r"proxy_set_header (\S+)", (ROOT / "deploy" / "nginx.conf").read_text())
    asking = (
        "import django; django.setup(); from django.test import Client;"
        " site = Client(SERVER_NAME='faber.example.org');"
        " print(site.get('/login/').status_code,"
        " site.get('/login/', headers={'X-Forwarded-Proto': 'https'}).status_code)"
    )

    done = subprocess.run(
        ["sh", "-c", f'{block("proxy-settings").text}exec "$0" -c "$1"', sys.executable, asking],
        env=environment(tmp_path) | {"DJANGO_SETTINGS_MODULE": "faber_site.settings"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "400 200\n"
    assert {"Host", "X-Forwarded-Proto", "X-Forwarded-For"} <= set(headers)


def test_every_target_of_make_is_there() -> None:
    targets = {
        line.partition(":")[0]
        for line in (ROOT / "Makefile").read_text().splitlines()
        if ":" in line and not line.startswith(("\t", "#", "."))
    }
    shown = block("make-targets").text + block("make-readme").text
    named = {line.split()[1] for line in shown.splitlines()}

    assert named <= targets


def test_the_first_workflow_is_valid_and_runs_with_any_agent(
    agents: FakeAgents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the file that stands above the commands, in a folder of one's own."""
    [document] = [each for each in blocks() if each.page.name == "README.md" and each.document]
    (tmp_path / "hello.yaml").write_text(document.text)
    monkeypatch.chdir(tmp_path)
    validate, run = (
        shlex.split(line)[1:] for line in block("readme-own-workflow").text.splitlines()
    )

    assert faber(*validate).code == 0
    assert faber(*run).code == 3, "it waits for the review of its specification"
