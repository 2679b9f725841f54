"""Nothing typed is lost: signed out, offline, in two tabs, with an old token, the site killed."""

import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from playwright.sync_api import BrowserContext, Page, expect

from feedback.models import BatchDraft, Draft, FeedbackRequest, FeedbackResponse, ReviewComment
from runs.accounts import users
from tests import batches as b
from tests import factories as f
from tests.browser.conftest import OpenAs
from tests.browser.test_desk import comment_on, path, press
from tests.chaos.scratch import Scratch
from tests.commands import shell
from tests.sites import seed

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SAVED = "Draft saved"
AWAITS = 3  # the exit code of a run that waits for a decision
# What a browser says of a network that is gone, and of a form whose token is too old.
TROUBLE = r"net::ERR_|status of 403|^htmx:"


@pytest.fixture
def asked(roles: None, tmp_path: Path) -> FeedbackRequest:
    return f.reviewed_list(tmp_path)


@pytest.fixture
def question(roles: None) -> FeedbackRequest:
    return f.pending(f.started(f.workflow({"build": [f.step("x", "tests.steps:ask")]})))


def opened(open_as: OpenAs, asked: FeedbackRequest) -> Page:
    page = open_as(trouble=TROUBLE)
    page.goto(path(asked))
    return page


def begin(page: Page, line: int, words: str) -> None:
    page.get_by_role("button", name=f"Comment on line {line}", exact=True).click()
    page.get_by_role("textbox", name=f"Comment on line {line}", exact=True).fill(words)


def sign_in(page: Page, name: str = "rita") -> None:
    address = users.login_link(User.objects.get(username=name))[0].partition("/login/")[2]
    page.goto(f"/login/{address}")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Inbox").wait_for()


