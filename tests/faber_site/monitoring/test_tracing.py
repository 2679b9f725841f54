"""A run as a trace, as a collector that speaks OTLP receives it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from pytest_django.fixtures import Settings

from faber_site.monitoring import tracing
from runs.telemetry import telling
from tests import factories as f
from tests import receiver
from tests.commands import environment
from tests.fake_agents.programs import FakeAgents
from tests.receiver import Receiver

pytestmark = pytest.mark.django_db

KEY = "Bearer not-for-everybody"
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def collector(settings: Settings) -> Iterator[Receiver]:
    with receiver.running() as listening:
        settings.FABER_OTLP_ENDPOINT = f"http://127.0.0.1:{listening.port}/otlp"
        settings.FABER_OTLP_HEADERS = (("authorization", KEY),)
        settings.FABER_COLLECTOR = "faber_site.monitoring.tracing"
        for made in (tracing.provider, telling._collector):
            made.cache_clear()
        yield listening
        tracing.provider().shutdown()
        for made in (tracing.provider, telling._collector):
            made.cache_clear()


def received(collector: Receiver) -> dict[str, Span]:
    """Every span by its name."""
    tracing.flush()
    spans = []
    for call in collector.calls:
        assert (call.path, call.headers["authorization"]) == ("/otlp/v1/traces", KEY)
        told = ExportTraceServiceRequest.FromString(call.body)
        for of_service in told.resource_spans:
            about = attributes(of_service.resource)
            assert about["service.name"] == "faber"
            spans += [span for scope in of_service.scope_spans for span in scope.spans]
    assert len({span.name for span in spans}) == len(spans)
    return {span.name: span for span in spans}


def attributes(told: Any) -> dict[str, Any]:
    kinds = ("string_value", "int_value", "double_value")
    return {
        each.key: next(getattr(each.value, kind) for kind in kinds if each.value.HasField(kind))
        for each in told.attributes
    }


def test_a_run_is_a_trace_of_steps_and_agents(
    collector: Receiver,
    agents: FakeAgents,
    tmp_path: Path,
    django_capture_on_commit_callbacks: Any,
) -> None:
    agents.will_say({"status": "success", "message": f"The token is {SECRET}."})
    build: list[dict[str, Any]] = [
        {"id": "write", "prompt": f"Use {SECRET}."},
        {"id": "check", "run": ["sh", "-c", 'echo "$TRACEPARENT" > parent; exit 3']},
    ]
    with django_capture_on_commit_callbacks(execute=True):
        run = f.started(f.workflow({"build": build}), tmp_path)
        f.answered(run, "abort")

    spans = received(collector)

    whole, write, check = (
        spans[name] for name in ("run small", "step build:write", "step build:check")
    )
    agent = spans["agent claude"]
    assert len({span.trace_id for span in spans.values()}) == 1
    assert whole.parent_span_id == b""
    assert write.parent_span_id == check.parent_span_id == whole.span_id
    assert agent.parent_span_id == write.span_id
    assert attributes(whole)["faber.status"] == "cancelled"
    assert (write.status.code, check.status.code) == (
        Status.STATUS_CODE_UNSET,
        Status.STATUS_CODE_ERROR,
    )
    assert attributes(check)["faber.outcome"] == "failure"
    assert attributes(agent) == {
        "faber.run_id": run.run_id,
        "faber.project": "Acme/App",
        "faber.workflow": "small",
        "faber.phase": "build",
        "faber.step": "write",
        "faber.attempt": 1,
        "faber.agent.cost_usd": 0.0421,
        "faber.agent.turns": 3,
        "process.exit.code": 0,
        "gen_ai.usage.input_tokens": 3210,
        "gen_ai.usage.output_tokens": 45,
    }
    for inner, outer in ((agent, write), (write, whole), (check, whole)):
        assert outer.start_time_unix_nano <= inner.start_time_unix_nano
        assert inner.start_time_unix_nano <= inner.end_time_unix_nano <= outer.end_time_unix_nano
    # What an agent or a command starts can go on from there.
    (call,) = agents.calls
    assert call["traceparent"] == f"00-{agent.trace_id.hex()}-{agent.span_id.hex()}-01"
    parent = (tmp_path / "parent").read_text().strip()
    assert parent == f"00-{check.trace_id.hex()}-{check.span_id.hex()}-01"
    assert not any(SECRET.encode() in call.body for call in collector.calls)


def test_a_collector_that_is_down_holds_up_no_step(collector: Receiver, tmp_path: Path) -> None:
    collector.faults = [503] * 10

    run = f.started(f.workflow({"build": [f.step("one")]}), tmp_path)

    assert run.attempts.get().result == "success"
    collector.faults.clear()


def test_without_an_endpoint_nothing_is_traced_nor_loaded(tmp_path: Path) -> None:
    run = f.start(f.workflow({"build": [f.step("one")]}), tmp_path)
    assert telling.environment(run, run.attempts.get(), for_agent=True) == {}

    asks = (
        "import django, sys; django.setup(); import faber_site.urls, runs.worker.advance; "
        "print([name for name in ('opentelemetry.sdk', 'sentry_sdk') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", asks],
        env={**environment(tmp_path), "DJANGO_SETTINGS_MODULE": "faber_site.settings"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
