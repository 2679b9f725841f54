"""Somebody says how they want to be reached, tries it, and sees what came."""

from collections.abc import Iterator
from datetime import UTC, time, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from feedback.channels.callbacks.addresses import read_allowed
from feedback.models import Notice, NoticeSettings
from runs.accounts import notify_urls, users
from runs.domain.values.actors import Role
from runs.models import AuditEntry
from tests import factories as f
from tests import receiver as receivers
from tests.jobs import later, work_off
from tests.receiver import Receiver

pytestmark = pytest.mark.django_db

PAGE = "/account/notices/"


@pytest.fixture
def rita() -> User:
    return users.create("rita", role=Role.REVIEWER)


@pytest.fixture
def visit(rita: User) -> Client:
    client = Client()
    client.force_login(rita)
    return client


@pytest.fixture
def phone(settings: Settings) -> Iterator[Receiver]:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    with receivers.running() as receiver:
        yield receiver


def filled(**fields: object) -> dict[str, object]:
    return {"mail": "on", "wishes": ["asked", "decided"], "zone": "UTC", "urls": "", **fields}


def url_of(phone: Receiver) -> str:
    return f"json://127.0.0.1:{phone.port}/s3cr3t"


def asking() -> None:
    f.started(f.five_steps())
    work_off()


def test_somebodys_own_address_is_told_of_what_they_may_answer(
    visit: Client, phone: Receiver
) -> None:
    assert visit.post(PAGE, filled(urls=url_of(phone))).status_code == 303
    asking()

    assert [call.path for call in phone.calls] == ["/s3cr3t"]


def test_an_address_is_sealed_and_not_shown_again(visit: Client, phone: Receiver) -> None:
    visit.post(PAGE, filled(urls=url_of(phone)))

    page = visit.get(PAGE).content.decode()
    kept = NoticeSettings.objects.get()
    assert "s3cr3t" not in page + repr(kept.urls)
    assert notify_urls.shown(url_of(phone)) in page
    assert AuditEntry.objects.filter(what="changed where their notices go").count() == 1

    visit.post(PAGE, filled(urls=notify_urls.shown(url_of(phone)), zone="Europe/Berlin"))

    assert notify_urls.unseal(NoticeSettings.objects.get().urls) == (url_of(phone),)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"urls": "json://127.0.0.1/x"}, "leads to a private or special network"),
        ({"urls": "json://localhost/x"}, "leads to a private or special network"),
        ({"urls": "syslog://"}, "is not an Apprise URL"),
        ({"urls": "dbus://x"}, "speaks to this machine"),
        ({"urls": "slack://nothing"}, "Apprise does not understand it as Slack"),
        ({"quiet_from": "22:00"}, "Quiet hours need a beginning and an end."),
        ({"digest": "daily"}, "Say when the digest should come."),
        ({"zone": "Mars/Olympus"}, "Mars/Olympus is not one of the available choices."),
        ({"email": "nobody"}, "Enter a valid email address."),
    ],
)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(
    visit: Client, settings: Settings, fields: dict[str, object], said: str
) -> None:
    settings.FABER_EMAIL_URL = "smtp://127.0.0.1"
    response = visit.post(PAGE, filled(**fields))

    assert response.status_code == 422
    assert said in response.content.decode()
    assert not NoticeSettings.objects.exists()


def test_who_unticks_everything_is_told_nothing(visit: Client, phone: Receiver) -> None:
    visit.post(PAGE, filled(urls=url_of(phone), wishes=[]))
    asking()

    assert phone.calls == []


