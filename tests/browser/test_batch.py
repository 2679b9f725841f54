"""The desk of a batch in a real browser: with keys, on a phone, in the dark, without scripts."""

import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, ViewportSize, expect

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.models import Batch, Run
from tests import batches as b
from tests import factories as f
from tests.browser.conftest import OpenAs
from tests.browser.test_pages import HARD_TO_READ, IS_DARK, WIDER_THAN_THE_SCREEN

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture
def batch(roles: None, tmp_path: Path) -> Batch:
    batch = b.new_batch()
    runs = b.twelve(batch)
    b.set_branch(runs["100"], "feat/100-add-csv-export")
    b.asks(batch, "approval", "106")
    b.asks(batch, "approval", "107")
    b.asks(batch, "clarification", "108")
    asked = f.reviewed_list(tmp_path)
    Run.objects.filter(pk=asked.run.pk).update(batch=batch)
    return batch


def opened(open_as: OpenAs, batch: Batch, **options: Any) -> Page:
    page = open_as(**options)
    page.goto(f"/batches/{batch.batch_id}/")
    page.wait_for_load_state()
    return page


def given(work_id: str) -> list[str]:
    found = FeedbackResponse.objects.filter(request__run__work_id=work_id)
    return list(found.values_list("response", flat=True))


def row(page: Page, work_id: str) -> Any:
    run = Run.objects.get(work_id=work_id)
    return page.locator(f"#row-{run.uuid}")


def test_chosen_by_keys_and_sent_at_once(open_as: OpenAs, batch: Batch) -> None:
    page = opened(open_as, batch)
    link = row(page, "100").locator(".row-link")

    page.keyboard.press("j")
    expect(page.locator(".batch-row[data-open] .row-link").first).to_be_focused()
    link.focus()
    page.keyboard.press("1")
    expect(row(page, "100").get_by_label("Approve")).to_be_checked()
    page.keyboard.press("=")
    expect(page.get_by_role("button", name="Send 3 answers")).to_be_visible()
    row(page, "107").locator(".row-link").focus()
    page.keyboard.press("2")
    page.keyboard.press("c")
    page.keyboard.type("1 = not yet")
    page.keyboard.press("Escape")
    assert not FeedbackResponse.objects.exists()

    row(page, "106").locator(".row-link").focus()
    page.keyboard.press("s")
    page.keyboard.press("Enter")

    expect(page.locator("#results")).to_contain_text("3 answers recorded.")
    still = FeedbackRequest.objects.filter(status="pending").count()
    expect(page.locator("#open-count")).to_contain_text(f"{still} waiting")
    assert (given("100"), given("106"), given("107")) == (["approve"], ["approve"], ["reject"])
    assert FeedbackResponse.objects.get(response="reject").comment == "1 = not yet"
    assert FeedbackResponse.objects.count() == 3


def test_the_same_for_all_fills_in_without_sending(open_as: OpenAs, batch: Batch) -> None:
    page = opened(open_as, batch)

    page.get_by_role("button", name="Reject for all 3: Approval").click()

    expect(page.get_by_role("button", name="Send 3 answers")).to_be_visible()
    for work_id in ("100", "106", "107"):
        expect(row(page, work_id).get_by_label("Reject")).to_be_checked()
    row(page, "106").get_by_text("Leave open").click()
    expect(page.get_by_role("button", name="Send 2 answers")).to_be_visible()
    assert not FeedbackResponse.objects.exists()


def test_enter_in_a_comment_sends_nothing(open_as: OpenAs, batch: Batch) -> None:
    page = opened(open_as, batch)
    row(page, "100").get_by_label("Approve").check()

    row(page, "100").get_by_label("Comment for run #100").press("Enter")

    expect(page.get_by_role("button", name="Send 1 answer")).to_be_visible()
    assert not FeedbackResponse.objects.exists()


def test_one_card_for_runs_that_ask_the_same(open_as: OpenAs, batch: Batch) -> None:
    page = opened(open_as, batch)
    card = page.locator(".batch-card")

    expect(card).to_contain_text("2 runs ask the same")
    card.get_by_label("Answer for the selected runs").fill("PostgreSQL")
    page.get_by_role("button", name="Send 2 answers").click()

    expect(page.locator("#results")).to_contain_text("2 answers recorded.")
    assert given("104") == given("108") == ["PostgreSQL"]


def test_news_comes_by_itself_and_leaves_what_is_typed(open_as: OpenAs, batch: Batch) -> None:
    page = opened(open_as, batch)
    kept = row(page, "106").get_by_label("Comment for run #106")
    kept.fill("half a thought")
    row(page, "107").get_by_label("Comment for run #107").fill("too late")

    f.answer(Run.objects.get(work_id="107"), "reject", actor=f.person("Otto"))

    expect(row(page, "107")).to_contain_text("Otto chose Reject")
    expect(row(page, "107")).to_contain_text("Your text was not sent: too late")
    expect(kept).to_have_value("half a thought")
    f.work(Run.objects.get(work_id="130"))
    expect(row(page, "130")).to_contain_text("Completed")


