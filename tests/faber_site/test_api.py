"""Every call with whatever OpenAPI allows and does not allow, by schemathesis."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.hypothesis.builder import (
    HypothesisTestConfig,
    HypothesisTestMode,
    create_test,
)
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from faber_site.wsgi import application
from feedback.api import long_poll
from runs.accounts import tokens
from runs.accounts.rate_limit import Buckets
from runs.api import auth
from runs.domain.values.actors import Scope
from runs.models import Run
from tests import factories as f

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]

schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)
_METHODS = ("get", "post", "put", "patch", "delete")
CALLS = [
    f"{method.upper()} {path}"
    for path, calls in schema.raw_schema["paths"].items()
    for method in calls
    if method in _METHODS
]
few = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(auth, "BUCKETS", Buckets(burst=10**6, per_second=10**6))
    monkeypatch.setattr(long_poll, "LONGEST", 0.0)
    # As Django's own test client does: the connection belongs to the test.
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def runs() -> list[Run]:
    """One that asks, one that waits for an executor outside, one that is done."""
    outside = f.workflow({"build": [{"id": "away", "remote": True}]})
    return [
        f.started(f.five_steps(), work_id="124"),
        f.start(outside),
        f.started(f.workflow({"build": [f.step("x")]})),
    ]


@pytest.fixture
def secrets() -> list[str]:
    return [tokens.create(scope.value, scope=scope)[1] for scope in (Scope.OPERATOR, Scope.AGENT)]


def with_real_ids(case: Any, runs: list[Run]) -> None:
    """Half of the made-up ids become real ones: else every answer would be 404."""
    choose = random.Random(str(case.path_parameters))  # noqa: S311
    for name in case.path_parameters or {}:
        if choose.random() < 0.5:
            run = choose.choice(runs)
            asked = run.requests.first()
            real = run.run_id if name == "run_id" else (asked.request_id if asked else "fr-1-abc")
            case.path_parameters[name] = real


def called(call: str, check: Callable[..., None], *modes: HypothesisTestMode) -> None:
    """Check what is made for one call; made here, because of all calls it would take long."""
    operation = schema.find_operation_by_label(call)
    assert operation
    made = HypothesisTestConfig(project=schema.config, modes=list(modes))
    create_test(operation=operation, test_func=check, config=made)()


@pytest.mark.parametrize("call", CALLS)
def test_every_answer_conforms(call: str, secrets: list[str], runs: list[Run]) -> None:
    @few
    def conforms(case: Any) -> None:
        with_real_ids(case, runs)
        secret = random.Random(str(case.body)).choice([secrets[0], *secrets])  # noqa: S311
        # A header that was left out on purpose is put back here: only a wrong body must be refused.
        is_refused = wrong_parts(case) == {ParameterLocation.BODY}
        must_refuse = [negative_data_rejection] if is_refused else []
        # Its own client asks for compressed answers and reads none.
        headers = {"Authorization": f"Bearer {secret}", "Accept-Encoding": "identity"}
        case.call_and_validate(headers=headers, checks=[*CHECKS, *must_refuse])

    called(call, conforms, *HypothesisTestMode)


def wrong_parts(case: Any) -> set[ParameterLocation]:
    return {part for part, info in case.meta.components.items() if info.mode.is_negative}


@pytest.mark.parametrize("call", CALLS)
def test_without_a_token_nothing_is_told(call: str, runs: list[Run]) -> None:
    @settings(few, max_examples=3)
    def is_refused(case: Any) -> None:
        with_real_ids(case, runs)
        for name in list(case.headers or {}):
            if name.lower() == "authorization":
                del case.headers[name]

        response = case.call()

        refusals = ("unauthorised", "not_found", "method_not_allowed")
        assert response.status_code in (401, 404, 405)
        assert response.json()["error"]["code"] in refusals
        assert "small" not in response.text

    # A body is never looked at then, so a few of them are enough.
    called(call, is_refused, HypothesisTestMode.EXAMPLES, HypothesisTestMode.FUZZING)