def test_quiet_hours_put_a_notice_off(visit: Client, phone: Receiver) -> None:
    now = timezone.now()
    begin, end = now - timedelta(hours=1), now + timedelta(hours=2)
    quiet = {"quiet_from": f"{begin:%H:%M}", "quiet_until": f"{end:%H:%M}"}
    visit.post(PAGE, filled(urls=url_of(phone), **quiet))
    asking()

    notice = Notice.objects.get()
    assert phone.calls == []
    assert notice.next_try_at == end.replace(second=0, microsecond=0)

    # A job that comes too early, as after a restart, waits as well.
    Notice.objects.update(next_try_at=now)
    later(3 * 3600)
    work_off()

    assert phone.calls == []
    assert Notice.objects.get().attempts == 0

    NoticeSettings.objects.update(quiet_from=None, quiet_until=None)
    Notice.objects.update(next_try_at=now)
    later(3 * 3600)
    work_off()

    assert len(phone.calls) == 1


def test_a_digest_collects_what_waits_until_its_time(visit: Client, phone: Receiver) -> None:
    visit.post(PAGE, filled(urls=url_of(phone), digest="daily", digest_at="06:30"))
    asking()
    asking()
    decided = f.started(f.five_steps())
    work_off()
    f.answer(decided, "approve")
    work_off()

    assert phone.calls == []
    moments = {notice.next_try_at.astimezone(UTC).time() for notice in Notice.objects.all()}
    assert moments == {time(6, 30)}

    Notice.objects.update(next_try_at=timezone.now())
    later(2 * 24 * 3600)
    work_off()

    (call,) = phone.calls
    assert call.document["title"] == "FABER: 2 notices"
    assert call.document["message"].count("Waiting for a decision") == 2
    assert not Notice.objects.filter(is_due=True).exists()


def test_a_test_notice_is_sent_at_once_and_seen_on_the_page(visit: Client, phone: Receiver) -> None:
    visit.post(PAGE, filled(urls=url_of(phone), digest="hourly"))
    assert visit.post(f"{PAGE}test/").status_code == 303
    work_off()

    assert "Notices from FABER arrive here" in phone.calls[0].document["message"]
    assert "sent" in visit.get(PAGE).content.decode()


def test_why_a_test_failed_is_seen_on_the_page(visit: Client, phone: Receiver) -> None:
    phone.faults = [403]
    visit.post(PAGE, filled(urls=url_of(phone)))
    visit.post(f"{PAGE}test/")
    work_off()

    page = visit.get(PAGE).content.decode()
    assert "error=403" in page
    assert "s3cr3t" not in page


def test_without_an_address_there_is_nothing_to_test(visit: Client) -> None:
    assert visit.post(f"{PAGE}test/").status_code == 409


def test_a_browser_hears_of_new_requests_that_wait_for_it(visit: Client) -> None:
    begun = visit.get(f"{PAGE}newest/").json()
    assert begun == {"newest": 0, "requests": []}
    asking()

    heard = visit.get(f"{PAGE}newest/?after=0").json()
    (told,) = heard["requests"]
    assert told["project"] == "Acme/App"
    assert told["url"] == f"/requests/{told['id']}/"
    assert visit.get(f"{PAGE}newest/?after={heard['newest']}").status_code == 204


def test_a_browser_does_not_hear_of_what_is_for_others(visit: Client) -> None:
    users.create("otto", role=Role.REVIEWER)
    review = f.step("two", requires_approval=True, reviewers=["otto"])
    f.started(f.workflow({"build": [review]}))

    heard = visit.get(f"{PAGE}newest/?after=0").json()
    assert heard["requests"] == []


def test_the_page_of_a_request_says_who_was_told(visit: Client, phone: Receiver) -> None:
    visit.post(PAGE, filled(urls=url_of(phone)))
    phone.faults = [500]
    run = f.started(f.five_steps())
    work_off()

    page = visit.get(f"/requests/{f.pending(run).request_id}/").content.decode()
    assert "Notified:" in page
    assert "rita (webhook)" in page
    assert "error=500" in page


def test_a_link_chooses_an_option_and_decides_nothing(visit: Client) -> None:
    run = f.started(f.five_steps())
    request = f.pending(run)
    page = visit.get(f"/requests/{request.request_id}/?choose=reject").content.decode()

    chosen = page.split('value="reject"')[1].split(">")[0]
    assert "data-armed autofocus" in chosen
    assert page.count("data-armed") == 1
    assert f.pending(run) == request
