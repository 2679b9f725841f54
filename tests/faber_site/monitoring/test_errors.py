"""Errors as Sentry receives them: what broke, and nothing that is anybody's secret."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import receiver
from tests.chaos.scratch import Scratch, eventually
from tests.commands import environment
from tests.receiver import Call, Receiver
from tests.sites import seed

SECRET = "ghp_" + "a1B2" * 9
BREAKS = """
import io, json, logging, sys, django
from wsgiref.util import setup_testing_defaults
django.setup()
from faber_site.monitoring import errors
errors.send()
import sentry_sdk
from django.core.wsgi import get_wsgi_application
from runs.pages.sign_in import views
from runs.jobs import log_context

def broken(self, request, **_):
    password = request.POST["password"]
    raise RuntimeError("no luck with SECRET\\n" + quoted)

views.SignIn.post = broken
asked = json.load(sys.stdin)  # not written here: lines of the source may be told
quoted, body = asked.pop("quoted"), asked.pop("body").encode()
environ = {**asked, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
setup_testing_defaults(environ)
answered = []
b"".join(get_wsgi_application()(environ, lambda status, headers: answered.append(status)))
assert answered == ["500 Internal Server Error"], answered
with log_context.busy_with_run("acme/app/1"):
    logging.getLogger("runs.worker").error("It broke with %s.\\n" + quoted, "SECRET")
logging.getLogger("runs.worker").warning("Only a warning.")
sentry_sdk.flush(10)
""".replace("SECRET", SECRET)

ASKED = {
    "quoted": "DETAIL:  Failing row contains (what a step wrote).",
    "REQUEST_METHOD": "POST",
    "PATH_INFO": "/login/",
    "QUERY_STRING": f"token=query-{SECRET}",
    "CONTENT_TYPE": "application/x-www-form-urlencoded",
    "HTTP_X_REQUEST_ID": "req-1",
    "HTTP_X_CSRFTOKEN": "c" * 32,
    "HTTP_AUTHORIZATION": f"Bearer header-{SECRET}",
    "HTTP_COOKIE": f"remembered=cookie-{SECRET}; csrftoken=" + "c" * 32,
    "REMOTE_ADDR": "203.0.113.9",
    "body": f"username=rita&password=body-{SECRET}",
}


def events(calls: list[Call]) -> list[dict[str, Any]]:
    told = []
    for call in calls:
        is_packed = call.headers.get("content-encoding") == "gzip"
        lines = (gzip.decompress(call.body) if is_packed else call.body).splitlines()
        told += [json.loads(line) for line in lines if b'"event_id"' in line and b"level" in line]
    return told


def test_errors_reach_sentry_without_secrets_and_without_requests(tmp_path: Path) -> None:
    with receiver.running() as sentry:
        dsn = f"http://publickey@127.0.0.1:{sentry.port}/7"
        (tmp_path / "data").mkdir(mode=0o700)
        subprocess.run(
            [sys.executable, "-c", BREAKS],
            env={
                **environment(tmp_path),
                "DJANGO_SETTINGS_MODULE": "faber_site.settings",
                "FABER_SENTRY_DSN": dsn,
                "NO_PROXY": "127.0.0.1",
            },
            input=json.dumps(ASKED),
            text=True,
            check=True,
            timeout=60,
        )

    assert {call.path for call in sentry.calls} == {"/api/7/envelope/"}
    in_view, in_worker = events(sentry.calls)
    (raised,) = in_view["exception"]["values"]
    assert (raised["type"], raised["value"]) == ("RuntimeError", "no luck with [redacted]")
    assert any(frame["function"] == "broken" for frame in raised["stacktrace"]["frames"])
    assert not any("vars" in frame for frame in raised["stacktrace"]["frames"])
    assert in_view["request"] == {"method": "POST", "url": "http://127.0.0.1/login/"}
    assert in_view["tags"]["request_id"] == "req-1"
    assert in_view["release"].startswith("faber-review@")
    assert "It broke with [redacted]." in json.dumps(in_worker["logentry"])
    assert in_worker["tags"]["run_id"] == "acme/app/1"
    whole = json.dumps([in_view, in_worker])
    untold = (
        SECRET,
        "cookie-",
        "query-",
        "body-",
        "header-",
        "rita",
        "203.0.113.9",
        "a step wrote",
    )
    for secret in untold:
        assert secret not in whole


SOON = 30
ASK = """
import sys, django
django.setup()
from pathlib import Path
from tests import factories as f
steps = [
    {"id": "make", "run": ["echo", "what a step wrote", sys.argv[2]], "requires_approval": True},
    {"id": "use", "run": ["true"]},
]
f.start(f.workflow({"build": steps}), Path(sys.argv[1]), work_id="1")
"""
APPROVE = """
import django
django.setup()
from tests import factories as f
from runs.models import Run
f.answer(Run.objects.get(work_id="1"), "approve")
"""


@pytest.fixture
def sentry() -> Iterator[Receiver]:
    with receiver.running() as running:
        yield running


@pytest.fixture
def site(tmp_path: Path, sentry: Receiver) -> Iterator[Scratch]:
    settings = {
        "FABER_SENTRY_DSN": f"http://publickey@127.0.0.1:{sentry.port}/7",
        "FABER_UNDO_SECONDS": "1",
        "NO_PROXY": "127.0.0.1",
    }
    with closing(Scratch(seed(tmp_path / "data"), settings)) as scratch:
        scratch.start("work")
        yield scratch


@pytest.mark.chaos
@pytest.mark.xdist_group("supervisor")
def test_an_error_in_a_worker_arrives_with_its_stack_and_its_run(
    site: Scratch, sentry: Receiver
) -> None:
    site.call(ASK, str(site.folder.parent), SECRET)
    waits = [("awaiting_feedback",)]
    assert eventually(lambda: site.rows("SELECT status FROM faber_runs_run") == waits, within=SOON)
    site.damage("inputs", ["what a step wrote", SECRET])

    site.call(APPROVE)

    assert eventually(lambda: sentry.calls, within=SOON)
    told = events(sentry.calls)[0]
    raised = told["exception"]["values"][-1]
    assert (raised["type"], raised["value"]) == ("TypeError", "'list' object is not a mapping")
    assert raised["stacktrace"]["frames"][-1]["module"].startswith("runs.")
    assert told["logentry"]["formatted"] == "the job runs.worker.advance.advance_run(1,) failed"
    ((run_id,),) = site.rows("SELECT run_id FROM faber_runs_run")
    assert told["tags"]["run_id"] == run_id
    whole = json.dumps(events(sentry.calls))
    assert SECRET not in whole
    assert "a step wrote" not in whole


@pytest.mark.chaos
@pytest.mark.xdist_group("supervisor")
def test_an_error_that_a_process_dies_of_still_arrives(site: Scratch, sentry: Receiver) -> None:
    database = site.folder / "faber.sqlite3"
    database.write_bytes(b"no database any more " * 200)
    for more in ("-wal", "-shm"):
        database.with_name(f"{database.name}{more}").unlink(missing_ok=True)

    site.leader("cluster").kill()

    def causes() -> list[str]:
        told = [each for each in events(sentry.calls) if each["logentry"]["message"] == "%s failed"]
        return [each["exception"]["values"][-1]["value"] for each in told]

    assert eventually(lambda: "file is not a database" in causes(), within=SOON)