def test_news_that_comes_after_the_answers_were_sent_is_let_go(
    open_as: OpenAs, batch: Batch
) -> None:
    page = opened(open_as, batch)
    late: list[Route] = []
    page.route("**/batches/*/?v=*", lambda asked: late.extend([asked]), times=1)
    with page.expect_request("**/batches/*/?v=*"):
        row(page, "100").get_by_label("Approve").check()
    page.get_by_role("button", name="Send 1 answer").click()
    expect(page.locator("#results")).to_contain_text("1 answer recorded.")

    with page.expect_response(lambda said: said.request == late[0].request) as news:
        late[0].continue_()
    news.value.finished()

    expect(page.locator("#results")).to_contain_text("1 answer recorded.")
    expect(row(page, "100")).to_contain_text("Recorded")


def test_a_peek_at_the_artifact(open_as: OpenAs, batch: Batch) -> None:
    page = opened(open_as, batch)

    peek = page.locator(".batch-peek", has_text="list.md")
    peek.locator("summary").click()

    expect(peek).to_contain_text("Buy apples.")


def test_pasted_lines(open_as: OpenAs, batch: Batch) -> None:
    page = opened(open_as, batch)

    page.get_by_label("Paste answers, one line per run").fill("#100: approve\n#999: approve")
    page.get_by_role("button", name="Send lines").click()

    expect(page.locator("#results")).to_contain_text("1 recorded, 1 failed:")
    expect(page.get_by_label("Paste answers, one line per run")).to_have_value("#999: approve")
    assert given("100") == ["approve"]


def test_all_of_it_without_scripts(open_as: OpenAs, batch: Batch) -> None:
    page = opened(open_as, batch, java_script_enabled=False)

    page.get_by_role("button", name="Approve for all 3: Approval").click()
    expect(row(page, "107").get_by_label("Approve")).to_be_checked()
    row(page, "107").get_by_label("Reject").check()
    page.get_by_role("button", name="Send answers").click()

    expect(page.get_by_text("3 answers recorded.")).to_be_visible()
    assert (given("100"), given("106"), given("107")) == (["approve"], ["approve"], ["reject"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desk", "phone"])
def test_the_page_is_readable_everywhere(
    open_as: OpenAs, batch: Batch, scheme: str, viewport: ViewportSize | None
) -> None:
    options: dict[str, Any] = {"viewport": viewport} if viewport else {}
    page = opened(open_as, batch, color_scheme=scheme, **options)

    assert page.evaluate(IS_DARK) is (scheme == "dark")
    assert page.evaluate(WIDER_THAN_THE_SCREEN) == 0
    assert page.evaluate(HARD_TO_READ) == []
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_two_hundred_rows_can_be_sent_at_once(open_as: OpenAs, roles: None) -> None:
    batch = b.new_batch()
    runs = [b.asks(batch, "approval", str(1000 + n)) for n in range(200)]
    page = opened(open_as, batch)

    page.get_by_role("button", name=re.compile("Approve for all 200")).click()
    page.get_by_role("button", name="Send 200 answers").click()

    expect(page.locator("#results")).to_contain_text("200 answers recorded.", timeout=60_000)
    assert FeedbackResponse.objects.filter(response="approve").count() == len(runs)
    assert not FeedbackRequest.objects.filter(status="pending").exists()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desk", "phone"])
def test_the_form_that_starts_is_readable_and_starts(
    open_as: OpenAs, roles: None, scheme: str, viewport: ViewportSize | None
) -> None:
    options: dict[str, Any] = {"viewport": viewport} if viewport else {}
    page = open_as(color_scheme=scheme, **options)
    page.goto("/start/")

    assert page.evaluate(WIDER_THAN_THE_SCREEN) == 0
    assert page.evaluate(HARD_TO_READ) == []
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.get_by_label("demo", exact=True).check()
    page.get_by_label("Work ids").fill("1 2 3")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible()
    assert Batch.objects.get().runs.count() == 3


@pytest.mark.parametrize("start", ["/runs/", "/"])
def test_runs_are_selected_in_a_list_and_answered_together(
    open_as: OpenAs, roles: None, start: str
) -> None:
    runs = [f.started(f.five_steps(), work_id=str(number)) for number in (201, 202, 203)]
    page = open_as()
    page.goto(start)
    together = page.get_by_role("button", name="Answer selected runs together")
    expect(together).to_be_hidden()
    for number in (201, 203):
        page.get_by_label(re.compile(f"Select .* #{number}$")).check()

    # News, which replace the list, leave the ticks alone.
    f.started(f.five_steps(), work_id="204")
    expect(page.get_by_label(re.compile("Select .* #204$"))).to_be_visible(timeout=15_000)
    expect(page.locator('input[name="runs"]:checked')).to_have_count(2)
    expect(together).to_have_text("Answer selected runs together 2")
    assert Axe().run(page).violations_count == 0
    together.click()

    expect(page.get_by_role("heading", name="Selected runs")).to_be_visible()
    expect(page.locator(".batch-row")).to_have_count(2)
    for run in (runs[0], runs[2]):
        page.locator(f"#row-{run.uuid}").get_by_text("Approve").click()
    page.get_by_role("button", name="Send 2 answers").click()
    expect(page.locator("#results")).to_contain_text("2 answers recorded.")
    assert [given(str(number)) for number in (201, 202, 203)] == [["approve"], [], ["approve"]]
