"""Signing in by password and by link, and out again."""

from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs import accounts
from runs.domain.actors import Role

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita() -> User:
    return accounts.create("rita", role=Role.REVIEWER, password="a-long-pass-phrase")


def link(user: User) -> str:
    return "/login/link/" + accounts.login_link(user)[0].partition("/login/link/")[2]


def is_signed_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def test_a_password_signs_in_and_leads_back(client: Client, rita: User) -> None:
    response = client.post(
        "/login/?next=/runs/",
        {"username": "rita", "password": "a-long-pass-phrase", "next": "/runs/"},
    )

    assert (response.status_code, response["Location"]) == (302, "/runs/")
    assert is_signed_in(client)


def test_a_wrong_password_keeps_the_name_and_never_the_password(client: Client, rita: User) -> None:
    response = client.post("/login/", {"username": "rita", "password": "guess-again"})

    shown = response.content.decode()
    assert 'value="rita"' in shown
    assert "guess-again" not in shown
    assert not is_signed_in(client)


def test_signing_out_is_a_post(client: Client, rita: User) -> None:
    client.force_login(rita)

    assert client.get("/logout/").status_code == 405
    assert is_signed_in(client)
    assert client.post("/logout/").status_code == 302
    assert not is_signed_in(client)


def test_opening_a_link_only_shows_whom_it_is_for(client: Client, rita: User) -> None:
    address = link(rita)

    for look in (client.get, client.head, client.get):
        assert look(address).status_code == 200

    shown = client.get(address).content.decode()
    assert "Sign in as rita" in shown
    assert ">Sign in</button>" in shown
    assert not is_signed_in(client)


def test_pressing_the_button_signs_in_once(client: Client, rita: User) -> None:
    address = link(rita)

    first = client.post(address)
    second = Client().post(address)

    assert (first.status_code, first["Location"]) == (303, "/")
    assert is_signed_in(client)
    assert second.status_code == 410
    assert "was used already" in second.content.decode()


def test_a_link_may_lead_to_a_page_of_this_site_and_to_no_other(client: Client, rita: User) -> None:
    assert client.post(f"{link(rita)}?next=/runs/")["Location"] == "/runs/"
    rita.refresh_from_db()
    assert client.post(f"{link(rita)}?next=https://evil.example/")["Location"] == "/"


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_bad_link_is_gone_with_a_sentence(client: Client, method: str) -> None:
    response = getattr(client, method)("/login/link/nonsense/")

    assert response.status_code == 410
    assert "This sign-in link is not valid any more." in unescape(response.content.decode())


def test_a_link_of_a_closed_account_is_gone(client: Client, rita: User) -> None:
    address = link(rita)
    User.objects.filter(pk=rita.pk).update(is_active=False)

    assert client.get(address).status_code == 410
    assert client.post(address).status_code == 410


def test_links_are_not_kept_by_anything_between(client: Client, rita: User) -> None:
    assert "no-store" in client.get(link(rita))["Cache-Control"]
