"""JSON that is allowed and that hardly anybody expects: every call refuses or takes it."""

import re

import pytest

from faber_site.api import api
from runs.domain.values.actors import Role, Scope
from tests import factories as f
from tests.api_client import account, program

pytestmark = pytest.mark.django_db

ODD = {
    "deep list": "[" * 100_000 + "]" * 100_000,
    "deep object": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "deeper than we keep": "[" * 101 + "]" * 101,
    "long number": "9" * 5000,
    "large number": "9" * 400,
    "infinite": "1e999",
    "no number": "NaN",
    "half a character": '"\\ud800"',
    "NUL": '"\\u0000"',
    "half a name": '{"\\udfff": 1}',
}
FIELDS = ("type", "prompt", "context", "workflow", "response", "comment", "result", "lease", "runs")


def calls() -> list[str]:
    paths = api.get_openapi_schema()["paths"]
    return [path.removeprefix("/api/v1") for path, known in paths.items() if "post" in known]


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_no_odd_value_breaks_a_call(odd: str) -> None:
    run = f.started(f.five_steps())
    names = {"run_id": run.run_id, "request_id": f.pending(run).request_id}
    operator = program(Scope.OPERATOR, account("opal", Role.OPERATOR))
    everywhere = ",".join(f'"{name}": {odd}' for name in FIELDS)
    asking = f'{{"type": "approval", "prompt": "Go on?", "context": {{"odd": {odd}}}}}'

    for path in calls():
        address = re.sub(r"\{(\w+)\}", lambda found: names.get(found[1], "none"), path)
        for body in (odd, f"{{{everywhere}}}", asking):
            answer = operator.post(address, body, {"Idempotency-Key": f"{path} {len(body)}"})
            assert answer.status_code < 500, (path, body[:80])
