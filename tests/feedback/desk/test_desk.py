"""The desk beyond a plain answer: remarks, drafts, undo, rounds, and what an answer causes."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse, QueryDict
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from feedback.desk import review
from feedback.desk.review import LinePlace
from feedback.models import Draft, FeedbackRequest, FeedbackResponse, ReviewComment
from feedback.requests.answers import Words, respond
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.models import Project
from tests import factories as f

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def part(target: str) -> dict[str, str]:
    return {**HTMX, "HX-Target": target}


def text(response: object) -> str:
    assert isinstance(response, HttpResponse)
    return unescape(response.content.decode())


def address(asked: FeedbackRequest, rest: str = "") -> str:
    return f"/requests/{asked.request_id}/{rest}"


@pytest.fixture
def rita() -> User:
    return users.create("rita", role=Role.REVIEWER)


@pytest.fixture
def site(client: Client, rita: User) -> Client:
    client.force_login(rita)
    return client


@pytest.fixture
def asked(tmp_path: Path) -> FeedbackRequest:
    return f.reviewed_list(tmp_path)


@pytest.fixture
def undo_time(settings: Settings) -> None:
    settings.FABER_UNDO_SECONDS = 5


def remark(line: int = 3, body: str = "red") -> dict[str, object]:
    return {"path": "list.md", "revision": 1, "line": line, "body": body, "kind": "must"}


def approve(asked: FeedbackRequest, **more: str) -> dict[str, str]:
    return {"response": "approve", "seal": asked.seal, **more}


# What an answer causes


def test_every_option_says_what_it_causes(site: Client, asked: FeedbackRequest) -> None:
    shown = text(site.get(address(asked)))

    assert "Runs 2 steps, then asks: “Approve starting the Release phase?”" in shown
    assert "Reruns “write” with your comments, then returns to you" in shown
    assert "Ends the run. Discards the result of “write”." in shown
    assert "3 steps won’t run" in shown


def test_at_the_last_gate_approving_completes_the_run(site: Client, asked: FeedbackRequest) -> None:
    last = f.pending(f.answered(asked.run, "approve"))

    assert "Runs 1 step, then completes the run" in text(site.get(address(last)))


def test_approving_before_a_step_with_its_own_gate_does_not_say_that_it_is_done_again(
    site: Client, tmp_path: Path
) -> None:
    steps = [
        f.step("write", "tests.steps:succeed", requires_approval=True),
        f.step("make", "tests.steps:succeed", requires_approval=True),
    ]
    first = f.pending(f.started(f.workflow({"build": steps}), tmp_path))

    shown = text(site.get(address(first)))

    assert re.search(r"Runs 1 step, then asks: “[^”]*make", shown)
    assert "Reruns" not in shown


# Remarks


def test_a_line_opens_a_field_with_its_name(site: Client, asked: FeedbackRequest) -> None:
    place = {"path": "list.md", "revision": "1", "line": "3", "end_line": "3"}

    shown = text(site.get(address(asked, "remarks/"), place, headers=HTMX))

    assert "Comment on line 3" in shown
    assert "Add comment" in shown
    assert "<html" not in shown


def test_without_scripts_the_field_stands_under_its_line(
    site: Client, asked: FeedbackRequest
) -> None:
    shown = text(site.get(address(asked), {"view": "source", "line": "3"}))

    field = shown.index('id="remark-form"')
    assert shown.index('id="L3"') < field < shown.index('id="L4"')
    response = site.post(address(asked, "remarks/"), remark())
    assert (response.status_code, response["Location"]) == (
        303,
        address(asked) + "?view=source&file=list.md#L3",
    )
    assert "red" in text(site.get(response["Location"])).partition('id="L3"')[2][:900]


def test_a_remark_is_listed_changed_and_deleted(site: Client, asked: FeedbackRequest) -> None:
    listed = text(site.post(address(asked, "remarks/"), remark(), headers=part("remarks")))
    kept = ReviewComment.objects.get()
    assert "red" in listed
    assert "Must change" in listed

    there = address(asked, f"remarks/{kept.pk}/")
    assert "red" in text(site.get(there, headers=HTMX))
    changed = text(site.post(there, {"body": "green", "kind": "should"}, headers=part("remarks")))
    assert "green" in changed
    assert "Should change" in changed

    gone = text(site.post(f"{there}remove/", headers=part("remarks")))
    assert "green" not in gone
    assert not ReviewComment.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"body": " "}, "Write a comment."), ({"kind": "wish"}, "wish is not one of")],
)
def test_a_remark_that_says_nothing_is_refused(
    site: Client, asked: FeedbackRequest, wrong: dict[str, str], words: str
) -> None:
    response = site.post(address(asked, "remarks/"), {**remark(), **wrong}, headers=HTMX)

    assert response.status_code == 422
    assert words in text(response)
    assert not ReviewComment.objects.exists()


def test_without_scripts_an_empty_remark_is_refused_on_a_page_with_a_way_back(
    site: Client, asked: FeedbackRequest
) -> None:
    sent = {**remark(), "kind": "suggestion", "replacement": "x" * 10001, "body": "Half a thought"}

    empty = site.post(address(asked, "remarks/"), remark(body=" "))
    long = site.post(address(asked, "remarks/"), sent)

    for response, sentence in ((empty, "Write a comment."), (long, "at most 10000 characters")):
        shown = text(response)
        assert response.status_code == 422
        assert "<title>Comment on line 3 · FABER</title>" in shown
        assert sentence in shown
        assert "<span>revision 1</span>" in shown
        assert f'<a href="{address(asked)}" dir="auto">' in shown
    assert "Half a thought" in text(long)
    assert not ReviewComment.objects.exists()
    again = re.findall(r'name="(path|line)" value="([^"]*)"', text(long))
    assert ("path", "list.md") in again
    assert ("line", "3") in again


def test_a_comment_on_no_line_leads_back_to_the_request(
    site: Client, asked: FeedbackRequest
) -> None:
    response = site.get(address(asked, "remarks/"))

    assert (response.status_code, response["Location"]) == (303, address(asked))


def test_somebody_elses_remark_is_not_there(site: Client, asked: FeedbackRequest) -> None:
    sven = users.create("sven", role=Role.REVIEWER)
    place = LinePlace(path="list.md", revision=1, line=3, end_line=3)
    theirs = review.remark(asked, sven, place, body="secret thought", kind="must")

    assert "secret thought" not in text(site.get(address(asked)))
    for rest in (f"remarks/{theirs.pk}/", f"remarks/{theirs.pk}/remove/"):
        assert site.post(address(asked, rest), remark()).status_code == 404
    assert ReviewComment.objects.get().body == "secret thought"


def test_asking_for_changes_takes_the_remarks_along(site: Client, asked: FeedbackRequest) -> None:
    site.post(address(asked, "remarks/"), remark())

    site.post(address(asked), {"response": "request_changes", "seal": asked.seal})

    assert FeedbackResponse.objects.get().items[0]["body"] == "red"


# Drafts


def test_what_is_typed_survives_on_another_machine(
    site: Client, asked: FeedbackRequest, rita: User
) -> None:
    kept = site.post(address(asked, "draft/"), {"comment": "Half a sent"})
    elsewhere = Client()
    elsewhere.force_login(rita)

    assert kept.status_code == 303
    assert "Half a sent" in text(elsewhere.get(address(asked)))


def test_a_draft_changes_nothing_but_the_draft(site: Client, asked: FeedbackRequest) -> None:
    site.post(address(asked, "draft/"), {"comment": "x", "response": "approve"})

    assert Draft.objects.get().values == {"comment": "x"}
    assert not FeedbackResponse.objects.exists()


def saved(site: Client, asked: FeedbackRequest, **typed: str) -> Any:
    texts = {name: {"text": text, "known": [""]} for name, text in typed.items()}
    return site.post(address(asked, "draft/"), {"draft": json.dumps(texts)})


def test_a_second_tab_does_not_write_over_the_first(site: Client, asked: FeedbackRequest) -> None:
    assert saved(site, asked, comment="one").json() == {"conflicts": {}}

    assert saved(site, asked, comment="two").json() == {"conflicts": {"comment": "one"}}

    assert site.get(address(asked, "draft/")).json() == {"values": {"comment": "one"}}


def test_a_draft_of_somebody_signed_out_is_refused_and_not_sent_to_another_page(
    asked: FeedbackRequest,
) -> None:
    assert saved(Client(), asked, comment="one").status_code == 401


def test_begun_line_comments_stay_when_the_form_is_saved_and_go_when_they_are_added(
    site: Client, asked: FeedbackRequest
) -> None:
    place = {"path": "list.md", "revision": "1", "line": "3", "kind": "must", "body": "Which ki"}
    begun = {"begun-1": json.dumps(place)}
    texts = {name: {"text": text, "known": [""]} for name, text in begun.items()}
    site.post(address(asked, "draft/"), {"draft": json.dumps(texts)})
    site.post(address(asked, "draft/"), {"comment": "x"})
    assert Draft.objects.get().values == {**begun, "comment": "x"}
    field = text(site.get(f"{address(asked)}?view=source&file=list.md&line=3"))
    assert "Which ki" in field
    assert 'value="begun-1"' in field

    site.post(address(asked, "remarks/"), {**place, "body": "Which kind?", "begun": "begun-1"})

    assert Draft.objects.get().values == {"comment": "x"}
    assert ReviewComment.objects.get().body == "Which kind?"


# Undo


@pytest.mark.usefixtures("undo_time")
def test_an_answer_can_be_taken_back_with_everything_typed(
    site: Client, asked: FeedbackRequest
) -> None:
    answered = text(
        site.post(address(asked), approve(asked, comment="Well."), headers=part("desk"))
    )
    assert "Undo" in answered
    assert "Apply now" in answered

    undone = site.post(address(asked, "undo/"))

    assert (undone.status_code, undone["Location"]) == (303, address(asked))
    shown = text(site.get(address(asked)))
    assert "Your decision" in shown
    assert "Well." in shown


@pytest.mark.usefixtures("undo_time")
def test_go_now_shows_the_run_going_on(site: Client, asked: FeedbackRequest) -> None:
    site.post(address(asked), approve(asked))

    shown = text(site.post(address(asked, "go-now/"), headers=part("desk")))

    assert "Undo" not in shown
    assert "in progress" in shown


@pytest.mark.usefixtures("undo_time")
def test_the_page_hears_when_the_answer_took_effect(site: Client, asked: FeedbackRequest) -> None:
    site.post(address(asked), approve(asked))
    waiting = site.get(address(asked, "held/"), headers=part("desk"))
    site.post(address(asked, "go-now/"))
    over = site.get(address(asked, "held/"), headers=part("desk"))

    assert waiting.status_code == 204
    assert 'id="desk"' in text(over)


@pytest.mark.usefixtures("undo_time")
def test_too_late_to_undo_is_said(site: Client, asked: FeedbackRequest) -> None:
    site.post(address(asked), approve(asked))
    site.post(address(asked, "go-now/"))

    response = site.post(address(asked, "undo/"))

    assert response.status_code == 409
    assert "Too late" in text(response)


@pytest.mark.parametrize("rest", ["undo/", "go-now/", "remarks/1/remove/"])
def test_a_get_never_changes_anything(site: Client, asked: FeedbackRequest, rest: str) -> None:
    assert site.get(address(asked, rest)).status_code == 405


# Working through the inbox


@pytest.mark.usefixtures("undo_time")
def test_after_an_answer_the_next_request_opens_with_the_last_one_still_undoable(
    site: Client, asked: FeedbackRequest
) -> None:
    following = f.pending(f.started(f.five_steps()))

    response = site.post(address(asked), approve(asked, onward="1"))

    there = f"{address(following)}?onward=1&done={asked.request_id}"
    assert (response.status_code, response["Location"]) == (303, there)
    shown = text(site.get(there))
    assert following.prompt in shown
    assert f'action="{address(asked, "undo/")}"' in shown
    assert 'name="onward"' in shown


def test_the_next_request_is_of_the_same_filtered_list(
    site: Client, asked: FeedbackRequest
) -> None:
    f.started(f.five_steps())
    same = f.started(f.five_steps())
    same.project = Project.objects.create(name="Acme/Shop")
    same.save()
    same.requests.update(project=same.project)

    listed = text(site.get("/", {"project": "Acme/Shop"}))
    assert f'{address(f.pending(same))}?onward=project%3DAcme%252FShop"' in listed
    response = site.post(address(asked), approve(asked, onward="project=Acme%2FShop"))

    there, _, query = response["Location"].partition("?")
    assert there == address(f.pending(same))
    shown = text(site.get(there, QueryDict(query)))
    assert 'name="onward" value="project=Acme%2FShop"' in shown
    assert '<a href="/?project=Acme%2FShop">Inbox</a>' in shown
    last = site.post(there, approve(f.pending(same), onward="project=Acme%2FShop"))
    assert last["Location"] == there


def test_with_nothing_left_the_answered_page_stays(site: Client, asked: FeedbackRequest) -> None:
    response = site.post(address(asked), approve(asked, onward="1"))

    assert response["Location"] == address(asked)


def test_a_link_to_a_request_that_is_not_there_any_more_opens_anyway(
    site: Client, asked: FeedbackRequest
) -> None:
    assert site.get(address(asked), {"done": "fr-20260101-ffffff"}).status_code == 200


# Rounds


@pytest.fixture
def second(site: Client, asked: FeedbackRequest) -> FeedbackRequest:
    site.post(address(asked, "remarks/"), remark())
    site.post(address(asked, "remarks/"), remark(6, "by card?"))
    site.post(address(asked), {"response": "request_changes", "seal": asked.seal})
    return f.pending(f.work(asked.run))


def test_the_second_round_opens_on_the_difference(site: Client, second: FeedbackRequest) -> None:
    shown = text(site.get(address(second)))

    changes = shown.partition('class="pairs"')[2]
    assert re.search("<ins>[^<]*red", changes)
    assert "revision 2" in shown
    assert "Response to your review" in shown
    assert "Pears are in season." in shown


def test_a_document_too_large_to_lay_out_opens_as_source_in_parts(
    site: Client, asked: FeedbackRequest
) -> None:
    kept = asked.artifacts.get()
    kept.content = "".join(f"Line {number}.\n\n" for number in range(1, 60_001)).encode()
    kept.size = len(kept.content)
    kept.save()

    first = text(site.get(address(asked)))
    last = text(site.get(address(asked), {"view": "source", "start": "119000"}))

    assert 'id="L1"' in first
    assert 'id="L2001"' not in first
    assert "Line 59999." in last
    assert 'aria-label="Comment on line 119001"' in last


def test_changed_lines_are_shown_as_source(site: Client, second: FeedbackRequest) -> None:
    shown = text(site.get(address(second), {"view": "lines"}))

    assert '<td class="number">3</td>' in shown
    assert 'aria-label="Comment on line 3"' in shown


def test_older_revisions_can_be_chosen(site: Client, second: FeedbackRequest) -> None:
    site.post(address(second, "remarks/"), {**remark(4, "ripe"), "revision": 2})
    site.post(address(second), {"response": "request_changes", "seal": second.seal})
    third = f.pending(f.work(second.run))

    last = text(site.get(address(third), {"view": "lines"}))
    first = text(site.get(address(third), {"view": "lines", "since": "1"}))

    assert "<ins> (ripe)</ins>" in last
    assert "(red)</ins>" not in last
    assert "(red)</ins>" in first


def test_what_a_reviewer_last_decided_on_is_what_they_compare_with(
    site: Client, second: FeedbackRequest
) -> None:
    """Sven did the second round, so Rita last saw revision 1."""
    items = [{**remark(4, "ripe"), "revision": 2}]
    respond(second.request_id, "request_changes", actor=f.person("Sven"), words=Words(items=items))
    third = f.pending(f.work(second.run))

    shown = text(site.get(address(third), {"view": "lines"}))

    assert "(red)</ins>" in shown


def test_nonsense_in_the_address_shows_what_everybody_sees(
    site: Client, second: FeedbackRequest
) -> None:
    query = {"view": "upside-down", "since": "99", "file": "no.md", "line": "-1"}

    assert re.search("<ins>[^<]*red", text(site.get(address(second), query)))


def test_the_page_costs_few_queries(
    site: Client,
    second: FeedbackRequest,
    rita: User,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    place = LinePlace(path="list.md", revision=2, line=3, end_line=3)
    for _ in range(20):
        review.remark(second, rita, place, body="Again.", kind="must")

    with django_assert_max_num_queries(31):
        site.get(address(second))


# Files


def test_several_files_are_tabs_and_one_is_shown(site: Client, asked: FeedbackRequest) -> None:
    other = asked.run.revisions.create(
        path="notes.md", revision=1, sha256="0" * 64, size=8, content=b"# Notes\n"
    )
    asked.artifacts.add(other)

    first = text(site.get(address(asked)))
    second = text(site.get(address(asked), {"file": "notes.md"}))

    for shown in (first, second):
        assert 'aria-label="Files"' in shown
    assert "Buy apples." in first
    assert ">Notes</h1>" not in first
    assert ">Notes</h1>" in second
    assert "Buy apples." not in second
