"""Every command at a terminal, and inside a step: there nothing decides and nobody is made."""

import pytest
from django.core.management import get_commands

from runs.isolation import inside
from tests.commands import faber

OURS = ("faber_site", "runs", "feedback")

# What each does to others; a new one without a row fails.
DECIDES = {
    "answer": ["fr-20261116-000000", "approve"],
    "ask": ["fr-20261116-000000", "Why?"],
    "backup": ["/nowhere/at/all"],
    "prune": ["--older-than", "90d"],
    "restore": ["/nowhere"],
    "batch": ["answer", "coord-20261116-000000"],
    "cancel": ["latest", "--reason", "x"],
    "delegate": ["fr-20261116-000000", "rita"],
    "hook": ["remove", "--dir", "/nowhere"],
    "init": ["--workflow", "demo"],
    "import": ["/nowhere"],
    "login_link": ["admin"],
    "notify": ["test"],
    "override": ["fr-20261116-000000", "approve", "--reason", "x"],
    "project": ["acme/app", "--set", "visibility=everyone"],
    "resume": ["latest"],
    "rule": ["start"],
    "token": ["create", "mine", "--scope", "operator"],
    "webhook": ["add", "https://192.0.2.1/"],
    "user": ["create", "mine", "--role", "admin"],
}
WORKS = {"run", "rerun", "emit", "poll", "sync"}  # starts, or goes on with, what people have begun
LOOKS = {
    *(
        "audit",
        "context",
        "diff",
        "doctor",
        "events",
        "export",
        "parse_comment",
        "pending",
        "render",
    ),
    *("show", "state", "status", "validate", "validate_response", "verify"),
}
SERVES = {"up", "web", "work", "mcp"}


def ours() -> set[str]:
    return {name for name, app in get_commands().items() if app in OURS}


def test_every_command_has_a_rule() -> None:
    assert ours() == {*DECIDES, *WORKS, *LOOKS, *SERVES}


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(DECIDES))
def test_a_step_cannot_decide(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABER_RUN_ID", "acme/app/0b8f3a52-5f0c-4a3e-9a44-2f1c8f0b6f11")

    assert inside.refusal([name, *DECIDES[name]])


@pytest.mark.parametrize("name", sorted({*WORKS, *LOOKS, *SERVES}))
def test_a_step_may_look(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABER_RUN_ID", "acme/app/0b8f3a52-5f0c-4a3e-9a44-2f1c8f0b6f11")

    assert not inside.refusal([name])


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(DECIDES))
def test_outside_a_step_the_terminal_is_an_operators(name: str) -> None:
    assert faber(name, *DECIDES[name]).code != 7 or name == "cancel"
