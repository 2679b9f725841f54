import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from runs.accounts import tokens
from runs.domain.values.actors import Role, Scope
from runs.models import AccessToken
from tests.api_client import Program, account

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(client: Client) -> User:
    rita = account("rita", Role.REVIEWER)
    client.force_login(rita)
    return rita


def test_the_page_is_for_those_who_are_signed_in(client: Client) -> None:
    assert client.get("/account/tokens/").status_code == 302


def test_a_token_is_made_and_shown_once(client: Client, rita: User) -> None:
    made = client.post("/account/tokens/", {"name": "laptop", "scope": "agent", "days": "30"})
    secret = re.search(r"faber_[\w-]+", made.content.decode())

    assert (made.status_code, made["Cache-Control"]) == (201, "no-store")
    assert secret is not None
    assert Program(secret[0]).get("/runs").status_code == 200
    token = AccessToken.objects.get()
    assert (token.user, token.scope) == (rita, "agent")
    assert token.expires_at is not None
    later = client.get("/account/tokens/").content.decode()
    assert "laptop" in later
    assert secret[0] not in later


@pytest.mark.parametrize(
    ("role", "offered"),
    [
        (Role.VIEWER, ["agent"]),
        (Role.REVIEWER, ["agent", "reviewer"]),
        (Role.OPERATOR, ["agent", "reviewer", "operator"]),
        (Role.ADMIN, ["agent", "reviewer", "operator"]),
    ],
)
def test_nobody_is_offered_more_than_they_may(
    client: Client, role: Role, offered: list[str]
) -> None:
    client.force_login(account("pat", role))

    page = client.get("/account/tokens/").content.decode()
    forged = client.post("/account/tokens/", {"name": "x", "scope": "operator"})

    assert re.findall(r'type="radio" name="scope" value="(\w+)"', page) == offered
    assert forged.status_code == (201 if "operator" in offered else 422)


def test_a_name_that_is_taken_is_told_at_its_field(client: Client, rita: User) -> None:
    tokens.create("laptop", scope=Scope.AGENT)

    response = client.post("/account/tokens/", {"name": "laptop", "scope": "agent"})

    assert response.status_code == 409
    assert "already a token laptop" in response.content.decode()


def test_the_page_tells_in_words_what_a_token_may_and_how_long(client: Client, rita: User) -> None:
    now = timezone.now()
    ends = now + timedelta(days=30, hours=1)
    tokens.create("laptop", scope=Scope.AGENT, user=rita, expires_at=ends)
    AccessToken.objects.update(last_used_at=now - timedelta(hours=3))
    tokens.create("ci", scope=Scope.REVIEWER, user=rita)
    tokens.create("old", scope=Scope.AGENT, user=rita, expires_at=now - timedelta(days=2))

    page = client.get("/account/tokens/").content.decode()
    working, _, ended = page.partition('<details class="ended"')
    shown = " ".join(re.sub(r"<[^>]+>", " ", working).split())

    assert "laptop Agent Can ask, wait, read and execute remote steps; can&#x27;t answer." in shown
    assert f"Last used 3 h ago Expires {ends:%-d %b %Y} , in 30 days" in shown
    assert "ci Reviewer Same as agent, and can answer and start runs as you." in shown
    assert "Never used No expiry" in shown
    assert "old" not in re.findall(r"<strong>(.*?)</strong>", working)
    assert "1 expired or revoked" in ended
    assert "Expired" in ended
    assert "Revoke old" not in ended


def test_a_token_is_revoked_at_once(client: Client, rita: User) -> None:
    token, secret = tokens.create("laptop", scope=Scope.AGENT, user=rita)

    response = client.post(f"/account/tokens/{token.pk}/revoke/")

    assert response.status_code == 303
    assert Program(secret).get("/runs").status_code == 401
    assert "Revoked" in client.get("/account/tokens/").content.decode()


def test_nobody_sees_or_revokes_somebody_elses(client: Client, rita: User) -> None:
    token, secret = tokens.create("ottos", scope=Scope.AGENT, user=account("otto", Role.ADMIN))

    assert "ottos" not in client.get("/account/tokens/").content.decode()
    assert client.post(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    assert tokens.find(secret) == token


def test_looking_revokes_nothing(client: Client, rita: User) -> None:
    token, _ = tokens.create("laptop", scope=Scope.AGENT, user=rita)

    assert client.get(f"/account/tokens/{token.pk}/revoke/").status_code == 405
