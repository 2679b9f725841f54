"""What the environment may say about safety, and what is refused."""

import runpy
import socket
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from faber_site import settings as site_settings
from tests.commands import environment

ANYWHERE = "0.0.0.0"  # noqa: S104
LONG_KEY = "Zk3-v9Qm_17LwBxTtN0sYcE4uHdRf8ga"


def load(monkeypatch: pytest.MonkeyPatch, folder: Path, **variables: str) -> dict[str, Any]:
    for name in (
        "DEBUG",
        "HOST",
        "BASE_URL",
        "SECRET_KEY",
        "TRUSTED_PROXIES",
        "HSTS_SECONDS",
        "MACHINE_NAME",
    ):
        monkeypatch.delenv(f"FABER_{name}", raising=False)
    monkeypatch.setenv("FABER_DATA_DIR", environment(folder)["FABER_DATA_DIR"])
    for name, value in variables.items():
        monkeypatch.setenv(f"FABER_{name}", value)
    return runpy.run_path(site_settings.__file__)


@pytest.mark.parametrize("key", ["x", "too-short-for-a-key", "ab" * 40])
def test_a_key_that_can_be_guessed_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: str
) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        load(monkeypatch, tmp_path, SECRET_KEY=key)

    said = str(refused.value)
    assert said.startswith("FABER_SECRET_KEY=… is not accepted; use at least 32 random characters")
    assert len(key) == 1 or key not in said


def test_a_long_key_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert load(monkeypatch, tmp_path, SECRET_KEY=LONG_KEY)["SECRET_KEY"] == LONG_KEY


@pytest.mark.parametrize(
    "variables",
    [
        {"HOST": ANYWHERE},
        {"HOST": "::"},
        {"HOST": "faber.example.org"},
        {"BASE_URL": "https://faber.example.org"},
        {"HOST": ANYWHERE, "BASE_URL": "http://127.0.0.1:8000"},
    ],
)
def test_debugging_is_refused_where_others_can_reach_the_site(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, str]
) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^FABER_DEBUG is not accepted"):
        load(monkeypatch, tmp_path, DEBUG="1", **variables)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.0.0.2"])
def test_debugging_on_this_machine_alone_is_allowed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str
) -> None:
    base = f"http://[{host}]:8000" if ":" in host else f"http://{host}:8000"

    assert load(monkeypatch, tmp_path, DEBUG="1", HOST=host, BASE_URL=base)["DEBUG"] is True


def test_an_ipv6_host_stands_in_brackets_where_a_port_follows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loaded = load(monkeypatch, tmp_path, HOST="::1", PORT="8123")

    assert loaded["FABER_BASE_URL"] == "http://[::1]:8123"
    assert "[::1]" in loaded["ALLOWED_HOSTS"]


def test_trusted_proxies_are_addresses_or_networks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loaded = load(monkeypatch, tmp_path, TRUSTED_PROXIES="127.0.0.1, 10.1.0.0/16,2001:db8::/32")

    assert loaded["FABER_TRUSTED_PROXIES"] == (
        ip_network("127.0.0.1"),
        ip_network("10.1.0.0/16"),
        ip_network("2001:db8::/32"),
    )


@pytest.mark.parametrize("wrong", ["proxy.internal", "10.1.0.1/16", "300.1.1.1", "*"])
def test_a_trusted_proxy_of_another_kind_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str
) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        load(monkeypatch, tmp_path, TRUSTED_PROXIES=f"127.0.0.1,{wrong}")

    assert str(refused.value) == (
        f"FABER_TRUSTED_PROXIES={wrong!r} is not accepted; "
        "use addresses or networks such as 127.0.0.1,10.1.0.0/16."
    )


def test_browsers_are_bound_to_https_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    silent = load(monkeypatch, tmp_path, BASE_URL="https://faber.example.org")
    asked = load(monkeypatch, tmp_path, BASE_URL="https://faber.example.org", HSTS_SECONDS="86400")

    assert silent["SECURE_HSTS_SECONDS"] == 0
    assert asked["SECURE_HSTS_SECONDS"] == 86400
    for loaded in (silent, asked):
        assert not loaded.get("SECURE_HSTS_PRELOAD")
        assert not loaded.get("SECURE_HSTS_INCLUDE_SUBDOMAINS")


@pytest.mark.parametrize("name", ["a:b", "a b", "x" * 61, "ä"])
def test_a_machine_name_that_would_not_be_one_word_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match="at most 60 letters"):
        load(monkeypatch, tmp_path, MACHINE_NAME=name)


def test_a_machine_is_called_as_its_system_calls_it_unless_somebody_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "rita's laptop:2")

    assert load(monkeypatch, tmp_path)["FABER_MACHINE_NAME"] == "rita-s-laptop-2"
    named = load(monkeypatch, tmp_path, MACHINE_NAME="worker-2.example")
    assert named["FABER_MACHINE_NAME"] == "worker-2.example"


@pytest.mark.parametrize(
    ("host", "address"), [(ANYWHERE, "http://127.0.0.1:8123"), ("::", "http://[::1]:8123")]
)
def test_listening_everywhere_prints_an_address_that_can_be_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str, address: str
) -> None:
    loaded = load(monkeypatch, tmp_path, HOST=host, PORT="8123")

    assert (loaded["FABER_HOST"], loaded["FABER_BASE_URL"]) == (host, address)
