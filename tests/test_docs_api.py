"""What the page about the API shows does what it says, in shell and in Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from django.utils import timezone
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

import faber_client
from feedback.channels.callbacks import outbound, signing
from feedback.models import FeedbackRequest
from runs.accounts import tokens
from runs.domain.values.actors import Scope
from runs.models import Run
from tests import factories as f
from tests.commands import faber
from tests.documentation import Block, block, blocks

TOOLS = ("sh", "curl", "jq", "openssl", "base64", "od")
SHELL = [each for each in blocks() if each.language == "sh"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason=f"needs {', '.join(TOOLS)}"),
]


def shell(script: str, *words: str, cwd: Path, **variables: str) -> str:
    done = subprocess.run(
        ["sh", "-c", script, "sh", *words],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("example", SHELL, ids=str)
def test_every_shell_example_can_be_read_by_a_shell(example: Block) -> None:
    subprocess.run(["sh", "-n"], input=example.text, text=True, check=True)


@pytest.mark.parametrize(
    ("change", "printed"),
    [
        ({}, "genuine\n"),
        ({"webhook_id": "fr-2"}, ""),
        ({"webhook_timestamp": "1"}, ""),
        ({"callback_secret": signing.secret_of("fr-1", 2)}, ""),
    ],
)
def test_a_call_is_verified_in_shell(tmp_path: Path, change: dict[str, str], printed: str) -> None:
    body = '{"prompt": "Größe?"}'.encode()
    (tmp_path / "body.json").write_bytes(body)
    signed = signing.signed("fr-1", timezone.now(), body, token_pk=1)
    told = {name.replace("-", "_"): value for name, value in signed.items()}
    known = {"callback_secret": signing.secret_of("fr-1", 1)}

    said = shell(block("api-verify-shell").text, cwd=tmp_path, **{**known, **told, **change})

    assert said == printed


@pytest.fixture
def surroundings(live_server: LiveServer) -> dict[str, str]:
    _, secret = tokens.create("laptop", scope=Scope.AGENT)
    return {"FABER_URL": live_server.url, "FABER_TOKEN": secret}


def outside(*steps: str) -> Run:
    return f.start(f.workflow({"build": [{"id": step, "remote": True} for step in steps]}))


@pytest.mark.django_db(transaction=True)
def test_a_script_works_off_a_run(surroundings: dict[str, str], tmp_path: Path) -> None:
    run = outside("one", "two")
    execute = 'jq -r "\\"did \\\\(.step)\\""'

    said = shell(
        block("api-work-script").text, run.run_id, "sh", "-c", execute, cwd=tmp_path, **surroundings
    )

    assert said == "completed\n"
    responses = run.attempts.order_by("id").values_list("response__message", flat=True)
    assert list(responses) == ["did one", "did two"]


@pytest.mark.django_db(transaction=True)
def test_a_command_that_fails_is_put_to_a_person(
    surroundings: dict[str, str], tmp_path: Path
) -> None:
    run = outside("one")
    fails_once = (
        'cat > /dev/null; [ -e again ] || { touch again; echo "no \\"compiler\\""; exit 1; }'
    )
    script = block("api-work-script").text.replace("sleep 2", "exit 0")

    shell(script, run.run_id, "sh", "-c", fails_once, cwd=tmp_path, **surroundings)

    asked = f.pending(run)
    assert asked.type == "error_resolution"
    assert 'no "compiler"' in str(asked.context)
    f.answer(run, "retry")
    said = shell(script, run.run_id, "sh", "-c", fails_once, cwd=tmp_path, **surroundings)
    assert said == "completed\n"


def run_python(source: str, known: dict[str, object]) -> None:
    exec(source, known)  # noqa: S102  it is the page's own


@pytest.fixture
def curl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `curl` that ends a script at the first refusal, where a reader would read it."""
    program = tmp_path / "bin" / "curl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shutil.which("curl")} --fail-with-body "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")


@pytest.fixture
def at_site(live_server: LiveServer, curl: None, tmp_path: Path, settings: Settings) -> str:
    """The first block of the page, with the token that its command prints."""
    settings.FABER_DATA_DIR = tmp_path / "data"
    script = block("api-set-up").text
    command = script.partition("$(faber ")[2].partition(")")[0]
    printed = faber(*command.split()).out.strip()
    script = script.replace(f"$(faber {command})", printed)
    return f"set -e\n{script.replace('http://127.0.0.1:8000', live_server.url)}"


