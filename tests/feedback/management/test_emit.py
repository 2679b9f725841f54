"""`faber emit`: at a terminal, inside a step, and with a token from anywhere."""

import pytest
from pytest_django.live_server_helper import LiveServer

from runs.accounts import tokens
from runs.domain.values.actors import Scope
from runs.models import Run
from tests import factories as f
from tests.commands import faber

pytestmark = pytest.mark.django_db

TOLD = ("test", "--message", "42 of 47 passed", "--data", '{"failed_count": 5}')


@pytest.fixture
def run() -> Run:
    return f.started(f.five_steps())


def test_it_adds_an_event_and_prints_it(run: Run) -> None:
    answer = faber("emit", run.run_id, *TOLD, "--json")

    assert answer.code == 0
    assert answer.document == run.events.order_by("-number")[0].document
    assert (answer.document["type"], answer.document["source"]) == ("test_run", "cli")
    assert answer.document["metadata"]["failed_count"] == 5
    assert "42 of 47 passed" in faber("emit", str(run.uuid)[:8], *TOLD).out
    assert "test_run" in faber("events", run.run_id).out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("step_complete", "--message", "x"), 2, "recorded by FABER only"),
        (("party", "--message", "x"), 2, "not a work event"),
        (("test", "--message", " "), 2, "message: is empty"),
        (("test", "--message", "x", "--data", "[]"), 2, "--data: must be a JSON object"),
        (("test", "--message", "x", "--data", "{"), 2, "--data: 1:2: not valid JSON"),
    ],
)
def test_what_cannot_be_told_is_refused(
    run: Run, words: tuple[str, ...], code: int, said: str
) -> None:
    answer = faber("emit", run.run_id, *words)

    assert answer.code == code
    assert said in answer.err


def test_a_run_that_has_ended_or_does_not_exist_takes_no_event(run: Run) -> None:
    f.answered(run, "reject")

    assert faber("emit", run.run_id, *TOLD).code == 7
    assert faber("emit", "00000000", *TOLD).code == 6


# Inside a step that is not isolated: only its environment tells


def test_a_step_tells_of_its_own_run_as_an_agent(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABER_RUN_ID", run.run_id)

    for name in (run.run_id, str(run.uuid), str(run.uuid)[:8], "latest"):
        answer = faber("emit", name, *TOLD, "--json")
        assert answer.code == 0, answer.err
        assert answer.document["user"].endswith("-agent")


def test_a_step_tells_nothing_of_another_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    other = f.started(f.five_steps())
    monkeypatch.setenv("FABER_RUN_ID", run.run_id)

    answer = faber("emit", other.run_id, *TOLD)

    assert answer.code == 7
    assert answer.err == "A step can add events only to its own run.\n"
    assert "test_run" not in f.told(other)


# With a token


@pytest.mark.django_db(transaction=True)
def test_it_calls_the_site_that_the_environment_names(
    live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = f.started(f.five_steps()), f.started(f.five_steps())
    monkeypatch.setenv("FABER_URL", live_server.url)
    monkeypatch.setenv("FABER_TOKEN", tokens.create("laptop", scope=Scope.AGENT)[1])

    told = faber("emit", run.run_id, *TOLD, "--json")
    refused = faber("emit", run.run_id, "step_complete", "--message", "x")
    missing = faber("emit", "00000000", *TOLD)
    monkeypatch.setenv("FABER_RUN_ID", run.run_id)
    own, others = faber("emit", run.run_id, *TOLD), faber("emit", other.run_id, *TOLD)

    assert told.code == 0, told.err
    assert (told.document["user"], told.document["source"]) == ("laptop", "api")
    assert (refused.code, missing.code) == (2, 6)
    assert "recorded by FABER only" in refused.err
    assert (own.code, others.code) == (0, 7)


def test_half_of_an_address_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABER_URL", "http://localhost:1")

    assert faber("emit", run.run_id, *TOLD).code == 7
