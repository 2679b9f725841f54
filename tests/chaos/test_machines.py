"""Two real workers with names and data directories of their own, on one PostgreSQL."""

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib import parse, request
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from tests import brokers
from tests.brokers import RedisServer
from tests.chaos.scratch import Scratch, eventually
from tests.machines import ON_SHARED_DATABASE

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("machines"), *ON_SHARED_DATABASE]

BACK = 30
KEYS = {
    "FABER_SECRET_KEY": "Zk3-v9Qm_17LwBxTtN0sYcE4uHdRf8ga",
    "FABER_AUDIT_KEY": "ag8fRdHu4EcYs0NtTxBwL71_mQ9v-3kZ",
}
START = """
import sys, django
django.setup()
from pathlib import Path
from tests import factories as f
for number in range(int(sys.argv[2])):
    steps = [
        {"id": "make", "run": ["sh", "-c", "echo made > made-$FABER_WORK_ID"]},
        {"id": "ask", "run": ["true"], "requires_approval": True},
        {"id": "look", "run": ["sh", "-c", "cat made-$FABER_WORK_ID"]},
    ]
    document = f.workflow({"build": steps})
    f.start(document, Path(sys.argv[1]), work_id=str(number))
"""
ANSWER = """
import django
django.setup()
from feedback.models import FeedbackRequest
from feedback.requests.answers import respond
from tests import factories as f
for request in FeedbackRequest.objects.filter(status="pending"):
    respond(request.request_id, "approve", actor=f.person())
"""

WALK = """
import sys, django
django.setup()
from pathlib import Path
from tests import factories as f
long = "echo begun >> ran; until [ -e go ]; do sleep 0.1; done; echo ended >> ran"
steps = [
    {"id": "write", "run": ["sh", "-c", "echo '# Made elsewhere' > spec.md"], "needs": ["gpu"],
     "artifact": "spec.md", "requires_approval": True},
    {"id": "long", "run": ["sh", "-c", long], "needs": ["gpu"]},
    {"id": "last", "run": ["sh", "-c", "echo last >> ran"]},
]
f.start(f.workflow({"build": steps}), Path(sys.argv[1]))
"""


@pytest.fixture
def database() -> str:
    server, name = os.environ["FABER_DATABASE_URL"], f"machines_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return urlsplit(server)._replace(path=f"/{name}").geturl()


@contextmanager
def machine(folder: Path, name: str, database: str, **settings: str) -> Iterator[Scratch]:
    data = folder / f"{name}-{uuid4().hex[:4]}"
    data.mkdir(mode=0o700)
    own = {"FABER_MACHINE_NAME": name, "FABER_DATABASE_URL": database, **KEYS, **settings}
    with closing(Scratch(data, own)) as scratch:
        yield scratch


