"""Signing in by password and by link, and out again."""

from html import unescape
from ipaddress import ip_network

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from pytest_django.fixtures import Settings

from runs.accounts import users
from runs.domain.values.actors import Role
from runs.pages.sign_in import views

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita() -> User:
    return users.create("rita", role=Role.REVIEWER, password="a-long-pass-phrase")


def link(user: User) -> str:
    return "/login/link/" + users.login_link(user)[0].partition("/login/link/")[2]


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


# Guessing


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still until a test moves it, and nobody has tried anything yet."""
    now = [100.0]
    monkeypatch.setattr("runs.accounts.rate_limit.time.monotonic", lambda: now[0])
    monkeypatch.setattr(views.TRIES, "_left", {})
    monkeypatch.setattr(views.TRIES_OF_PLACE, "_taken", {})
    return now


def tried(
    client: Client, password: str, name: str = "rita", door: str = "/login/", **more: str
) -> HttpResponse:
    return client.post(door, {"username": name, "password": password}, **more)  # type: ignore[arg-type, return-value]


GOOD = "a-long-pass-phrase"


def test_who_guesses_has_to_wait_and_is_told_how_long(
    client: Client, rita: User, now: list[float]
) -> None:
    guesses = [tried(client, f"guess-{number}").status_code for number in range(5)]
    refused = tried(client, GOOD)

    assert guesses == [200] * 5
    assert (refused.status_code, refused["Retry-After"]) == (429, "60")
    shown = unescape(refused.content.decode())
    assert "Too many wrong passwords for this account. Wait 60 seconds" in shown
    assert 'value="rita"' in shown
    assert GOOD not in shown
    assert not is_signed_in(client)

    now[0] += 59.5
    assert "Wait 1 second," in tried(client, GOOD).content.decode()
    now[0] += 0.5
    assert tried(client, GOOD).status_code == 302


def test_another_spelling_of_the_name_is_the_same_account(
    client: Client, rita: User, now: list[float]
) -> None:
    for number in range(5):
        tried(client, f"guess-{number}", name=("RITA", "Rita", "rita")[number % 3])

    assert tried(client, GOOD).status_code == 429


def test_guessing_keeps_nobody_else_out(client: Client, rita: User, now: list[float]) -> None:
    users.create("otto", role=Role.REVIEWER, password=GOOD)
    for number in range(6):
        tried(client, f"guess-{number}", REMOTE_ADDR="203.0.113.7")

    assert tried(Client(), GOOD, name="otto", REMOTE_ADDR="203.0.113.7").status_code == 302
    assert tried(Client(), GOOD, REMOTE_ADDR="203.0.113.8").status_code == 302
    rita.refresh_from_db()
    by_link = Client().post(link(rita), REMOTE_ADDR="203.0.113.7")
    assert by_link.status_code == 303, "a link needs no password"


def test_signing_in_forgets_the_wrong_tries(client: Client, rita: User, now: list[float]) -> None:
    for _ in range(3):
        for number in range(4):
            tried(client, f"guess-{number}")
        assert tried(client, GOOD).status_code == 302
        client.post("/logout/")


def test_the_door_of_the_admin_is_as_patient(client: Client, rita: User, now: list[float]) -> None:
    User.objects.update(is_staff=True)
    for number in range(5):
        tried(client, f"guess-{number}", door="/admin/login/")

    refused = tried(client, GOOD, door="/admin/login/")

    assert "Too many wrong passwords" in refused.content.decode()
    assert tried(client, GOOD).status_code == 429, "both doors count together"
    now[0] += 60
    assert tried(client, GOOD, door="/admin/login/").status_code == 302


PROXY = "192.0.2.10"


def through_proxies(told: str) -> dict[str, str]:
    return {"REMOTE_ADDR": PROXY, "HTTP_X_FORWARDED_FOR": told}


@pytest.mark.parametrize(("trusted", "code"), [(PROXY, 302), ("192.0.2.11", 429), ("", 429)])
def test_only_the_word_of_a_trusted_proxy_counts(
    client: Client, rita: User, now: list[float], settings: Settings, trusted: str, code: int
) -> None:
    settings.FABER_TRUSTED_PROXIES = (ip_network(trusted),) if trusted else ()
    for number in range(5):
        # What stands before the last one is what the visitor wrote there.
        tried(client, f"guess-{number}", **through_proxies(f"10.0.0.{number}, 203.0.113.7"))

    assert tried(client, GOOD, **through_proxies("203.0.113.8")).status_code == code
    again = tried(Client(), GOOD, **through_proxies("10.0.0.9, 203.0.113.7"))
    assert again.status_code == 429


@pytest.mark.parametrize("door", ["/login/", "/admin/login/"])
def test_twenty_wrong_passwords_from_one_address_and_it_waits_whatever_the_names(
    client: Client, rita: User, now: list[float], door: str
) -> None:
    User.objects.update(is_staff=True)
    here = {"REMOTE_ADDR": "203.0.113.7"}
    guesses = [tried(client, "guess", name=f"name-{n}", **here).status_code for n in range(20)]

    now[0] += 1
    refused = tried(client, GOOD, door=door, **here)

    assert guesses == [200] * 20
    assert refused.status_code == 429
    assert refused["Retry-After"] == "599"
    said = unescape(refused.content.decode())
    assert "Too many wrong passwords from your address. Wait 10 minutes" in said
    assert tried(Client(), GOOD, REMOTE_ADDR="203.0.113.8").status_code == 302
    now[0] += 600
    assert tried(client, GOOD, door=door, **here).status_code == 302


def test_a_visitor_with_many_ipv6_addresses_is_one_place(
    client: Client, rita: User, now: list[float]
) -> None:
    for number in range(20):
        own = f"2001:db8:1:2:{number:x}::1"
        assert tried(client, "guess", name=f"name-{number}", REMOTE_ADDR=own).status_code == 200

    assert tried(client, GOOD, REMOTE_ADDR="2001:db8:1:2:ffff::1").status_code == 429
    assert tried(client, GOOD, REMOTE_ADDR="2001:db8:1:3::1").status_code == 302


def test_right_passwords_and_refused_tries_do_not_count_for_the_address(
    client: Client, rita: User, now: list[float]
) -> None:
    for _ in range(25):
        assert tried(client, GOOD).status_code == 302
        client.post("/logout/")
    for number in range(25):
        tried(client, f"guess-{number}")

    otto = users.create("otto", role=Role.REVIEWER, password=GOOD)
    assert tried(client, GOOD, name=otto.username).status_code == 302


def test_an_unfinished_form_is_no_try(client: Client, rita: User, now: list[float]) -> None:
    for _ in range(6):
        tried(client, "")

    assert tried(client, GOOD).status_code == 302


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
    assert "was already used" in second.content.decode()


def test_a_link_may_lead_to_a_page_of_this_site_and_to_no_other(client: Client, rita: User) -> None:
    assert client.post(f"{link(rita)}?next=/runs/")["Location"] == "/runs/"
    rita.refresh_from_db()
    assert client.post(f"{link(rita)}?next=https://evil.example/")["Location"] == "/"


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_bad_link_is_gone_with_a_sentence(client: Client, method: str) -> None:
    response = getattr(client, method)("/login/link/nonsense/")

    assert response.status_code == 410
    assert "This sign-in link has expired." in unescape(response.content.decode())


def test_a_link_of_a_closed_account_is_gone(client: Client, rita: User) -> None:
    address = link(rita)
    User.objects.filter(pk=rita.pk).update(is_active=False)

    assert client.get(address).status_code == 410
    assert client.post(address).status_code == 410


def test_links_are_not_kept_by_anything_between(client: Client, rita: User) -> None:
    assert "no-store" in client.get(link(rita))["Cache-Control"]
