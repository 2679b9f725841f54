"""An operator has a GitHub App made, and the site uses it at once."""

import html
import json
import re
import stat
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import requests
from django.test import Client
from pytest_django.fixtures import Settings

from runs.accounts import users
from runs.domain.values.actors import Role
from runs.github import client, is_on, kept_app, options
from runs.models import AuditEntry
from runs.trackers import Place
from tests.fake_github import SECRET, TOKEN, FakeGitHub, bad_gateway

pytestmark = pytest.mark.django_db

SETUP = "/github/setup"


@pytest.fixture(autouse=True)
def nothing_set(github: FakeGitHub, settings: Settings, tmp_path: Path) -> None:
    settings.FABER_GITHUB_TOKEN = settings.FABER_GITHUB_WEBHOOK_SECRET = ""
    settings.FABER_BASE_URL = "https://faber.example.org"
    settings.FABER_DATA_DIR = tmp_path


@pytest.fixture
def olga(client: Client) -> Client:
    client.force_login(users.create("olga", role=Role.OPERATOR))
    return client


def sent(site: Client, organization: str = "") -> tuple[str, dict[str, Any]]:
    """Where the form of the page leads, and the manifest it carries."""
    shown = site.post(SETUP, {"organization": organization})
    text = shown.content.decode()
    [address] = re.findall(r'action="(http[^"]+)"', text)
    [manifest] = re.findall(r'name="manifest" value="([^"]+)"', text)
    return html.unescape(address), json.loads(html.unescape(manifest))


def agreed(site: Client, organization: str = "") -> str:
    """The address that GitHub leads back to, as the browser of this person would ask for it."""
    address, manifest = sent(site, organization)
    back = requests.post(
        address, {"manifest": json.dumps(manifest)}, allow_redirects=False, timeout=10
    )
    parts = urlsplit(back.headers["Location"])
    return f"{parts.path}?{parts.query}"


def test_the_app_is_made_kept_and_used_without_a_restart(
    olga: Client, github: FakeGitHub, tmp_path: Path
) -> None:
    assert not is_on()

    done = olga.get(agreed(olga), follow=True)

    assert "faber-app is set up" in done.content.decode()
    assert is_on()
    assert options().webhook_secret == SECRET
    number = github.add_issue("acme/shop", author="rita")
    github.install_app("acme/shop")
    posted = client().create_comment(Place(repository="acme/shop", issue=number), "Hello")
    assert posted.author == "faber-app[bot]"


def test_it_asks_for_no_more_than_it_needs(olga: Client, github: FakeGitHub) -> None:
    olga.get(agreed(olga, "acme"))

    asked = github.made_from
    assert asked["form"] == "/organizations/acme/settings/apps/new"
    assert asked["default_permissions"] == {
        "issues": "write",
        "metadata": "read",
        "pull_requests": "read",
        "statuses": "write",
    }
    assert asked["default_events"] == ["issue_comment", "issues"]
    assert asked["hook_attributes"]["url"] == "https://faber.example.org/github/webhook"
    assert asked["public"] is False


def test_a_site_that_github_cannot_reach_gets_no_webhook(
    olga: Client, github: FakeGitHub, settings: Settings
) -> None:
    settings.FABER_BASE_URL = "http://127.0.0.1:8000"

    done = olga.get(agreed(olga), follow=True)

    assert not {"hook_attributes", "default_events"} & set(github.made_from)
    assert "FABER reads comments every" in " ".join(done.content.decode().split())
    assert options().webhook_secret == ""


def test_keys_are_for_the_account_alone_and_on_no_page_and_in_no_record(
    olga: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")

    done = olga.get(agreed(olga), follow=True)

    app = kept_app.kept()
    assert app
    assert stat.S_IMODE(kept_app.place().stat().st_mode) == 0o600
    [line] = AuditEntry.objects.filter(kind="rule", what__contains="GitHub App")
    assert (line.who, line.what) == ("olga", "set up the GitHub App faber-app (id 4711)")
    told = done.content.decode() + line.what + repr(app)
    assert "PRIVATE KEY" not in told
    assert SECRET not in told
    ours = [each for each in caplog.records if each.name.split(".")[0] in OURS]
    assert not any("PRIVATE KEY" in each.getMessage() for each in ours)


OURS = ("faber_site", "runs", "feedback")


def test_a_callback_that_was_not_asked_for_changes_nothing(olga: Client) -> None:
    answer = olga.get(f"{SETUP}/callback?code=abc&state=guessed")

    assert answer.status_code == 409
    assert "not started in this browser session" in answer.content.decode()
    assert kept_app.kept() is None


def test_a_state_works_once_and_in_its_own_session(olga: Client) -> None:
    back = agreed(olga)
    somebody_else = Client()
    somebody_else.force_login(users.create("otto", role=Role.OPERATOR))

    assert somebody_else.get(back).status_code == 409
    assert olga.get(back).status_code == 303
    assert olga.get(back).status_code == 409


@pytest.mark.parametrize("code", ["", "a b", "../../app", "x" * 300])
def test_what_is_no_code_is_not_sent_to_github(olga: Client, github: FakeGitHub, code: str) -> None:
    address, _ = sent(olga)
    state = address.partition("state=")[2]

    answer = olga.get(f"{SETUP}/callback?{urlencode({'code': code, 'state': state})}")

    assert (answer.status_code, github.calls_of("POST", "/app-manifests")) == (409, [])


def test_a_code_that_github_does_not_know_is_told(olga: Client, github: FakeGitHub) -> None:
    back = agreed(olga)
    github.manifests.clear()

    answer = olga.get(back)

    assert answer.status_code == 409
    assert "GitHub does not know this code" in answer.content.decode()


def test_a_github_that_is_down_is_told_without_the_code(olga: Client, github: FakeGitHub) -> None:
    back = agreed(olga)
    [code] = github.manifests
    github.fail(bad_gateway(after_storing=False), method="POST", path="/app-manifests", times=2)

    answer = olga.get(back)

    assert answer.status_code == 409
    assert "The App was not saved" in answer.content.decode()
    assert f"app-manifests/{code}" not in answer.content.decode()
    assert kept_app.kept() is None


def test_what_is_set_for_the_process_goes_first(olga: Client, settings: Settings) -> None:
    olga.get(agreed(olga))
    settings.FABER_GITHUB_TOKEN = TOKEN

    shown = olga.get(SETUP).content.decode()

    assert "FABER_GITHUB_TOKEN is set" in shown
    assert client().login != "faber-app[bot]"


def test_an_app_of_another_github_is_not_used(olga: Client, settings: Settings) -> None:
    olga.get(agreed(olga))

    settings.FABER_GITHUB_API_URL = "https://github.example.org/api/v3"

    assert not is_on()


def test_a_name_that_is_no_organization_is_refused(olga: Client) -> None:
    answer = olga.post(SETUP, {"organization": "../x"})

    assert answer.status_code == 422
    assert "Use the name of the organization" in answer.content.decode()


def test_only_the_page_with_the_button_may_send_a_form_to_github(
    olga: Client, github: FakeGitHub
) -> None:
    ready, start = olga.post(SETUP, {}), olga.get(SETUP)

    assert github.url in ready["Content-Security-Policy"]
    assert github.url not in start["Content-Security-Policy"]


def test_reviewers_have_no_business_here(client: Client) -> None:
    client.force_login(users.create("rita", role=Role.REVIEWER))

    assert client.get(SETUP).status_code == 403
    assert client.post(SETUP, {}).status_code == 403