def rows(database: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(database) as connection:
        return connection.execute(SQL(statement)).fetchall()


def states(database: str) -> set[object]:
    return {status for (status,) in rows(database, "SELECT status FROM faber_runs_run")}


def machines_of(database: str, step: str) -> set[object]:
    found = "SELECT split_part(worker, ':', 1) FROM faber_runs_stepattempt WHERE step = '{}'"
    return {name for (name,) in rows(database, found.format(step))}


@pytest.mark.timeout(240)
def test_every_step_finds_what_the_one_before_left(database: str, tmp_path: Path) -> None:
    """The folder has the same place in both data directories, and is two folders."""
    with (
        machine(tmp_path, "first", database) as first,
        machine(tmp_path, "second", database) as second,
    ):
        for site in (first, second):
            assert site.start("work") == ["FABER worker is ready\n"]
            (site.folder / "app").mkdir()

        first.call(START, str(first.folder / "app"), "12")
        assert eventually(lambda: states(database) == {"awaiting_feedback"}, within=BACK)
        assert machines_of(database, "make") == {"first", "second"}
        second.call(ANSWER)

        # Which of them an answer's job comes to is chance; where a step is executed is not.
        assert eventually(lambda: states(database) == {"completed"}, within=BACK)
        moved = """
            SELECT 1 FROM faber_runs_stepattempt a JOIN faber_runs_stepattempt b USING (run_id)
            WHERE split_part(a.worker, ':', 1) <> split_part(b.worker, ':', 1)
        """
        assert rows(database, moved) == []


@pytest.mark.timeout(240)
def test_a_machine_without_the_folder_leaves_its_steps_to_the_other(
    database: str, tmp_path: Path
) -> None:
    with (
        machine(tmp_path, "first", database) as first,
        machine(tmp_path, "second", database) as second,
    ):
        for site in (first, second):
            assert site.start("work") == ["FABER worker is ready\n"]
        (first.folder / "app").mkdir()

        second.call(START, str(second.folder / "app"), "8")

        assert eventually(lambda: states(database) == {"awaiting_feedback"}, within=BACK)
        assert machines_of(database, "make") == {"first"}


@pytest.fixture(params=["database", "celery"])
def queue(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The settings of either engine."""
    if request.param == "database":
        yield {}
        return
    with brokers.running(RedisServer) as server:
        yield server.settings


def written(file: Path) -> str:
    return file.read_text() if file.exists() else ""


@pytest.mark.timeout(240)
def test_the_walk_of_the_docs_one_site_and_two_workers(
    database: str, tmp_path: Path, queue: dict[str, str]
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    without_keys = queue | dict.fromkeys(KEYS, "")
    with (
        machine(tmp_path, "web", database, **without_keys) as web,
        machine(tmp_path, "plain", database, **without_keys) as plain,
        machine(tmp_path, "gpu", database, **without_keys, FABER_WORKER_LABELS="gpu") as gpu,
    ):
        web.start("web")
        for worker in (plain, gpu):
            for key in ("secret_key", "audit_key"):
                shutil.copy(web.folder / key, worker.folder)
            assert worker.start("work") == ["FABER worker is ready\n"]
        web.call(WALK, str(work))
        assert eventually(lambda: states(database) == {"awaiting_feedback"}, within=BACK)
        assert machines_of(database, "write") == {"gpu"}

        # What one machine has written is shown by another that has nothing of it.
        work.rename(tmp_path / "elsewhere")
        assert "Made elsewhere" in artifact_on(web, database)
        (tmp_path / "elsewhere").rename(work)

        # A rolling restart while a step is under way.
        web.call(ANSWER)
        assert eventually(lambda: written(work / "ran") == "begun\n", within=BACK)
        web.ask_to_end(signal.SIGTERM)
        web.start("web")
        drain = gpu.run("work", "--drain")
        assert eventually((gpu.folder / "drain").exists, within=BACK)
        (work / "go").touch()
        drain.communicate(timeout=BACK)
        assert gpu.faber
        gpu.faber.communicate(timeout=BACK)
        assert gpu.start("work") == ["FABER worker is ready\n"]

        assert eventually(lambda: states(database) == {"completed"}, within=BACK)
        assert written(work / "ran") == "begun\nended\nlast\n"
        assert rows(database, "SELECT count(*) FROM faber_runs_stepattempt") == [(3,)]


def artifact_on(web: Scratch, database: str) -> str:
    """As somebody sees it who signs in there."""
    web.run("user", "create", "rita", "--role", "admin").communicate(timeout=BACK)
    printed, _ = web.run("login-link", "rita", "--json").communicate(timeout=BACK)
    link = json.loads(printed)["url"]
    browser = request.build_opener(request.HTTPCookieProcessor())
    form = browser.open(link).read().decode()
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)[0]
    browser.open(link, parse.urlencode({"csrfmiddlewaretoken": token}).encode())
    ((name,),) = rows(database, "SELECT run_id FROM faber_runs_run")
    site = f"http://127.0.0.1:{web.port}"
    shown: bytes = browser.open(f"{site}/runs/{name}/artifacts/1/spec.md").read()
    return shown.decode()


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("second", {"FABER_SECRET_KEY": KEYS["FABER_AUDIT_KEY"]}, "use different secret keys"),
        ("second", {"FABER_AUDIT_KEY": KEYS["FABER_SECRET_KEY"]}, "use different audit keys"),
        ("first", {}, "Two machines have the name first"),
    ],
)
def test_a_machine_that_does_not_fit_is_refused(
    database: str, tmp_path: Path, name: str, settings: dict[str, str], said: str
) -> None:
    with (
        machine(tmp_path, "first", database) as first,
        machine(tmp_path, name, database, **settings) as second,
    ):
        first.start("work")

        refused = second.run("work")
        printed, _ = refused.communicate(timeout=60)

        assert (refused.returncode, printed) == (2, "")
        (line,) = second.log.read_text().splitlines()
        assert said in line
        assert not any(key in line for key in KEYS.values())
