"""Where somebody is signed in, and how they end it."""

import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from runs.accounts import sessions, users
from runs.domain.values.actors import Role
from runs.models import AuditEntry, BrowserSession
from tests import factories as f

pytestmark = pytest.mark.django_db

PAGE = "/account/sessions/"
OTHERS = "/account/sessions/others/end/"
PASSWORD = "a-long-pass-phrase"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
)


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def rita() -> User:
    return users.create("rita", role=Role.REVIEWER, password=PASSWORD)


def browser(user: User, agent: str = FIREFOX, address: str = "203.0.113.7") -> Client:
    """One more browser, signed in by a link as people do."""
    client = Client(headers={"user-agent": agent}, REMOTE_ADDR=address)
    user.refresh_from_db()
    token = users.login_link(user)[0].partition("/login/link/")[2]
    assert client.post(f"/login/link/{token}").status_code == 303
    return client


def session_of(client: Client) -> BrowserSession:
    return BrowserSession.objects.get(session=client.session.session_key)


def end(client: Client, session: BrowserSession) -> int:
    return client.post(f"{PAGE}{session.pk}/end/").status_code


def is_signed_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def shown(client: Client) -> str:
    page = client.get(PAGE)
    assert page.status_code == 200
    main = page.content.decode().partition("<main")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def said(user: User) -> list[str]:
    lines = AuditEntry.objects.filter(kind="sign_in", account=user.get_username())
    return list(lines.order_by("id").values_list("what", flat=True))


def test_the_page_is_for_those_who_are_signed_in(client: Client) -> None:
    assert client.get(PAGE).status_code == 302


def test_each_session_is_shown_with_its_browser_its_address_and_its_times(rita: User) -> None:
    laptop = browser(rita)
    phone = browser(rita, SAFARI, "2001:db8::7")
    earlier = timezone.now() - timedelta(days=3)
    BrowserSession.objects.filter(pk=session_of(phone).pk).update(
        began_at=earlier, last_seen_at=timezone.now() - timedelta(hours=2)
    )

    page = shown(laptop)

    assert "Firefox on Linux This session Signed in just now from 203.0.113.7" in page
    assert "Safari on iPhone Signed in 3 d ago from 2001:db8::7 Last seen 2 h ago" in page
    assert page.count("This session") == 1
    assert "Sign out everywhere else" in page


def test_the_only_session_has_nothing_else_to_end(rita: User) -> None:
    assert "everywhere else" not in shown(browser(rita))


def test_every_door_begins_a_session(rita: User, client: Client) -> None:
    client.post("/login/", {"username": "rita", "password": PASSWORD}, REMOTE_ADDR="192.0.2.4")

    assert (session_of(client).user, session_of(client).address) == (rita, "192.0.2.4")


def test_another_person_at_the_same_browser_is_another_session(rita: User) -> None:
    client = browser(rita)
    otto = users.create("otto", role=Role.REVIEWER)
    token = users.login_link(otto)[0].partition("/login/link/")[2]

    client.post(f"/login/link/{token}")

    assert session_of(client).user == otto
    assert BrowserSession.objects.count() == 1, "rita's ended when otto's began"


@pytest.mark.parametrize("role", list(Role))
def test_whatever_their_role_somebody_ends_one_of_their_own(role: Role) -> None:
    pat = users.create("pat", role=role)
    here, there = browser(pat), browser(pat, SAFARI)

    assert end(here, session_of(there)) == 303

    assert not is_signed_in(there)
    assert is_signed_in(here)
    assert "Safari" not in shown(here)
    assert said(pat)[-1] == "ended a session: Safari on iPhone, 203.0.113.7"


def test_all_others_are_ended_at_once(rita: User) -> None:
    here, one, two = (browser(rita) for _ in range(3))
    otto = browser(users.create("otto", role=Role.REVIEWER))

    assert here.post(OTHERS).status_code == 303

    assert [is_signed_in(client) for client in (here, one, two, otto)] == [True, False, False, True]
    assert said(rita)[-1] == "ended 2 other sessions"


def test_ending_this_one_signs_out(rita: User) -> None:
    here = browser(rita)

    assert end(here, session_of(here)) == 303

    assert not is_signed_in(here)
    assert not BrowserSession.objects.exists()
    assert said(rita)[-1] == "signed out"


