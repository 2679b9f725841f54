"""Each HTTP request has an id and a line; probes are answered whatever host they name."""

import logging
import sys

import pytest
from django.test import Client

from faber_site.monitoring.logs import SecretFree
from runs.domain.values.actors import Role
from tests import factories as f
from tests.api_client import account

pytestmark = pytest.mark.django_db


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        each.getMessage() for each in caplog.records if each.name == "faber_site.http.access_log"
    ]


def test_a_request_leaves_one_line_without_its_query(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="faber_site")

    client.get("/login/?next=/secret-place/")

    (line,) = lines(caplog)
    assert line.startswith("GET /login/ 200 ")
    assert line.endswith(" ms")
    assert "secret-place" not in line


def test_probes_and_looks_without_news_are_quiet(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="faber_site")

    client.get("/healthz")

    assert lines(caplog) == []


def test_an_id_is_given_back_or_made(client: Client) -> None:
    mine = client.get("/login/", headers={"x-request-id": "edge-17.a"})
    made = client.get("/login/")
    odd = client.get("/login/", headers={"x-request-id": "no\tgood <id>"})

    assert mine["X-Request-ID"] == "edge-17.a"
    assert len(made["X-Request-ID"]) == len(odd["X-Request-ID"]) == 32


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_may_name_any_host(client: Client, path: str) -> None:
    assert client.get(path, headers={"host": "10.0.0.7:8000"}).status_code in (200, 503)
    assert client.get("/login/", headers={"host": "10.0.0.7:8000"}).status_code == 400


def test_a_line_names_its_request_and_the_run_it_is_about(
    client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    run = f.started(f.five_steps())
    client.force_login(account("olga", Role.OPERATOR))
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(SecretFree("%(message)s"))
    logger = logging.getLogger("faber_site.http.access_log")
    logger.addHandler(stderr)
    try:
        shown = client.get(f"/runs/{run.run_id}/")
        client.get("/login/", headers={"x-request-id": "next"})
    finally:
        logger.removeHandler(stderr)

    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("GET")]
    assert said[0].startswith(f"GET /runs/{run.run_id}/ 200")
    assert said[0].endswith(f" ms (run {run.run_id}, request {shown['X-Request-ID']})")
    assert said[1].endswith(" ms (request next)")