def test_everything_typed_is_there_on_another_machine(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    page.get_by_label("Comment", exact=True).fill("Half a thought")
    begin(page, 3, "Which ki")
    expect(page.locator("#draft")).to_have_text(SAVED)

    elsewhere = opened(open_as, asked)

    expect(elsewhere.get_by_label("Comment", exact=True)).to_have_value("Half a thought")
    expect(elsewhere.get_by_role("region", name="Not added yet")).to_contain_text("Which ki")
    elsewhere.get_by_role("button", name="Continue the comment on line 3").click()
    field = elsewhere.get_by_role("textbox", name="Comment on line 3")
    expect(field).to_have_value("Which ki")
    field.fill("Which kind?")
    press(elsewhere, "Add comment")
    expect(elsewhere.get_by_role("region", name="Your comments")).to_contain_text("Which kind?")
    expect(elsewhere.get_by_role("region", name="Not added yet")).to_be_hidden()
    assert Draft.objects.get().values == {"comment": "Half a thought"}


def test_escape_and_another_field_keep_what_was_begun_and_only_discard_drops_it(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    begin(page, 3, "first")
    begin(page, 6, "second")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Comment on line 6", exact=True)).to_be_focused()

    begun = page.get_by_role("region", name="Not added yet")
    expect(begun).to_contain_text("first")
    expect(begun).to_contain_text("second")
    expect(page.locator("#draft")).to_have_text(SAVED)
    page.reload()
    begin_again = page.get_by_role("button", name="Comment on line 3", exact=True)
    begin_again.click()
    expect(page.get_by_role("textbox", name="Comment on line 3")).to_have_value("first")
    press(page, "Discard")
    expect(begun).not_to_contain_text("first")
    page.get_by_role("button", name="Discard the comment on line 6").click()
    expect(begun).to_be_hidden()
    expect(page.locator("#draft")).to_have_text(SAVED)
    assert Draft.objects.get().values == {}


def test_an_edit_of_a_comment_is_kept_too(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = opened(open_as, asked)
    comment_on(page, 3, "Which kind?")
    page.get_by_role("link", name="Edit the comment on line 3").click()
    page.get_by_role("textbox", name="Comment on line 3").fill("Which si")
    page.keyboard.press("Escape")
    expect(page.locator("#draft")).to_have_text(SAVED)

    page.reload()
    page.get_by_role("button", name="Continue the comment on line 3").click()

    expect(page.get_by_role("textbox", name="Comment on line 3")).to_have_value("Which si")
    press(page, "Save comment")
    expect(page.locator(".file .inline-remark")).to_contain_text("Which si")
    assert ReviewComment.objects.get().body == "Which si"
    expect(page.get_by_role("region", name="Not added yet")).to_be_hidden()


def test_an_answer_asks_once_what_becomes_of_a_begun_comment(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    begin(page, 3, "red")
    press(page, "Request changes")
    press(page, "Cancel")
    expect(page.get_by_role("textbox", name="Comment on line 3")).to_have_value("red")
    assert not FeedbackResponse.objects.exists()

    press(page, "Request changes")
    press(page, "Add it and send")

    expect(page.get_by_text("rita chose Request changes")).to_be_visible()
    assert [item["body"] for item in FeedbackResponse.objects.get().items] == ["red"]
    assert Draft.objects.get().values == {}


def test_an_answer_without_a_begun_comment_leaves_it_a_draft(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    begin(page, 3, "red")
    press(page, "Approve")
    press(page, "Send without it")

    expect(page.get_by_text("rita chose Approve")).to_be_visible()
    assert FeedbackResponse.objects.get().items == []
    assert "red" in str(Draft.objects.get().values)


def test_an_answer_pressed_offline_says_so_and_is_sent_by_retry(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    page.context.set_offline(True)
    page.get_by_label("Comment", exact=True).fill("Fine.")
    expect(page.locator("#draft")).to_have_text("Draft saved in this browser only: you are offline")

    press(page, "Approve")

    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("Not sent, you are offline.")
    expect(page.get_by_text("tried again")).to_have_count(0)
    press(page, "Retry")
    expect(notice).to_contain_text("Not sent, you are offline.")
    assert not FeedbackResponse.objects.exists()
    page.context.set_offline(False)
    expect(page.locator("#draft")).to_have_text(SAVED)
    press(page, "Retry")
    expect(page.get_by_text("rita chose Approve")).to_be_visible()
    assert FeedbackResponse.objects.get().comment == "Fine."
    assert (
        page.evaluate("Object.keys(localStorage).filter((k) => k.startsWith('faber-draft '))") == []
    )


def test_what_was_not_sent_is_told_once_and_never_called_tried_again(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    toast = page.locator("#toast")
    page.context.set_offline(True)
    expect(toast).to_have_text("You are offline. This page is not updating.")

    press(page, "Approve")

    expect(page.get_by_role("alert")).to_contain_text("Not sent, you are offline.")
    expect(toast).to_be_hidden()
    with page.expect_event("requestfailed"):  # the next question for news
        pass
    expect(toast).to_be_hidden()
    page.context.set_offline(False)
    page.context.clear_cookies()
    press(page, "Retry")
    expect(page.get_by_role("alert")).to_contain_text("Not sent, you are signed out")
    page.wait_for_timeout(3_500)  # as long as a question for news takes to come
    expect(toast).to_be_hidden()


def test_a_page_that_asks_for_news_signed_out_does_not_speak_of_sending(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    Session.objects.all().delete()

    expect(page.locator("#toast")).to_have_text(
        "You are signed out. Sign in in another tab; your text stays here."
    )


def test_a_comment_is_begun_offline_and_added_when_the_network_is_back(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    page.context.set_offline(True)
    begin(page, 3, "Which kind?")
    press(page, "Add comment")
    expect(page.get_by_role("alert")).to_contain_text("Not sent, you are offline.")
    page.context.set_offline(False)

    press(page, "Retry")

    expect(page.get_by_role("region", name="Your comments")).to_contain_text("Which kind?")


def test_a_browser_that_lost_its_cookies_is_told_that_it_is_signed_out(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    page.context.clear_cookies()
    page.get_by_label("Comment", exact=True).fill("Typed too late")

    expect(page.locator("#draft")).to_have_text(
        "Draft saved in this browser only: you are signed out"
    )
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Not sent, you are signed out")
    sign_in(page)
    page.goto(path(asked))

    expect(page.get_by_label("Comment", exact=True)).to_have_value("Typed too late")
    expect(page.locator("#draft")).to_have_text(SAVED)


def test_a_question_before_sending_keeps_its_distance_from_the_edge(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    begin(page, 3, "Begun")
    page.get_by_role("button", name="Approve", exact=True).click()
    dialog = page.get_by_role("dialog", name="A line comment is not added yet")

    top = "e => e.getBoundingClientRect().top"
    assert dialog.locator("h2, p").first.evaluate(top) - dialog.evaluate(top) >= 12


def test_what_is_typed_after_the_session_ended_is_there_after_signing_in(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    Session.objects.all().delete()
    page.get_by_label("Comment", exact=True).fill("Typed too late")
    begin(page, 3, "This too")
    expect(page.locator("#draft")).to_have_text(
        "Draft saved in this browser only: you are signed out"
    )
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Approve", exact=True).click()
    press(page, "Send without it")
    expect(page.get_by_role("alert")).to_contain_text("Not sent, you are signed out")
    assert not FeedbackResponse.objects.exists()

    sign_in(page)
    page.goto(path(asked))

    expect(page.get_by_label("Comment", exact=True)).to_have_value("Typed too late")
    expect(page.get_by_role("region", name="Not added yet")).to_contain_text("This too")
    expect(page.locator("#draft")).to_have_text(SAVED)
    assert Draft.objects.get().values["comment"] == "Typed too late"


def test_signing_in_again_in_another_tab_lets_the_first_go_on(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    other = page.context.new_page()
    other.goto("/")
    other.locator("details.menu summary").click()
    other.get_by_role("button", name="Sign out").click()
    sign_in(other)  # which gives every form a new token

    page.get_by_label("Comment", exact=True).fill("Still here")
    expect(page.locator("#draft")).to_have_text(SAVED)
    press(page, "Approve")

    expect(page.get_by_text("rita chose Approve")).to_be_visible()
    assert FeedbackResponse.objects.get().comment == "Still here"


def test_an_answer_with_an_old_token_is_sent_with_a_new_one(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    page.evaluate(
        "for (const field of document.querySelectorAll('[name=csrfmiddlewaretoken]')) {"
        "  field.value = 'x'.repeat(64); }"
    )

    press(page, "Approve")

    expect(page.get_by_text("rita chose Approve")).to_be_visible()


def test_somebody_else_who_signs_in_gets_neither_the_words_nor_the_answer(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    open_as("sven")
    page = opened(open_as, asked)
    other = page.context.new_page()
    sign_in(other, "sven")
    page.get_by_label("Comment", exact=True).fill("Rita's words")
    expect(page.locator("#draft")).to_contain_text("Draft saved in this browser only")

    press(page, "Approve")

    expect(page.get_by_role("alert")).to_contain_text("Not sent")
    assert not FeedbackResponse.objects.exists()
    other.goto(path(asked))
    expect(other.get_by_label("Comment", exact=True)).to_have_value("")


def test_two_tabs_are_offered_what_the_other_wrote(open_as: OpenAs, asked: FeedbackRequest) -> None:
    one = opened(open_as, asked)
    two = one.context.new_page()
    two.goto(path(asked))
    one.get_by_label("Comment", exact=True).fill("from one")
    expect(one.locator("#draft")).to_have_text(SAVED)

    two.get_by_label("Comment", exact=True).fill("from two")
    offer = two.locator("[data-offer]")
    expect(offer).to_contain_text("You also wrote this in another tab:")
    expect(offer).to_contain_text("from one")
    assert Draft.objects.get().values == {"comment": "from one"}
    press(two, "Use this text")
    expect(two.get_by_label("Comment", exact=True)).to_have_value("from one")
    expect(offer).to_contain_text("from two")  # which only Discard drops
    two.reload()
    expect(offer).to_contain_text("from two")
    press(two, "Discard")
    expect(offer).to_have_count(0)
    two.reload()
    expect(two.get_by_label("Comment", exact=True)).to_have_value("from one")
    expect(offer).to_have_count(0)


def test_two_tabs_that_write_one_line_comment_in_turn_lose_no_word(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    one = opened(open_as, asked)
    begin(one, 3, "Written in tab one.")
    expect(one.locator("#draft")).to_have_text(SAVED)
    two = one.context.new_page()
    two.goto(path(asked))
    two.get_by_role("button", name="Comment on line 3", exact=True).click()
    field = two.get_by_role("textbox", name="Comment on line 3")
    expect(field).to_have_value("Written in tab one.")
    field.press_sequentially(" Added in tab two.")
    expect(two.locator("#draft")).to_have_text(SAVED)

    before = one.get_by_role("textbox", name="Comment on line 3")
    expect(before).to_have_value("Written in tab one. Added in tab two.")
    before.press_sequentially(" More in tab one.")
    expect(one.locator("#draft")).to_have_text(SAVED)
    whole = "Written in tab one. Added in tab two. More in tab one."
    expect(field).to_have_value(whole)
    two.keyboard.press("Escape")
    expect(two.get_by_role("region", name="Not added yet")).to_contain_text(whole)
    expect(two.locator("#draft")).to_have_text(SAVED)

    (kept,) = Draft.objects.get().values.values()
    assert json.loads(kept)["body"] == whole


def test_a_tab_that_did_not_hear_of_the_other_keeps_both_line_comments(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    one = opened(open_as, asked)
    begin(one, 3, "Written in tab one.")
    expect(one.locator("#draft")).to_have_text(SAVED)
    two = one.context.new_page()
    two.goto(path(asked))
    two.get_by_role("button", name="Comment on line 3", exact=True).click()
    one.route("**/draft/", lambda route: route.abort())
    two.get_by_role("textbox", name="Comment on line 3").press_sequentially(" Added in tab two.")
    expect(two.locator("#draft")).to_have_text(SAVED)
    one.get_by_role("textbox", name="Comment on line 3").press_sequentially(" More in tab one.")
    one.unroute("**/draft/")
    expect(one.locator("#draft")).to_have_text(SAVED)
    two.keyboard.press("Escape")

    both = one.get_by_role("region", name="Not added yet")
    expect(both).to_contain_text("Written in tab one. Added in tab two.")
    field = one.get_by_role("textbox", name="Comment on line 3")
    expect(field).to_have_value("Written in tab one. More in tab one.")
    kept = sorted(json.loads(each)["body"] for each in Draft.objects.get().values.values())
    assert kept == ["Written in tab one. Added in tab two.", "Written in tab one. More in tab one."]


def test_a_form_that_is_brought_anew_does_not_take_away_what_another_tab_wrote(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    one = opened(open_as, asked)
    begin(one, 3, "Written in tab one.")
    expect(one.locator("#draft")).to_have_text(SAVED)
    two = one.context.new_page()
    two.goto(path(asked))
    two.get_by_role("button", name="Comment on line 3", exact=True).click()
    unheard = re.compile("/draft/$")
    one.route(
        unheard, lambda route: route.abort() if route.request.method == "GET" else route.continue_()
    )
    two.get_by_role("textbox", name="Comment on line 3").press_sequentially(" Added in tab two.")
    expect(two.locator("#draft")).to_have_text(SAVED)

    press(one, "Request changes")
    press(one, "Send without it")
    expect(one.get_by_text("Say what should change")).to_be_visible()

    whole = "Written in tab one. Added in tab two."
    expect(one.get_by_role("textbox", name="Comment on line 3")).to_have_value(whole)
    expect(one.locator("#draft")).to_have_text(re.compile("Draft saved|^$"))
    (kept,) = Draft.objects.get().values.values()
    assert json.loads(kept)["body"] == whole


def test_a_tab_opened_later_has_what_the_other_could_not_save(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    one = opened(open_as, asked)
    one.route("**/draft/", lambda route: route.abort())
    one.get_by_label("Comment", exact=True).fill("only in the browser")
    expect(one.locator("#draft")).to_contain_text("Draft saved in this browser only")
    assert not Draft.objects.exists()

    two = one.context.new_page()
    two.goto(path(asked))

    expect(two.get_by_label("Comment", exact=True)).to_have_value("only in the browser")
    expect(two.locator("#draft")).to_have_text(SAVED)
    assert Draft.objects.get().values == {"comment": "only in the browser"}


def test_leaving_the_page_at_once_keeps_the_last_letters(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    page.get_by_label("Comment", exact=True).fill("gone before it was saved")
    page.goto("/")
    page.goto(path(asked))

    expect(page.get_by_label("Comment", exact=True)).to_have_value("gone before it was saved")


def test_without_storage_and_network_it_says_that_nothing_is_saved(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as, asked)
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full'); }; }")
    page.context.set_offline(True)

    page.get_by_label("Comment", exact=True).fill("nowhere")

    expect(page.locator("#draft")).to_have_text("Draft not saved: you are offline")
    page.context.set_offline(False)
    expect(page.locator("#draft")).to_have_text(SAVED)


def test_answers_to_questions_are_kept(open_as: OpenAs, question: FeedbackRequest) -> None:
    page = opened(open_as, question)
    field = page.locator('#answer [name^="question-"]').first
    field.fill("PostgreSQL, I thi")
    expect(page.locator("#draft")).to_have_text(SAVED)

    page.reload()

    expect(page.locator('#answer [name^="question-"]').first).to_have_value("PostgreSQL, I thi")


def test_the_rows_of_a_batch_are_kept_until_they_are_on_record(
    open_as: OpenAs, roles: None
) -> None:
    batch = b.new_batch()
    b.asks(batch, "approval", "106")
    b.asks(batch, "approval", "107")
    page = open_as(trouble=TROUBLE)
    page.goto(f"/batches/{batch.batch_id}/")
    page.get_by_label("Comment for run #106").fill("half a th")
    page.get_by_label("Comment for run #107").fill("yes, since")
    page.get_by_label("Paste answers, one line per run").fill("#106: app")
    expect(page.locator("[data-draft-state]")).to_have_text(SAVED)

    page.reload()
    expect(page.get_by_label("Comment for run #106")).to_have_value("half a th")
    text = page.get_by_label("Paste answers, one line per run")
    expect(text).to_have_value("#106: app")
    page.locator(".batch-row", has_text="#107").get_by_text("Approve").click()
    page.locator(".batch-row", has_text="#106").get_by_text("Reject").click()
    page.context.set_offline(True)
    page.get_by_role("button", name="Send 2 answers").click()
    expect(page.get_by_role("alert")).to_contain_text("Not sent, you are offline.")
    page.context.set_offline(False)
    press(page, "Retry")

    expect(page.locator("#results")).to_contain_text("2 answers recorded.")
    assert sorted(r.comment for r in FeedbackResponse.objects.all()) == ["half a th", "yes, since"]
    page.reload()
    expect(text).to_have_value("#106: app")
    assert BatchDraft.objects.get(batch_id=batch.batch_id).values == {"text": "#106: app"}


ASKING = """
id: asking
phases: {build: {steps: [{id: look, python: "tests.steps:succeed", requires_approval: true}]}}
"""


@pytest.mark.chaos
@pytest.mark.timeout(300)
def test_words_typed_while_the_site_is_down_are_saved_when_it_is_up_again(
    tmp_path: Path, new_context: Callable[..., BrowserContext]
) -> None:
    with closing(Scratch(seed(tmp_path / "data"))) as scratch:
        assert shell(tmp_path, "user", "create", "rita", "--role", "operator").code == 0
        (tmp_path / "asking.yaml").write_text(ASKING)
        started = shell(tmp_path, "run", "asking.yaml", "--json")
        assert started.code == AWAITS, started.err
        request_id = started.document["pending_request"]
        link = shell(tmp_path, "login-link", "rita", "--json").document["url"]
        scratch.start("web")
        page = new_context(base_url=f"http://127.0.0.1:{scratch.port}").new_page()
        page.goto(f"/login/{link.partition('/login/')[2]}")
        page.get_by_role("button", name="Sign in").click()
        page.goto(f"/requests/{request_id}/")
        scratch.close()

        page.get_by_label("Comment", exact=True).fill("Written into the void")
        expect(page.locator("#draft")).to_have_text(
            "Draft saved in this browser only: the server is unreachable"
        )
        press(page, "Approve")
        expect(page.get_by_role("alert")).to_contain_text("Not sent, the server is unreachable.")
        scratch.start("web")

        expect(page.locator("#draft")).to_have_text(SAVED, timeout=40_000)
        press(page, "Retry")
        expect(page.get_by_text("rita chose Approve")).to_be_visible()
        shown = shell(tmp_path, "show", request_id, "--json").document
        assert shown["response"]["comment"] == "Written into the void"