def test_signing_out_ends_the_session_on_record(rita: User) -> None:
    here = browser(rita)

    here.post("/logout/")

    assert not BrowserSession.objects.exists()
    assert said(rita)[-1] == "signed out"


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.ADMIN])
def test_nobody_sees_or_ends_somebody_elses(rita: User, role: Role) -> None:
    ritas = browser(rita, SAFARI, "198.51.100.9")
    other = browser(users.create("otto", role=role))

    assert "198.51.100.9" not in shown(other)
    assert end(other, session_of(ritas)) == 404
    assert other.post(OTHERS).status_code == 303
    assert is_signed_in(ritas)


def test_an_ended_session_can_do_nothing_any_more(rita: User) -> None:
    here, there = browser(rita), browser(rita)
    run = f.started(f.workflow({"build": [f.step("two", requires_approval=True)]}))
    asked = f.pending(run)
    end(here, session_of(there))

    for address in ("/", "/runs/", f"/requests/{asked.request_id}/", PAGE, "/account/tokens/"):
        assert there.get(address).status_code == 302, address
    answer = {"response": "approve", "seal": asked.seal}
    assert there.post(f"/requests/{asked.request_id}/", answer).status_code == 401
    assert there.post(OTHERS).status_code == 302
    assert end(there, session_of(here)) == 302
    assert is_signed_in(here)
    asked.refresh_from_db()
    assert asked.status == "pending"


def test_looking_ends_nothing(rita: User) -> None:
    here, there = browser(rita), browser(rita)

    assert here.get(f"{PAGE}{session_of(there).pk}/end/").status_code == 405
    assert here.get(OTHERS).status_code == 405
    assert is_signed_in(there)


def test_a_page_of_another_site_ends_nothing(rita: User) -> None:
    there, careful = browser(rita), Client(enforce_csrf_checks=True)
    careful.force_login(rita)

    assert end(careful, session_of(there)) == 403
    assert careful.post(OTHERS).status_code == 403
    assert is_signed_in(there)


def test_a_new_password_ends_the_others_and_keeps_this_one() -> None:
    ada = users.create("ada", role=Role.ADMIN, password=PASSWORD)
    here, there = browser(ada), browser(ada, SAFARI)
    fresh = "another-long-pass-phrase"

    here.post(
        "/admin/password_change/",
        {"old_password": PASSWORD, "new_password1": fresh, "new_password2": fresh},
    )

    assert "Firefox on Linux This session" in shown(here)
    assert "Safari" not in shown(here), "it opens nothing any more"
    assert not is_signed_in(there)


def test_an_expired_session_is_not_listed(rita: User) -> None:
    here, there = browser(rita), browser(rita, SAFARI)
    key = there.session.session_key
    Session.objects.filter(pk=key).update(expire_date=timezone.now() - timedelta(seconds=1))

    assert "Safari" not in shown(here)


def test_a_session_that_nobody_noted_is_listed_when_it_is_used(rita: User) -> None:
    here = browser(rita)
    BrowserSession.objects.all().delete()
    cache.clear()

    is_signed_in(here)

    assert session_of(here).address == "203.0.113.7"


def test_who_is_signed_in_while_the_site_is_updated_is_listed(rita: User) -> None:
    here = browser(rita)
    Client().get("/login/")
    BrowserSession.objects.all().delete()

    import_module("runs.migrations.0010_sessions").note_those_there_are(apps, None)

    assert session_of(here).user == rita
    assert timezone.now() - session_of(here).began_at < timedelta(minutes=1)


def test_a_visit_is_noted_once_a_minute(rita: User) -> None:
    here = browser(rita)
    long_ago = timezone.now() - timedelta(hours=1)
    BrowserSession.objects.update(last_seen_at=long_ago)

    is_signed_in(here)
    assert session_of(here).last_seen_at == long_ago, "less than a minute after signing in"
    cache.clear()
    is_signed_in(here)
    seen = session_of(here).last_seen_at
    assert seen > long_ago
    cache.clear()  # as another process of the site would see it
    is_signed_in(here)
    assert session_of(here).last_seen_at == seen


def test_what_a_browser_says_of_itself_is_kept_short_and_printable(rita: User) -> None:
    here = browser(rita, "Mozilla/5.0 \x00\x1b[31m<b>" + "x" * 5000)

    kept = session_of(here).agent
    assert len(kept) <= 300
    assert kept.isprintable()
    assert "<b>" not in here.get(PAGE).content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_session_that_ends_while_a_page_is_made_stays_ended() -> None:
    client, request = Client(), HttpRequest()
    request.user = User.objects.create_user("rita")
    client.force_login(request.user)
    request.session = client.session
    Session.objects.all().delete()
    cache.clear()

    sessions.seen(request)

    assert not BrowserSession.objects.exists()
