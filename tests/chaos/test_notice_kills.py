"""Workers are killed every two seconds while many requests are told: each is, to each receiver."""

import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests import mail_sink, receiver
from tests.chaos.databases import prepared
from tests.chaos.scratch import Scratch, eventually
from tests.mail_sink import MailSink
from tests.receiver import Receiver

pytestmark = [pytest.mark.chaos, pytest.mark.database, pytest.mark.xdist_group("supervisor")]

REQUESTS = 50
BETWEEN_KILLS = 2
KILLS = 15
AT_ONCE = 4  # messages that one worker sends
ASK = """
import sys, django
django.setup()
from pathlib import Path
from runs.accounts import users
from runs.domain.values.actors import Role
from tests import factories as f
rita = users.create("rita", role=Role.REVIEWER)
rita.email = "rita@example.org"
rita.save()
review = {"id": "make", "run": ["true"], "requires_approval": True}
for _ in range(int(sys.argv[2])):
    f.start(f.workflow({"build": [review]}), Path(sys.argv[1]))
"""


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver.running() as running:
        yield running


@pytest.fixture
def post() -> Iterator[MailSink]:
    with mail_sink.running() as running:
        yield running


@pytest.fixture
def site(tmp_path: Path, hook: Receiver, post: MailSink) -> Iterator[Scratch]:
    settings = {
        **prepared(tmp_path / "data"),
        "FABER_LEASE_SECONDS": "2",
        "FABER_STEP_ISOLATION": "off",
        "FABER_NOTIFY_URLS": f"json://127.0.0.1:{hook.port}/",
        "FABER_EMAIL_URL": post.url,
        "NO_PROXY": "127.0.0.1",
    }
    with closing(Scratch(tmp_path / "data", settings)) as scratch:
        yield scratch


def requests_of(hook: Receiver) -> Counter[str]:
    """How often each request was told."""
    return Counter(
        found[0]
        for call in list(hook.calls)
        if (found := re.search(r"fr-[0-9a-f-]+", call.document["message"]))
    )


@pytest.mark.timeout(300)
def test_each_request_is_told_to_each_receiver_while_workers_are_killed(
    site: Scratch, hook: Receiver, post: MailSink
) -> None:
    site.start("work")
    site.call(ASK, str(site.folder.parent), str(REQUESTS))
    killed, next_kill = 0, time.monotonic()

    def all_are_told() -> bool:
        nonlocal killed, next_kill
        if killed < KILLS and time.monotonic() >= next_kill:
            for worker in (*site.short_workers(), *site.workers()[:1]):
                worker.kill()
                killed += 1
            next_kill = time.monotonic() + BETWEEN_KILLS
        return killed >= KILLS and int(site.rows(_SENT)[0][0]) == 2 * REQUESTS

    assert eventually(all_are_told, within=200)

    told = requests_of(hook)
    mailed = Counter(str(mail["Message-ID"]) for mail in post.mails)
    assert len(told) == len(mailed) == REQUESTS
    # Only who is killed between a sending and its record repeats it, and mail under the same id.
    assert told.total() + mailed.total() - 2 * REQUESTS <= killed * AT_ONCE


_SENT = "SELECT count(*) FROM faber_feedback_notice WHERE sent_at IS NOT NULL"
