"""Schemas are there for everybody."""

import pytest
from django.test import Client

from runs.domain.responses import published

pytestmark = pytest.mark.django_db


def test_the_schema_of_a_response_is_read_without_an_account(client: Client) -> None:
    answer = client.get("/schemas/skill-response.json")

    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer.json() == published.SCHEMA
    assert client.post("/schemas/skill-response.json").status_code == 405
