"""Which address counts as the client's."""

from ipaddress import ip_network

import pytest
from django.test import RequestFactory
from pytest_django.fixtures import Settings

from runs.accounts import client_address


def request(peer: str, forwarded: str | None = None) -> str:
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return client_address.of(RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers))


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("10.0.0.1", "198.51.100.7:4711", "198.51.100.7"),
        ("10.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"),
        ("::ffff:10.0.0.1", "::ffff:198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "10.0.0.3", "10.0.0.3"),
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7, nonsense", "10.0.0.1"),
        ("198.51.100.9", "1.1.1.1", "198.51.100.9"),
        ("127.0.0.1", "1.1.1.1", "127.0.0.1"),
        ("", "1.1.1.1", ""),
    ],
)
def test_the_last_address_that_is_no_trusted_proxy_counts(
    settings: Settings, peer: str, forwarded: str | None, address: str
) -> None:
    settings.FABER_TRUSTED_PROXIES = (ip_network("10.0.0.0/8"),)

    assert request(peer, forwarded) == address


def test_without_trusted_proxies_nobody_is_believed() -> None:
    assert request("127.0.0.1", "1.1.1.1") == "127.0.0.1"
