"""Single sign-on through a real site and a provider that speaks OpenID Connect."""

import html
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from bench.ground.scratch_site import Site, scratch_site
from tests import oidc_provider
from tests.faber_site.sign_in.test_github import answer_of, press, signed_in_as
from tests.oidc_provider import CLIENT, SECRET, Provider

# Starts real processes, once for all of them.
pytestmark = [
    pytest.mark.chaos,
    pytest.mark.xdist_group("single sign-on"),
    pytest.mark.timeout(120),
]


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Provider, Site]]:
    with (
        oidc_provider.running() as provider,
        scratch_site(
            FABER_OIDC_ISSUER=provider.issuer,
            FABER_OIDC_CLIENT_ID=CLIENT,
            FABER_OIDC_CLIENT_SECRET=SECRET,
            FABER_OIDC_NAME="Acme ID",
            FABER_OIDC_ROLES="leads=operator,devs=reviewer",
            FABER_LOCAL_SIGN_IN="off",
            NO_PROXY="127.0.0.1",
        ) as site,
    ):
        yield provider, site


@pytest.fixture
def provider(running: tuple[Provider, Site]) -> Provider:
    return running[0]


@pytest.fixture
def site(running: tuple[Provider, Site]) -> Site:
    return running[1]


def come_in(site: Site, browser: requests.Session | None = None) -> requests.Response:
    """Press the button, and follow where the page leads."""
    browser = browser or requests.Session()
    left = press(browser, f"{site.url}/login/", f"{site.url}/accounts/oidc/login/")
    if left.status_code != 200:
        return left
    return browser.get(way_out(left), timeout=20)


def way_out(page: requests.Response) -> str:
    found = re.search(r'<a href="([^"]+)">Continue to Acme ID', page.text)
    assert found, page.text
    address = html.unescape(found.group(1))
    assert page.headers["Refresh"] == f"0; url={address}"
    return address


def role_of(site: Site, name: str) -> str:
    asks = (
        "from runs.accounts import users; "
        f"role = users.role_of(users.find({name!r})); print(role.value if role else '-')"
    )
    return answer_of(site, "shell", "-v", "0", "-c", asks)


def last_in_audit(site: Site, kind: str) -> dict[str, Any]:
    lines = json.loads(answer_of(site, "audit", "--kind", kind, "--json"))["items"]
    last: dict[str, Any] = lines[-1]
    return last


def test_the_first_sign_in_makes_an_account_with_the_highest_role_of_its_groups(
    provider: Provider, site: Site
) -> None:
    provider.be("1", "lena", "devs", "leads", "others")
    browser = requests.Session()

    come_in(site, browser)

    assert signed_in_as(browser, site) == "lena"
    assert role_of(site, "lena") == "operator"
    told = last_in_audit(site, "sign_in")
    assert (told["who"], told["what"]) == ("lena", "signed in with single sign-on")


def test_a_role_that_groups_gave_goes_with_them_at_the_next_sign_in(
    provider: Provider, site: Site
) -> None:
    provider.be("2", "dana", "leads")
    before = requests.Session()
    come_in(site, before)
    assert role_of(site, "dana") == "operator"

    provider.be("2", "dana", "devs")
    elsewhere = requests.Session()
    come_in(site, elsewhere)
    assert role_of(site, "dana") == "reviewer"

    provider.be("2", "dana", "others")
    turned_away = come_in(site, elsewhere)

    assert turned_away.status_code == 403
    assert "None of your groups has a role here" in turned_away.text
    assert role_of(site, "dana") == "-"
    for browser in (before, elsewhere):
        assert signed_in_as(browser, site) == "", "she is signed out everywhere"
    told = last_in_audit(site, "rule")
    assert told["what"].startswith("removed the role of the account dana")


def test_groups_may_come_from_userinfo(provider: Provider, site: Site) -> None:
    provider.be("3", "uma")
    del provider.person["groups"]
    provider.told_beside = {"groups": "devs"}

    come_in(site)

    assert role_of(site, "uma") == "reviewer"


def test_who_is_in_no_group_with_a_role_gets_no_account(provider: Provider, site: Site) -> None:
    provider.be("4", "nobody", "others")

    turned_away = come_in(site)

    assert turned_away.status_code == 403
    assert "nobody has no access" in turned_away.text
    told = last_in_audit(site, "sign_in")
    assert (told["who"], told["what"]) == ("nobody", "was refused")
    names = answer_of(
        site, "shell", "-v", "0", "-c", "print(*User.objects.values_list('username', flat=True))"
    )
    assert "nobody" not in names.split()


