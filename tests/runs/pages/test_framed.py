"""The empty drawing board that diagrams are drawn on."""

import hashlib
from pathlib import Path

import pytest
from django.test import Client

from runs.accounts import users
from runs.domain.values.actors import Role

pytestmark = pytest.mark.django_db

MERMAID = Path(__file__).parents[3] / "static" / "vendor" / "mermaid"


@pytest.fixture
def client(client: Client) -> Client:
    client.force_login(users.create("rita", role=Role.REVIEWER))
    return client


def test_the_drawing_board_has_a_policy_of_its_own(client: Client) -> None:
    response = client.get("/diagram/")

    policy = dict(
        part.split(" ", maxsplit=1)
        for part in response["Content-Security-Policy"].split("; ")
        if " " in part
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["sandbox"] == "allow-scripts"
    assert policy["frame-ancestors"] == "'self'"
    assert response["X-Frame-Options"] == "SAMEORIGIN"


def test_pages_take_frames_from_the_site_alone(client: Client) -> None:
    response = client.get("/")

    assert "frame-src 'self';" in f"{response['Content-Security-Policy']};"
    assert response["X-Frame-Options"] == "DENY"


def test_mermaid_is_the_file_that_its_origin_names() -> None:
    content = (MERMAID / "mermaid.min.js").read_bytes()

    assert hashlib.sha256(content).hexdigest() in (MERMAID / "ORIGIN").read_text()
