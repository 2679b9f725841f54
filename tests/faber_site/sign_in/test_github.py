"""Signing in with GitHub, through a real site and a GitHub that asks nobody twice."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from bench.ground.scratch_site import ROOT, Site, scratch_site

# Starts real processes, once for all of them.
pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("sign in")]


class _GitHub(BaseHTTPRequestHandler):
    """The three doors of an Enterprise Server that signing in goes through."""

    login = "octocat"

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if self.path.startswith("/login/oauth/authorize"):
            back = f"{query['redirect_uri'][0]}?code=abc&state={query['state'][0]}"
            self.send_response(302)
            self.send_header("Location", back)
            self.end_headers()
        elif self.path == "/api/v3/user":
            number = sum(map(ord, self.login))
            self._say({"id": number, "login": self.login, "name": "", "email": None})
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._say({"access_token": "gho_x", "token_type": "bearer", "scope": ""})

    def _say(self, document: dict[str, object]) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _GitHub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        with scratch_site(
            FABER_GITHUB_API_URL=f"{address}/api/v3",
            FABER_GITHUB_CLIENT_ID="client",
            FABER_GITHUB_CLIENT_SECRET="hush",
            NO_PROXY="127.0.0.1",
        ) as running:
            yield running
        server.shutdown()


def press(browser: requests.Session, page: str, action: str) -> requests.Response:
    """Send the form on a page that leads there, as its button would."""
    shown = browser.get(page, timeout=20)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', shown.text)
    assert token
    return browser.post(
        action,
        data={"csrfmiddlewaretoken": token.group(1)},
        headers={"Referer": page},
        timeout=20,
    )


def answer_of(site: Site, *words: str) -> str:
    """What a command on the site's data prints."""
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(
        command, cwd=ROOT, env=site.environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()


def signed_in_as(browser: requests.Session, site: Site) -> str:
    found = re.search(r"Signed in as <strong>(\w+)", browser.get(site.url, timeout=20).text)
    return found.group(1) if found else ""


@pytest.mark.timeout(120)
def test_a_linked_login_gets_in_and_no_other(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    door = f"{site.url}/accounts/github/login/"
    stranger = requests.Session()
    turned_away = press(stranger, f"{site.url}/login/", door)
    assert turned_away.status_code == 403
    assert "octocat is not linked to an account" in turned_away.text
    assert signed_in_as(stranger, site) == ""

    # A name alone opens nothing.
    monkeypatch.setattr(_GitHub, "login", "admin")
    assert press(requests.Session(), f"{site.url}/login/", door).status_code == 403

    monkeypatch.setattr(_GitHub, "login", "octocat")
    admin = requests.Session()
    link = site.login_link()
    press(admin, link, link)
    assert signed_in_as(admin, site) == "admin"
    press(admin, f"{site.url}/", f"{door}?process=connect")

    elsewhere = requests.Session()
    press(elsewhere, f"{site.url}/login/", door)
    assert signed_in_as(elsewhere, site) == "admin"

    # The same link makes comments of that person the account's, whatever their login is by then.
    number = sum(map(ord, "octocat"))
    asks = (
        "from functools import partial; from runs.accounts.tracker_links import actor_of; "
        "from runs.trackers import Tracker; who = partial(actor_of, Tracker.GITHUB); "
        f"print(who('renamed', {number}).account, who('octocat', 1).account or '-')"
    )
    assert answer_of(site, "shell", "-v", "0", "-c", asks) == "admin -"
    assert json.loads(answer_of(site, "user", "links", "--json"))["items"] == [
        {"name": "admin", "github_login": "octocat", "github_id": number}
    ]


@pytest.mark.timeout(60)
def test_opening_the_door_by_a_link_signs_nobody_in(site: Site) -> None:
    answer = requests.get(f"{site.url}/accounts/github/login/", allow_redirects=False, timeout=20)

    assert answer.status_code != 302


@pytest.mark.timeout(120)
def test_a_login_of_a_deactivated_account_is_turned_away_with_a_sentence(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_GitHub, "login", "former")
    door = f"{site.url}/accounts/github/login/"
    _in_shell(
        site,
        "from runs.domain.values.actors import Role; from runs.accounts import users; "
        "users.create('former', role=Role.REVIEWER)",
    )
    former = requests.Session()
    link = site.login_link("former")
    press(former, link, link)
    press(former, f"{site.url}/", f"{door}?process=connect")
    _in_shell(site, "User.objects.filter(username='former').update(is_active=False)")

    elsewhere = requests.Session()
    turned_away = press(elsewhere, f"{site.url}/login/", door)

    assert turned_away.status_code == 403
    assert "This account is deactivated" in turned_away.text
    assert signed_in_as(elsewhere, site) == ""


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("signup/", 403, "Ask an administrator for an account"),
        ("login/cancelled/", 200, "Sign-in failed"),
        ("login/error/", 401, "Sign-in failed"),
        ("github/login/callback/?error=access_denied", 401, "Sign-in failed"),
        ("inactive/", 404, ""),
        ("password/reset/", 404, ""),
    ],
)
def test_every_other_address_of_it_answers_with_a_page(
    site: Site, path: str, status: int, sentence: str
) -> None:
    answer = requests.get(f"{site.url}/accounts/{path}", allow_redirects=False, timeout=20)

    assert answer.status_code == status
    assert sentence in answer.text


def _in_shell(site: Site, code: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", "shell", "-c", code],
        cwd=ROOT,
        env=site.environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
