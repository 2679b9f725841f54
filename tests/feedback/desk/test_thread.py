"""Asking the agent from the page of a request."""

import json
from pathlib import Path

import pytest
from django.test import Client

from feedback.models import Draft, FeedbackRequest, Inquiry
from runs.accounts import users
from runs.domain.values.actors import Role
from tests import factories as f
from tests.fake_agents.programs import FakeAgents
from tests.jobs import work_off

pytestmark = pytest.mark.django_db

PLANNED = {"status": "success", "message": "Planned."}


@pytest.fixture
def asked(agents: FakeAgents, tmp_path: Path) -> FeedbackRequest:
    agents.will_say(PLANNED, "Nobody **filters** by it. <script>alert(1)</script>")
    step: f.Json = {"id": "plan", "prompt": "Plan it.", "requires_approval": True}
    return f.pending(f.started(f.workflow({"architect": [step]}), tmp_path))


@pytest.fixture
def site(client: Client) -> Client:
    client.force_login(users.create("rita", role=Role.REVIEWER))
    return client


def page_of(asked: FeedbackRequest) -> str:
    return f"/requests/{asked.request_id}/"


def test_a_question_is_asked_and_answered_on_the_page(asked: FeedbackRequest, site: Client) -> None:
    page = page_of(asked)
    assert "Ask the agent" in site.get(page).content.decode()

    sent = site.post(f"{page}ask/", {"text": "Why no index?"})
    assert (sent.status_code, sent["Location"]) == (303, f"{page}#thread")
    assert "Waiting for claude" in site.get(page).content.decode()
    work_off()

    shown = site.get(page).content.decode()
    assert "Why no index?" in shown
    assert "Nobody <strong>filters</strong> by it." in shown
    assert "<script>alert" not in shown
    assert "Your decision" in shown


def test_earlier_questions_are_folded_beside_the_work(
    asked: FeedbackRequest, site: Client, agents: FakeAgents
) -> None:
    page = page_of(asked)
    for question in ("Why no index?", "And the other table?"):
        agents.will_say("Nobody **filters** by it.")
        site.post(f"{page}ask/", {"text": question})
        work_off()

    shown = site.get(page).content.decode()

    assert shown.count('<details class="exchange">') == 1
    assert shown.count('<details class="exchange" open>') == 1
    assert shown.index('<details class="exchange">') < shown.index("And the other table?")
    assert shown.index('id="thread-entries"') < shown.index('id="desk"') < shown.index('id="ask"')


def test_an_answer_comes_to_an_open_page_by_itself(asked: FeedbackRequest, site: Client) -> None:
    page = page_of(asked)
    headers = {"HX-Request": "true", "HX-Target": "standing"}
    part = {"HX-Request": "true", "HX-Target": "thread"}
    entries = site.post(f"{page}ask/", {"text": "Why?"}, headers=part)
    assert "Waiting for claude" in entries.content.decode()
    assert "<html" not in entries.content.decode()
    before = "pending-0-q1.0"
    assert site.get(f"{page}?v={before}", headers=headers).status_code == 204
    work_off()

    news = site.get(f"{page}?v={before}", headers=headers)

    assert 'id="thread-entries"' in news.content.decode()
    assert "filters" in news.content.decode()


def test_a_refused_question_stays_in_its_field(asked: FeedbackRequest, site: Client) -> None:
    page = page_of(asked)

    refused = site.post(f"{page}ask/", {"text": "w" * 10_001})

    assert refused.status_code == 422
    assert "at most 10,000 characters" in refused.content.decode()
    assert "w" * 10_001 in refused.content.decode()
    assert Inquiry.objects.count() == 0


def test_a_question_being_typed_is_kept_and_dropped_when_it_is_sent(
    asked: FeedbackRequest, site: Client
) -> None:
    page = page_of(asked)
    typed = {"text": "Why no in", "comment": "Fine"}
    draft = {name: {"text": text, "known": [""]} for name, text in typed.items()}
    site.post(f"{page}draft/", {"draft": json.dumps(draft)})
    assert "Why no in</textarea>" in site.get(page).content.decode()

    site.post(f"{page}ask/", {"text": "Why no index?"})

    assert Draft.objects.get().values == {"comment": "Fine"}


def test_where_no_agent_worked_nobody_is_offered_to_be_asked(tmp_path: Path, site: Client) -> None:
    asked = f.reviewed_list(tmp_path)

    assert "Ask the agent" not in site.get(page_of(asked)).content.decode()
