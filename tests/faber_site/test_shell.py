"""What the documentation shows in shell does what it says, with curl, jq and openssl."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from feedback.channels.callbacks import signing
from runs.accounts import tokens
from runs.domain.values.actors import Scope
from runs.models import Run
from tests import factories as f

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
BLOCKS: list[str] = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
TOOLS = ("sh", "curl", "jq", "openssl", "base64", "od")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason=f"needs {', '.join(TOOLS)}"),
]


def shown(part: str) -> str:
    (block,) = [block for block in BLOCKS if part in block]
    return block


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


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.partition("\n")[0][:40])
def test_every_shell_example_can_be_read_by_a_shell(block: str, tmp_path: Path) -> None:
    subprocess.run(["sh", "-n"], input=block, text=True, check=True)


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

    said = shell(shown("expected="), cwd=tmp_path, **{**known, **told, **change})

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

    said = shell(shown("# work.sh"), run.run_id, "sh", "-c", execute, cwd=tmp_path, **surroundings)

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
    script = shown("# work.sh").replace("sleep 2", "exit 0")

    shell(script, run.run_id, "sh", "-c", fails_once, cwd=tmp_path, **surroundings)

    asked = f.pending(run)
    assert asked.type == "error_resolution"
    assert 'no "compiler"' in str(asked.context)
    f.answer(run, "retry")
    said = shell(script, run.run_id, "sh", "-c", fails_once, cwd=tmp_path, **surroundings)
    assert said == "completed\n"