@pytest.mark.parametrize("name", ["admin", "ADMIN"])
def test_the_name_of_a_local_account_gives_nothing(
    provider: Provider, site: Site, name: str
) -> None:
    provider.be("5", name, "leads", email="admin@example.org", email_verified=True)
    browser = requests.Session()

    turned_away = come_in(site, browser)

    assert turned_away.status_code == 403
    assert f"{name} is another account" in turned_away.text
    assert signed_in_as(browser, site) == ""


def test_whoever_has_the_account_links_it_and_keeps_the_role_given_here(
    provider: Provider, site: Site
) -> None:
    answer_of(site, "user", "create", "vera", "--role", "admin", "--email", "vera@example.org")
    provider.be("6", "vera", "devs")
    assert come_in(site).status_code == 403, "neither name nor e-mail open it"

    owner = requests.Session()
    link = site.login_link("vera")
    press(owner, link, link)
    door = f"{site.url}/accounts/oidc/login/?process=connect"
    owner.get(way_out(press(owner, f"{site.url}/", door)), timeout=20)

    elsewhere = requests.Session()
    come_in(site, elsewhere)
    assert signed_in_as(elsewhere, site) == "vera"
    assert role_of(site, "vera") == "admin"


def test_a_deactivated_account_is_refused_with_a_sentence(provider: Provider, site: Site) -> None:
    provider.be("7", "former", "devs")
    come_in(site)
    off = "User.objects.filter(username='former').update(is_active=False)"
    answer_of(site, "shell", "-v", "0", "-c", off)

    turned_away = come_in(site)

    assert turned_away.status_code == 403
    assert "This account is deactivated" in turned_away.text


@pytest.mark.parametrize(
    "faults",
    [
        {"aud": "another-site"},
        {"iss": "http://127.0.0.1:1/realm"},
        {"exp": int(time.time()) - 3600, "iat": int(time.time()) - 7200},
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"aud": [CLIENT, "another"], "azp": "another"},
    ],
    ids=["audience", "issuer", "expired", "nonce", "no nonce", "azp"],
)
def test_a_token_that_is_not_for_this_sign_in_is_refused(
    provider: Provider, site: Site, faults: dict[str, Any]
) -> None:
    provider.be("8", "mallory", "leads")
    provider.faults = faults
    browser = requests.Session()

    assert come_in(site, browser).status_code == 401
    assert signed_in_as(browser, site) == ""


def test_a_token_that_another_key_signed_is_refused(provider: Provider, site: Site) -> None:
    provider.be("8", "mallory", "leads")
    provider.sign_with_another_key()
    browser = requests.Session()

    refused = come_in(site, browser)

    assert refused.status_code == 401
    assert "Sign-in failed" in refused.text
    assert signed_in_as(browser, site) == ""


def test_userinfo_about_somebody_else_is_refused(provider: Provider, site: Site) -> None:
    provider.be("8", "mallory", "leads")
    provider.told_beside = {"sub": "1"}

    assert come_in(site).status_code == 401


def test_a_way_back_that_another_browser_began_is_refused(provider: Provider, site: Site) -> None:
    provider.be("8", "mallory", "leads")
    began = requests.Session()
    left = press(began, f"{site.url}/login/", f"{site.url}/accounts/oidc/login/")
    back = began.get(way_out(left), allow_redirects=False, timeout=20).headers["Location"]

    victim = requests.Session()
    assert victim.get(back, timeout=20).status_code == 401
    assert victim.get(back.replace("state=", "state=x"), timeout=20).status_code == 401
    assert signed_in_as(victim, site) == ""


def test_whoever_cancels_there_is_back_at_a_page(provider: Provider, site: Site) -> None:
    provider.be("8", "mallory", "leads")
    provider.refuses = "access_denied"

    back = come_in(site)

    assert back.status_code == 200
    assert "Sign-in failed" in back.text


def test_a_provider_that_is_down_is_told(provider: Provider, site: Site) -> None:
    provider.be("1", "lena", "devs")
    provider.is_down = True

    answer = come_in(site)

    assert answer.status_code == 502
    assert "Acme ID can&#x27;t be reached" in answer.text


def test_where_passwords_are_off_a_link_still_signs_in(site: Site) -> None:
    page = requests.get(f"{site.url}/login/", timeout=20).text
    assert "Sign in with Acme ID" in page
    assert 'type="password"' not in page
    assert "faber login-link" in page

    browser = requests.Session()
    tried = press(browser, f"{site.url}/login/", f"{site.url}/login/")
    assert tried.status_code == 403
    assert "Passwords are switched off" in tried.text
    to_admin = requests.get(f"{site.url}/admin/login/", allow_redirects=False, timeout=20)
    assert to_admin.headers["Location"].startswith("/login/")

    link = site.login_link()
    press(browser, link, link)
    assert signed_in_as(browser, site) == "admin"
