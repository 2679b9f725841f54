"""The GitHub calls against a GitHub of our own, over real connections."""

import hashlib
import hmac
import json
import logging
import os
import runpy
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from faber_site import settings as site_settings
from runs.github import Client, Credentials, client, is_on, values
from runs.trackers import (
    Comment,
    NotThere,
    Permission,
    Place,
    RefusedCredentials,
    Slowed,
    TrackerError,
    Unreachable,
)
from tests.fake_github import (
    SECRET,
    TOKEN,
    FakeGitHub,
    Fault,
    bad_gateway,
    drop,
    not_found,
    point,
    primary_limit,
    secondary_limit,
    slow,
    unauthorized,
)

REPO = "acme/shop"


def at(repository: str, issue: int = 0) -> Place:
    return Place(repository=repository, issue=issue)


NOON = datetime(2024, 11, 16, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def site(github: FakeGitHub) -> Iterator[Client]:
    github.add_issue(REPO, 7, title="No till", body="It is gone.", labels=("bug",))
    yield client()
    client().close()


def fill(github: FakeGitHub, count: int) -> list[int]:
    return [github.comment(REPO, 7, f"comment {number}").id for number in range(count)]


# What each call does


def test_the_site_knows_its_own_login(github: FakeGitHub, site: Client) -> None:
    assert site.whoami() == github.login


def test_the_login_is_asked_for_once(github: FakeGitHub, site: Client) -> None:
    assert [site.login, site.login] == [github.login] * 2
    assert len(github.calls) == 1


def test_a_comment_is_posted_and_given_back(github: FakeGitHub, site: Client) -> None:
    github.clock = lambda: NOON + timedelta(milliseconds=700)

    comment = site.create_comment(at(REPO, 7), "Grüße, 木")

    (stored,) = github.comments(REPO, 7)
    assert stored.body == "Grüße, 木"
    assert comment == Comment(
        id=stored.id,
        body="Grüße, 木",
        author=github.login,
        author_id=stored.author_id,
        is_bot=False,
        url=f"https://github.test/acme/shop/issues/7#issuecomment-{stored.id}",
        created_at=NOON,
        updated_at=NOON,
        place=at(REPO, 7),
    )


def test_a_comment_is_edited_in_place(github: FakeGitHub, site: Client) -> None:
    github.clock = lambda: NOON
    comment = site.create_comment(at(REPO, 7), "asked")
    github.clock = lambda: NOON + timedelta(seconds=5)

    edited = site.edit_comment(at(REPO), comment.id, "answered")

    assert (edited.id, edited.body) == (comment.id, "answered")
    assert edited.updated_at - edited.created_at == timedelta(seconds=5)
    assert [stored.body for stored in github.comments(REPO, 7)] == ["answered"]


def test_all_pages_of_an_issue_are_read_in_order(github: FakeGitHub, site: Client) -> None:
    ids = fill(github, 250)
    github.add_issue(REPO, 8)
    github.comment(REPO, 8, "elsewhere")

    assert [comment.id for comment in site.comments_of(at(REPO, 7))] == ids
    assert len(github.calls) == 3


def test_comments_of_an_issue_can_start_at_a_moment(github: FakeGitHub, site: Client) -> None:
    github.clock = lambda: NOON
    github.comment(REPO, 7, "before")
    github.clock = lambda: NOON + timedelta(seconds=1)
    github.comment(REPO, 7, "then")

    found = site.comments_of(at(REPO, 7), since=NOON + timedelta(seconds=1, milliseconds=900))

    assert [comment.body for comment in found] == ["then"]


def test_a_moment_in_another_time_zone_is_understood(github: FakeGitHub, site: Client) -> None:
    github.clock = lambda: NOON
    github.comment(REPO, 7, "at noon")
    east = timezone(timedelta(hours=5))

    news = site.comments_since(REPO, NOON.astimezone(east))

    assert news is not None
    assert [comment.body for comment in news.comments] == ["at noon"]


def test_news_of_all_issues_come_in_the_order_of_their_last_change(
    github: FakeGitHub, site: Client
) -> None:
    github.add_issue(REPO, 8)
    clock = iter(NOON + timedelta(seconds=second) for second in range(10))
    github.clock = lambda: next(clock)
    first = github.comment(REPO, 7, "first")
    github.comment(REPO, 8, "second")
    github.edit(first.id, "first, edited")

    news = site.comments_since(REPO, NOON + timedelta(seconds=1))

    assert news is not None
    assert [(comment.place.issue, comment.body) for comment in news.comments] == [
        (8, "second"),
        (7, "first, edited"),
    ]


@pytest.mark.parametrize("per_second", [1, 40, 250])
def test_news_of_many_pages_are_complete(github: FakeGitHub, site: Client, per_second: int) -> None:
    ids = []
    for number in range(250):
        moment = NOON + timedelta(seconds=number // per_second)
        github.clock = lambda moment=moment: moment  # type: ignore[misc]
        ids += fill(github, 1)

    news = site.comments_since(REPO, NOON)

    assert news is not None
    assert [comment.id for comment in news.comments] == ids


def test_an_edit_between_two_pages_hides_nothing(
    github: FakeGitHub, site: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = []
    for number in range(150):
        github.clock = lambda number=number: NOON + timedelta(seconds=number)  # type: ignore[misc]
        ids += fill(github, 1)
    asked = site._news
    calls: list[Any] = []

    def edit_after_the_first(*arguments: Any) -> Any:
        answer = asked(*arguments)
        if not calls:
            github.clock = lambda: NOON + timedelta(hours=1)
            github.edit(ids[0], "edited meanwhile")
        calls.append(arguments)
        return answer

    monkeypatch.setattr(site, "_news", edit_after_the_first)
    news = site.comments_since(REPO, NOON)

    assert news is not None
    assert {comment.id for comment in news.comments} == set(ids)
    assert news.comments[-1].body == "edited meanwhile"


def test_nothing_new_costs_one_unmodified_answer(github: FakeGitHub, site: Client) -> None:
    github.comment(REPO, 7, "old")
    news = site.comments_since(REPO, NOON)
    assert news is not None

    assert site.comments_since(REPO, NOON, news.etag) is None
    assert github.calls[-1].status == 304


def test_a_new_comment_ends_the_silence(github: FakeGitHub, site: Client) -> None:
    first = site.comments_since(REPO, NOON)
    assert first is not None
    github.comment(REPO, 7, "new")

    news = site.comments_since(REPO, NOON, first.etag)

    assert news is not None
    assert [comment.body for comment in news.comments] == ["new"]


def test_a_full_page_never_keeps_the_next_one_silent(github: FakeGitHub, site: Client) -> None:
    fill(github, 150)
    first = site.comments_since(REPO, NOON)
    assert first is not None
    fill(github, 1)

    news = site.comments_since(REPO, NOON, first.etag)

    assert news is not None
    assert len(news.comments) == 151


@pytest.mark.parametrize("role", [role for role in Permission if role is not Permission.NONE])
def test_a_permission_is_the_exact_role(github: FakeGitHub, site: Client, role: Permission) -> None:
    github.grant(REPO, "rita", role.value)

    assert site.permission(REPO, "Rita") is role
    assert role.can_write is (role.value in ("write", "maintain", "admin"))


def test_a_role_of_an_organisation_counts_as_the_one_it_extends(
    github: FakeGitHub, site: Client
) -> None:
    github.grant(REPO, "rita", "release-manager", extends="write")

    assert site.permission(REPO, "rita") is Permission.WRITE


@pytest.mark.parametrize("login", ["nobody-has-this", "", "..", "a/b", "odd[bot]"])
def test_who_is_no_user_has_no_permission(site: Client, login: str) -> None:
    assert site.permission(REPO, login) is Permission.NONE


def test_a_reaction_is_given_once(github: FakeGitHub, site: Client) -> None:
    comment = github.comment(REPO, 7, "@faber approve")

    site.react(at(REPO), comment.id, "eyes")
    site.react(at(REPO), comment.id, "eyes")

    assert comment.reactions == [(github.login, "eyes")]


def test_an_issue_is_read(site: Client) -> None:
    issue = site.issue(at(REPO, 7))

    assert (issue.number, issue.title, issue.body) == (7, "No till", "It is gone.")
    assert (issue.author, issue.labels, issue.state) == ("ida", ("bug",), "open")


def test_labels_come_and_go(github: FakeGitHub, site: Client) -> None:
    site.add_label(at(REPO, 7), "faber: a/b?")
    assert github.issue(REPO, 7).labels == ["bug", "faber: a/b?"]

    site.remove_label(at(REPO, 7), "faber: a/b?")
    assert github.issue(REPO, 7).labels == ["bug"]


def test_removing_a_label_that_is_not_there_is_fine(github: FakeGitHub, site: Client) -> None:
    site.remove_label(at(REPO, 7), "faber:awaiting")

    assert github.issue(REPO, 7).labels == ["bug"]


@pytest.mark.parametrize(
    ("author", "shown", "is_bot"),
    [("rita", "rita", False), ("dependabot[bot]", "dependabot[bot]", True), ("", "ghost", False)],
)
def test_bots_and_accounts_that_are_gone_are_told_apart(
    github: FakeGitHub, site: Client, author: str, shown: str, is_bot: bool
) -> None:
    github.comment(REPO, 7, "hello", author=author)

    (comment,) = site.comments_of(at(REPO, 7))

    assert (comment.author, comment.is_bot) == (shown, is_bot)


def test_a_webhook_holds_the_comment_in_the_same_form(github: FakeGitHub, site: Client) -> None:
    stored = github.comment(REPO, 7, "@faber resume")

    delivery = github.webhook(stored)

    assert values.comment(json.loads(delivery.body)["comment"]) == site.comments_of(at(REPO, 7))[0]


def test_a_webhook_is_signed_over_its_bytes_and_sent(github: FakeGitHub, site: Client) -> None:
    delivery = github.webhook(github.comment(REPO, 7, "Grüße"))

    signature = hmac.new(SECRET.encode(), delivery.body, hashlib.sha256).hexdigest()
    assert delivery.headers["X-Hub-Signature-256"] == f"sha256={signature}"
    assert "Grüße".encode() in delivery.body
    assert delivery.send(f"{github.url}/a/place") == 401
    assert github.calls[-1].path == "/a/place"


def test_repositories_are_compared_without_case(github: FakeGitHub, site: Client) -> None:
    site.create_comment(at("ACME/Shop", 7), "hello")

    assert len(github.comments(REPO, 7)) == 1


@pytest.mark.parametrize("repo", ["demo", "acme/", "acme/shop/more", "../user", "acme/..", "a b/c"])
def test_what_is_no_repository_is_never_asked_for(
    github: FakeGitHub, site: Client, repo: str
) -> None:
    with pytest.raises(NotThere, match="OWNER/NAME"):
        site.issue(at(repo, 7))
    assert github.calls == []


# What goes wrong


@pytest.mark.parametrize(
    ("fault", "expected", "stored"),
    [
        (bad_gateway(after_storing=True), Unreachable, 1),
        (bad_gateway(after_storing=False), Unreachable, 0),
        (drop(after_storing=True), Unreachable, 1),
        (drop(after_storing=False), Unreachable, 0),
        (slow(1.5), Unreachable, 1),
        (secondary_limit(), Slowed, 0),
        (secondary_limit(retry_after=None), Slowed, 0),
        (primary_limit(), Slowed, 0),
        (unauthorized(), RefusedCredentials, 0),
        (not_found(), NotThere, 0),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else None,
)
def test_a_comment_is_posted_at_most_once_and_the_fault_is_named(
    github: FakeGitHub,
    site: Client,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    expected: type[TrackerError],
    stored: int,
) -> None:
    monkeypatch.setattr("runs.github.transport.TIMEOUT", 1)
    github.fail(fault, method="POST", path="/comments")

    with pytest.raises(expected) as caught:
        site.create_comment(at(REPO, 7), "once")

    assert type(caught.value) is expected
    assert len(github.calls) == 1
    assert len(github.comments(REPO, 7)) == stored


@pytest.mark.parametrize(
    ("fault", "least", "most"),
    [
        (secondary_limit(retry_after=17), 17, 17),
        (secondary_limit(retry_after=None), 60, 60),
        (primary_limit(resets_in=1800), 1700, 1802),
        (primary_limit(resets_in=-100), 1, 1),
        (Fault(name="429", status=429, message="Too many", stores=False), 60, 60),
        (replace(primary_limit(resets_in=1800), message="Forbidden"), 1700, 1802),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else None,
)
def test_a_limit_says_when_to_try_again(
    github: FakeGitHub, site: Client, fault: Fault, least: float, most: float
) -> None:
    github.fail(fault)

    with pytest.raises(Slowed) as caught:
        site.whoami()

    assert least <= (caught.value.retry_after or 0) <= most
    assert len(github.calls) == 1


def test_reading_survives_one_fault(github: FakeGitHub, site: Client) -> None:
    for fault in (bad_gateway(after_storing=True), drop(after_storing=True)):
        github.fail(fault, method="GET")

        assert site.issue(at(REPO, 7)).number == 7


def test_reading_gives_up_after_two_faults(github: FakeGitHub, site: Client) -> None:
    github.fail(bad_gateway(after_storing=True), method="GET", times=2)

    with pytest.raises(Unreachable, match="502 for GET /repos/acme/shop/issues/7"):
        site.issue(at(REPO, 7))


def test_a_403_that_is_no_limit_is_a_refusal(github: FakeGitHub, site: Client) -> None:
    said = "Resource not accessible by personal access token"
    github.fail(Fault(name="403", status=403, message=said, stores=False))

    with pytest.raises(RefusedCredentials, match=said):
        site.create_comment(at(REPO, 7), "hello")


@pytest.mark.parametrize("status", [301, 307, 404, 410])
def test_what_is_gone_or_moved_is_not_there(github: FakeGitHub, site: Client, status: int) -> None:
    github.fail(Fault(name="gone", status=status, message="Gone or moved", stores=False))

    with pytest.raises(NotThere):
        site.create_comment(at(REPO, 7), "hello")


def test_a_comment_that_is_too_long_is_refused_with_the_reason(site: Client) -> None:
    with pytest.raises(TrackerError, match="Body is too long") as caught:
        site.create_comment(at(REPO, 7), "x" * 65537)

    assert type(caught.value) is TrackerError
    assert caught.value.retry_after is None


def test_a_server_that_is_not_there_is_unreachable(github: FakeGitHub) -> None:
    nobody = Client(Credentials(api_url="http://127.0.0.1:1", token=TOKEN))

    with pytest.raises(Unreachable, match="ConnectionError"):
        nobody.whoami()


@pytest.mark.parametrize(
    "body", [b"", b"<html>sign in first</html>", b"[]", b'{"login": ', b'"text"']
)
def test_an_answer_of_another_form_is_unreachable(
    github: FakeGitHub, answering: Callable[[bytes], str], body: bytes
) -> None:
    odd = Client(Credentials(api_url=answering(body), token=TOKEN))

    with pytest.raises(Unreachable):
        odd.whoami()
    odd.close()


def test_a_page_instead_of_an_answer_is_no_success(
    github: FakeGitHub, answering: Callable[[bytes], str]
) -> None:
    odd = Client(Credentials(api_url=answering(b"<html>sign in first</html>"), token=TOKEN))

    with pytest.raises(Unreachable, match="can't be read"):
        odd.react(at(REPO), 1, "eyes")
    odd.close()


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """Starts a server that gives the same body to everybody, with status 200."""
    running: list[HTTPServer] = []

    def start(body: bytes) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815  the server's own name

            def log_message(self, *_: object) -> None: ...

        server = HTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        running.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


# Who the site is


def test_without_credentials_the_channel_is_off(settings: Settings) -> None:
    settings.FABER_GITHUB_TOKEN = settings.FABER_GITHUB_APP_ID = ""
    assert not is_on()

    settings.FABER_GITHUB_APP_ID = "1"
    assert is_on()


def test_the_client_is_kept_until_the_settings_change(
    github: FakeGitHub, settings: Settings
) -> None:
    kept = client()
    assert client() is kept

    settings.FABER_GITHUB_TOKEN = "another"
    assert client() is not kept


def test_an_enterprise_server_is_found_by_its_address(settings: Settings) -> None:
    with FakeGitHub(prefix="/api/v3") as enterprise:
        point(settings, enterprise)
        enterprise.add_issue(REPO, 7)
        fill(enterprise, 150)

        assert client().whoami() == enterprise.login
        assert len(client().comments_of(at(REPO, 7))) == 150
        client().close()


@pytest.fixture
def app(github: FakeGitHub, site: Client, settings: Settings) -> Iterator[Client]:
    github.install_app(REPO)
    point(settings, github)
    yield client()
    client().close()


def test_an_app_comments_as_a_bot_with_one_token(github: FakeGitHub, app: Client) -> None:
    assert app.whoami() == "faber-app[bot]"

    comments = [app.create_comment(at(repo, 7), "hello") for repo in (REPO, "ACME/Shop")]

    assert {(comment.author, comment.is_bot) for comment in comments} == {("faber-app[bot]", True)}
    assert len(github.calls_of("GET", "/installation")) == 1
    assert len(github.calls_of("POST", "/access_tokens")) == 1


def test_an_app_renews_a_token_that_ends_soon(github: FakeGitHub, app: Client) -> None:
    github.token_seconds = 15

    app.issue(at(REPO, 7))
    app.issue(at(REPO, 7))

    assert len(github.calls_of("POST", "/access_tokens")) == 2


def test_an_app_recovers_from_a_revoked_token(github: FakeGitHub, app: Client) -> None:
    app.issue(at(REPO, 7))
    github.installation_tokens.clear()

    with pytest.raises(RefusedCredentials):
        app.issue(at(REPO, 7))
    assert app.issue(at(REPO, 7)).number == 7


def test_an_app_that_was_installed_again_is_found(github: FakeGitHub, app: Client) -> None:
    github.token_seconds = 15
    app.issue(at(REPO, 7))
    github.installations = {REPO: 99}

    with pytest.raises(RefusedCredentials):
        app.issue(at(REPO, 7))
    assert app.issue(at(REPO, 7)).number == 7


def test_an_app_has_a_token_per_installation(github: FakeGitHub, app: Client) -> None:
    github.add_issue("other/place", 1)
    github.install_app("other/place")

    app.issue(at(REPO, 7))
    app.issue(at("other/place", 1))

    paths = [call.path for call in github.calls_of("POST", "/access_tokens")]
    assert paths == ["/app/installations/71/access_tokens", "/app/installations/72/access_tokens"]


def test_an_app_that_is_not_installed_says_so(github: FakeGitHub, app: Client) -> None:
    github.add_issue("other/place", 1)

    with pytest.raises(RefusedCredentials, match="not installed on other/place"):
        app.permission("other/place", "rita")


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (bad_gateway(after_storing=True), Unreachable),
        (drop(after_storing=True), Unreachable),
        (secondary_limit(), Slowed),
        (not_found(), RefusedCredentials),
        (unauthorized(), RefusedCredentials),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else None,
)
def test_a_fault_while_a_token_is_fetched_is_named(
    github: FakeGitHub, app: Client, fault: Fault, expected: type[TrackerError]
) -> None:
    github.fail(fault, path="/access_tokens")

    with pytest.raises(expected) as caught:
        app.create_comment(at(REPO, 7), "hello")

    assert type(caught.value) is expected
    assert github.comments(REPO, 7) == []
    assert app.create_comment(at(REPO, 7), "hello").body == "hello"


def test_a_key_that_signs_nothing_is_refused(github: FakeGitHub, app: Client) -> None:
    broken = "-----BEGIN RSA PRIVATE KEY-----\nMIIBsecret\n-----END RSA PRIVATE KEY-----"
    site = Client(Credentials(api_url=github.url, app_id="4711", app_key=broken))

    with pytest.raises(RefusedCredentials, match="FABER_GITHUB_APP_KEY") as caught:
        site.whoami()
    assert "MIIB" not in str(caught.value)


def test_an_app_with_another_key_is_refused(github: FakeGitHub, app: Client) -> None:
    github.app_public_key = ""

    with pytest.raises(RefusedCredentials, match="401"):
        app.whoami()


# What nobody may see


def everything(error: BaseException | None) -> str:
    """The error and all that stands behind it, as a traceback would show it."""
    return "".join(traceback.format_exception(error)) + repr(error) if error else ""


@pytest.mark.parametrize(
    "fault",
    [
        bad_gateway(after_storing=True),
        drop(after_storing=True),
        secondary_limit(),
        unauthorized(),
        not_found(),
        Fault(name="echo", status=403, message=f"Bad token {TOKEN}.", stores=False),
        Fault(
            name="echo of an App's", status=422, message="ghs_installation71token0", stores=False
        ),
    ],
    ids=lambda fault: fault.name,
)
@pytest.mark.parametrize("who", ["site", "app"])
def test_no_token_is_in_any_error_or_log(
    github: FakeGitHub,
    request: pytest.FixtureRequest,
    caplog: pytest.LogCaptureFixture,
    who: str,
    fault: Fault,
) -> None:
    caplog.set_level(logging.DEBUG)
    used: Client = request.getfixturevalue(who)
    used.issue(at(REPO, 7))
    github.fail(fault, method="POST", path="/comments")

    with pytest.raises(TrackerError) as caught:
        used.create_comment(at(REPO, 7), "hello")

    shown = everything(caught.value) + caplog.text + repr(used)
    assert "urllib3" in caplog.text
    for secret in (TOKEN, "ghs_", "PRIVATE KEY", "eyJ"):
        assert secret not in shown


def test_a_token_that_cannot_be_a_header_is_not_shown(github: FakeGitHub) -> None:
    site = Client(Credentials(api_url=github.url, token="ghp_two\nlines"))

    with pytest.raises(Unreachable) as caught:
        site.whoami()
    assert "ghp_two" not in everything(caught.value)


def test_credentials_do_not_show_themselves() -> None:
    shown = repr(Credentials(api_url="https://x", token="ghp_1", app_id="1", app_key="pem"))

    assert shown == "Credentials(api_url='https://x', app_id='1')"


def test_pygithub_is_imported_by_the_first_call_only() -> None:
    code = "import runs.github, sys; sys.exit('github' in sys.modules or 'requests' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# The settings


def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **variables: str) -> dict[str, Any]:
    monkeypatch.setenv("FABER_DATA_DIR", str(tmp_path))
    for name in [name for name in os.environ if name.startswith("FABER_GITHUB_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(f"FABER_GITHUB_{name}", value)
    return runpy.run_path(site_settings.__file__)


def test_the_settings_say_off_by_themselves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loaded = load(monkeypatch, tmp_path)

    assert loaded["FABER_GITHUB_TOKEN"] == loaded["FABER_GITHUB_APP_ID"] == ""
    assert loaded["FABER_GITHUB_API_URL"] == "https://api.github.com"
    assert loaded["FABER_GITHUB_POLL_SECONDS"] == 60
    assert loaded["FABER_GITHUB_ALLOW"] == ()


PEM = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"


def test_a_key_is_text_or_a_line_or_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "app.pem"
    file.write_text(PEM + "\n")

    for given in (PEM, PEM.replace("\n", "\\n"), str(file)):
        loaded = load(monkeypatch, tmp_path, APP_ID="1", APP_KEY=given)
        assert loaded["FABER_GITHUB_APP_KEY"] == PEM


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({"TOKEN": "ghp_secret x"}, "FABER_GITHUB_TOKEN=… is not accepted; use a token"),
        ({"TOKEN": "ghp_secret\nx"}, "FABER_GITHUB_TOKEN=… is not accepted; use a token"),
        ({"APP_ID": "1", "APP_KEY": "secret/file"}, "FABER_GITHUB_APP_KEY=… is not accepted"),
        ({"APP_ID": "1"}, "FABER_GITHUB_APP_ID='1' is not accepted; use it together with"),
        ({"APP_KEY": PEM}, "FABER_GITHUB_APP_ID='' is not accepted; use it together with"),
        ({"APP_ID": "1", "APP_KEY": PEM, "TOKEN": "ghp_secret"}, "use one of them"),
        ({"API_URL": "github.example.org"}, "FABER_GITHUB_API_URL='github.example.org' is not"),
        ({"API_URL": "https://me:secret@host/api/v3"}, "FABER_GITHUB_API_URL='host/api/v3' is not"),
        ({"API_URL": "https://host:port"}, "FABER_GITHUB_API_URL='https://host:port' is not"),
        ({"POLL_SECONDS": "often"}, "FABER_GITHUB_POLL_SECONDS='often' is not accepted; use a"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else None,
)
def test_a_wrong_value_stops_the_start_with_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, str], line: str
) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        load(monkeypatch, tmp_path, **variables)

    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value).replace("secret/file", "")
