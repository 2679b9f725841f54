"""A host that is not the site's is refused with a sentence; the log names it."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_another_host_gets_a_sentence_and_a_line_in_the_log(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    told = client.get("/login/", headers={"host": "other.example.org"})

    assert told.status_code == 400
    assert "add the host to FABER_ALLOWED_HOSTS" in told.content.decode()
    assert "other.example.org" not in told.content.decode()
    [line] = [record for record in caplog.records if record.name.startswith("faber_site.http.kn")]
    assert "'other.example.org'" in line.getMessage()
    assert line.exc_info is None


def test_the_sites_own_host_gets_its_page(client: Client) -> None:
    assert client.get("/login/", headers={"host": "localhost"}).status_code == 200


@pytest.mark.parametrize("probe", ["/healthz", "/readyz"])
def test_probes_are_answered_for_any_host(client: Client, probe: str) -> None:
    assert client.get(probe, headers={"host": "10.0.0.7"}).status_code != 400
