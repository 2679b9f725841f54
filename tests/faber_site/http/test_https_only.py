"""A site with an https address answers plain requests with a sentence, never with a loop."""

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from pytest_django.fixtures import Settings

from faber_site.http.https_only import https_only


@pytest.fixture
def site(settings: Settings) -> None:
    settings.FABER_BASE_URL = "https://faber.example.org"
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


def answered(**headers: str) -> HttpResponse:
    def page(_request: HttpRequest) -> HttpResponse:
        return HttpResponse("the page")

    return https_only(page)(RequestFactory().get("/login/", headers=headers))


@pytest.mark.usefixtures("site")
def test_a_request_without_the_proxys_word_gets_a_sentence() -> None:
    for headers in ({}, {"x-forwarded-proto": "http"}):
        told = answered(**headers)

        assert told.status_code == 400
        assert "X-Forwarded-Proto: https" in told.content.decode()
        assert "https://faber.example.org/" in told.content.decode()


@pytest.mark.usefixtures("site")
def test_a_request_over_https_gets_its_page() -> None:
    assert answered(**{"x-forwarded-proto": "https"}).content == b"the page"
