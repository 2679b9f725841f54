"""Commands that a running site executes do exactly what they would do by themselves."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from faber_site.command_socket import agreement
from faber_site.runtime import command_server
from tests.chaos.scratch import Scratch, eventually
from tests.commands import CHECKOUT, Answer
from tests.sites import seed

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("supervisor")]

# The last line of the errors tells whether this process had to load Django.
CALL = """
import sys
from faber_site.cli import main
try:
    code = main()
finally:
    sys.stdout.flush()
    sys.stderr.write("\\nby itself" if "django" in sys.modules else "\\nby the site")
sys.exit(code)
"""
BY_SITE, BY_ITSELF = "by the site", "by itself"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    with closing(Scratch(seed(tmp_path_factory.mktemp("site")))) as scratch:
        scratch.start("web")
        scratch.start_run("true")
        yield scratch


def call(
    site: Scratch, *words: str, changed: Mapping[str, str] = {}, stdin: str = ""
) -> tuple[Answer, str]:
    """What a command answers, and who has executed it."""
    done = subprocess.run(
        [sys.executable, "-c", CALL, *words],
        cwd=site.folder,
        env={**site._environment(), **changed},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    told, _, who = done.stderr.rpartition("\n")
    return Answer(code=done.returncode, out=done.stdout, err=told), who


@pytest.mark.parametrize(
    "words",
    [
        ("pending",),
        ("pending", "--json"),
        ("pending", "--nonsense"),
        ("status", "--json"),
        ("status", "latest", "--json"),
        ("status", "nowhere"),
        ("answer", "fr-20260101-000000", "approve"),
        ("answer", "fr-20260101-000000", "approve", "--json"),
        ("answer", "--help"),
    ],
)
def test_the_site_executes_a_command_as_it_would_execute_itself(
    site: Scratch, words: tuple[str, ...]
) -> None:
    by_site, who = call(site, *words)
    by_itself, who_else = call(site, *words, changed={"FABER_LOG_LEVEL": "ERROR"})

    assert (who, who_else) == (BY_SITE, BY_ITSELF)
    assert by_site == by_itself
    assert by_site.out or by_site.err


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"FABER_PORT": "1"}, id="another setting"),
        pytest.param({"PYTHONPATH": f"{CHECKOUT}:/"}, id="other modules"),
        pytest.param({"FABER_DATA_DIR": "/nowhere"}, id="another site"),
    ],
)
def test_a_command_that_means_something_else_is_executed_by_itself(
    site: Scratch, changed: dict[str, str]
) -> None:
    assert call(site, "pending", changed=changed)[1] == BY_ITSELF


def test_a_step_is_refused_what_it_may_not_do(site: Scratch) -> None:
    answer, who = call(
        site, "answer", "fr-20260101-000000", "approve", changed={"FABER_RUN_ID": "a/b/c"}
    )

    assert who == BY_ITSELF
    assert answer.code == 7
    assert answer.err.startswith("Steps can't call `faber answer`")


def test_what_is_typed_reaches_the_command(site: Scratch) -> None:
    words = ("answer", "fr-20260101-000000", "approve", "--comment-file", "-")

    answer, who = call(site, *words, stdin="Well done\n")

    assert who == BY_SITE
    assert answer.err == "There is no request fr-20260101-000000.\n"


def test_a_command_that_lasts_is_not_handed_over() -> None:
    assert agreement.takes(["status"])
    assert not agreement.takes(["status", "--watch"])
    assert not agreement.takes(["run", "demo"])
    assert not agreement.takes([])


def test_those_who_say_nothing_keep_nobody_waiting(site: Scratch) -> None:
    with ExitStack() as silent:
        for _ in range(command_server.MOST_AT_ONCE):
            caller = silent.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            caller.connect(str(site.folder / "commands.sock"))
            assert caller.recv(1) == agreement.READY

        answer, who = call(site, "pending")

        assert who == BY_ITSELF
        assert answer.code == 0
    assert eventually(lambda: call(site, "pending")[1] == BY_SITE, within=15)


def test_nobody_else_can_reach_it(site: Scratch) -> None:
    assert (site.folder / "commands.sock").is_socket()
    assert site.folder.stat().st_mode & 0o077 == 0


def test_without_the_site_commands_are_executed_by_themselves(tmp_path: Path) -> None:
    with closing(Scratch(seed(tmp_path / "data"))) as site:
        site.start("web")
        assert call(site, "pending")[1] == BY_SITE
        assert site.faber
        site.faber.kill()  # it leaves its socket behind
        site.faber.communicate()

        answer, who = call(site, "pending")

        assert who == BY_ITSELF
        assert (answer.code, answer.out) == (0, "No open requests.\n")

        site.start("web")
        assert call(site, "pending")[1] == BY_SITE
        site.ask_to_end(signal.SIGTERM)
        assert not (site.folder / "commands.sock").exists()