@pytest.mark.django_db(transaction=True)
def test_runs_are_started_read_cancelled_and_run_again(at_site: str, tmp_path: Path) -> None:
    shell(at_site + block("api-start").text, cwd=tmp_path)
    run = f.work(Run.objects.get(work_id="124"))

    shell(at_site + block("api-runs").text, cwd=tmp_path, RUN=run.run_id)

    assert f.fresh(run).status == "cancelled"
    assert run.events.filter(type="test_run").exists()
    assert Run.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_program_asks_and_waits_for_the_answer(at_site: str, tmp_path: Path) -> None:
    script = block("api-ask").text
    asking, _, waiting = script.partition("until ")

    shell(at_site + asking, cwd=tmp_path)
    asked = FeedbackRequest.objects.get()
    f.answer(asked.run, "confirm")
    waits = at_site + f"REQUEST={asked.request_id}\nuntil {waiting}"

    assert shell(waits, cwd=tmp_path) == "confirm\n"


@pytest.mark.django_db(transaction=True)
def test_a_review_is_answered_for_what_was_seen(at_site: str, tmp_path: Path) -> None:
    asked = f.pending(f.started(f.five_steps()))

    shell(at_site + block("api-answer").text, cwd=tmp_path, REQUEST=asked.request_id)

    asked.refresh_from_db()
    assert asked.status == "answered"


@pytest.mark.django_db(transaction=True)
def test_a_callback_is_asked_for(
    at_site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Names are looked up when a callback is asked for, and there may be no network.
    monkeypatch.setattr(outbound, "resolve", lambda _host, _port: ["93.184.215.14"])

    said = shell(at_site + block("api-callback").text, cwd=tmp_path)

    assert '"callback_secret"' in said


@pytest.mark.django_db(transaction=True)
def test_a_remote_step_is_taken_kept_and_finished(at_site: str, tmp_path: Path) -> None:
    run = outside("one")

    said = shell(at_site + block("api-remote-step").text, cwd=tmp_path, RUN=run.run_id)

    assert said.startswith("execute\n")
    assert f.fresh(run).status == "completed"


@pytest.mark.django_db(transaction=True)
def test_a_batch_is_started_and_read(at_site: str, tmp_path: Path) -> None:
    said = shell(at_site + block("api-batch").text, cwd=tmp_path)

    assert said.startswith("## Parallel Workflow Status")


@pytest.mark.django_db(transaction=True)
def test_the_client_asks_and_works(
    live_server: LiveServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FABER_URL", live_server.url)
    monkeypatch.setenv("FABER_TOKEN", tokens.create("laptop", scope=Scope.AGENT)[1])
    run = outside("one")
    asking = faber_client.Faber.ask

    def answered(*args: object, **words: object) -> object:
        asked = asking(*args, **words)  # type: ignore[arg-type]
        f.answer(FeedbackRequest.objects.get().run, "postgres")
        return asked

    monkeypatch.setattr(faber_client.Faber, "ask", answered)
    run_python(block("api-client").text, {"run_id": run.run_id})

    assert capsys.readouterr().out == "postgres\n"
    assert f.fresh(run).status == "completed"


def test_a_call_is_verified_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    body = b'{"status": "answered", "response": null}'
    headers = signing.signed("fr-1", timezone.now(), body, token_pk=1)
    secret: dict[str, object] = {"callback_secret": signing.secret_of("fr-1", 1)}

    run_python(block("api-verify-python").text, {**secret, "headers": headers, "body": body})

    assert capsys.readouterr().out == "answered None\n"


def test_prometheus_scrapes_the_site_over_https() -> None:
    [job] = yaml.safe_load(block("prometheus").text)["scrape_configs"]

    # Without them it would ask http://…/metrics, which a site with TLS refuses.
    assert job["scheme"] == "https"
    assert job.get("metrics_path", "/metrics") == "/metrics"
    assert set(job["authorization"]) == {"credentials_file"}
