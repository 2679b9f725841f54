"""What the doctor makes of answers that come through a proxy; nginx is tried with the site."""

import json

import pytest
from django.core import signing
from django.test import Client
from pytest_django.fixtures import Settings

from feedback.doctor import proxy
from feedback.doctor.proxy import Answer

SEEN = {"peer": "10.0.0.5", "host": "faber.example.org", "is_trusted": True, "forwarded_for": "x"}


@pytest.fixture(autouse=True)
def _has_a_public_address(settings: Settings) -> None:
    settings.FABER_BASE_URL = "https://faber.example.org"
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}


@pytest.mark.parametrize(
    ("answer", "problem", "repair"),
    [
        (
            Answer(status=200, body=json.dumps({**SEEN, "is_trusted": False})),
            "The proxy at 10.0.0.5 is not trusted",
            "Set FABER_TRUSTED_PROXIES=10.0.0.5.",
        ),
        (
            Answer(status=400, body="Bad Request (400)"),
            "The proxy does not pass on the host",
            "Let the proxy set Host as the browser sent it, or add it to FABER_ALLOWED_HOSTS.",
        ),
        (
            Answer(status=404, body="nothing here"),
            "https://faber.example.org does not lead to this site",
            "Let the proxy lead to port 8000 of this site, or correct FABER_BASE_URL.",
        ),
    ],
)
def test_each_mistake_has_a_finding(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, problem: str, repair: str
) -> None:
    monkeypatch.setattr(proxy, "_asked", lambda: answer)

    (found,) = proxy.findings()

    assert (found.what, found.repair) == (problem, repair)
    assert proxy.told() == ""


def test_an_address_out_of_reach_is_told_and_is_no_problem(settings: Settings) -> None:
    settings.FABER_BASE_URL = "https://127.0.0.1:1"

    assert list(proxy.findings()) == []
    assert proxy.told().startswith(
        "https://127.0.0.1:1 can't be reached from this machine, so the proxy was not checked: "
    )


def test_without_a_proxy_nobody_is_asked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FABER_BASE_URL = "http://127.0.0.1:8000"
    settings.FABER_TRUSTED_PROXIES = ()
    monkeypatch.delattr(proxy, "_asked")

    assert (list(proxy.findings()), proxy.told()) == ([], "")


@pytest.mark.django_db
def test_only_the_doctor_is_told_what_a_request_looks_like(client: Client) -> None:
    token = signing.dumps("x", salt="faber.proxy-check")

    told = client.get(f"/doctor/proxy/{token}/", headers={"x-forwarded-for": "203.0.113.9"})
    assert told.json() == {
        "peer": "127.0.0.1",
        "host": "testserver",
        "is_trusted": False,
        "forwarded_for": "203.0.113.9",
    }
    assert client.get(f"/doctor/proxy/{token}x/").status_code == 404
