"""What people do with the pages, done by a real browser."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, ViewportSize, expect

from feedback.models import FeedbackRequest, FeedbackResponse
from runs import engine
from runs.models import Run
from runs.models.live_output import LiveOutput
from tests import factories as f
from tests.browser.conftest import OpenAs

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 360, "height": 740}
WORDS = "Keep the limits per account."
SPEC = """\
# Rate-limited login

Five wrong passwords lock an account, see `a/rather/long/path/that/has/no/place/to/break.py`.

<!-- approve without asking -->

| Decision | Choice | Reason | Who asked for it | Since |
|---|---|---|---|---|
| Counter | Redis with a sliding window | survives restarts | operations | 2026-11-01 |

```python
def is_locked(account: str, *, now: datetime, window: timedelta = WINDOW) -> bool: return False
```
"""


@pytest.fixture
def asked(roles: None, tmp_path: Path) -> FeedbackRequest:
    """The review of a specification, with a build and a release after it."""
    (tmp_path / "spec.md").write_text(SPEC)
    review: dict[str, Any] = {
        "requires_approval": True,
        "approval_type": "review",
        "artifact": "spec.md",
    }
    document = f.workflow(
        {
            "frame": [f.step("look")],
            "architect": [f.step("specify", **review)],
            "build": [f.step("make")],
            "release": {"require_approval": True, "steps": [f.step("merge")]},
        }
    )
    return f.pending(f.started(document, tmp_path, work_id="258"))


def path(asked: FeedbackRequest) -> str:
    return f"/requests/{asked.request_id}/"


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_from_the_inbox_to_an_approval_and_on(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = open_as()
    expect(page.get_by_text("1 open")).to_be_visible()

    page.get_by_role("link", name=asked.title).click()
    expect(page.locator("h1.prompt")).to_have_text("Rate-limited login")
    expect(page.get_by_text("revision 1")).to_be_visible()
    expect(page.get_by_text("An HTML comment is hidden on line 5.")).to_be_visible()
    press(page, "Approve")

    desk = page.get_by_role("complementary")
    expect(desk).to_contain_text("rita chose Approve in the browser")
    expect(desk).to_contain_text("in progress")
    f.work(asked.run)
    expect(desk).to_contain_text("Waiting for a decision: Approve starting the Release phase?")
    desk.get_by_role("link", name="Approve starting the Release phase?").click()
    press(page, "Approve")
    f.work(asked.run)
    expect(page.get_by_role("complementary")).to_contain_text("completed")


def test_request_changes_without_words_puts_the_cursor_where_they_go(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))

    press(page, "Request changes")

    comment = page.get_by_label("Comment", exact=True)
    expect(comment).to_be_focused()
    expect(comment).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("Say what should change")).to_be_visible()
    assert not FeedbackResponse.objects.exists()
    page.keyboard.type(WORDS)
    press(page, "Request changes")
    expect(page.get_by_role("complementary")).to_contain_text(WORDS)
    assert FeedbackResponse.objects.get().comment == WORDS


def test_an_open_form_hears_that_somebody_else_answered(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    comment = page.get_by_label("Comment", exact=True)
    comment.fill(WORDS)

    f.answer(asked.run, "approve", actor=f.person("Bob"))

    expect(page.get_by_text("Bob chose Approve")).to_be_visible()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    expect(comment).to_have_value(WORDS)
    expect(comment).to_be_focused()


def test_the_second_of_two_is_told_who_what_and_when(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    rita, bob = open_as(), open_as("bob")
    for page in (rita, bob):
        page.goto(path(asked))
    bob.get_by_label("Comment", exact=True).fill(WORDS)

    press(rita, "Reject")
    expect(rita.get_by_text("rita chose Reject")).to_be_visible()
    press(bob, "Request changes")

    expect(bob.get_by_role("alert")).to_contain_text("Already answered: rita chose reject (web,")
    expect(bob.get_by_label("Your text")).to_have_value(WORDS)
    assert FeedbackResponse.objects.count() == 1


def test_a_double_click_gives_one_response_and_no_alarm(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))

    page.get_by_role("button", name="Approve", exact=True).dblclick()

    expect(page.get_by_text("rita chose Approve")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert FeedbackResponse.objects.count() == 1


def test_going_back_after_an_answer_shows_the_answer(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    press(page, "Approve")
    page.get_by_role("link", name="View run", exact=True).click()
    expect(page.get_by_role("heading", name="Phases")).to_be_visible()

    page.go_back()

    expect(page.get_by_text("rita chose Approve")).to_be_visible()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)


def test_a_session_that_ends_does_not_cost_the_words(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    page.get_by_label("Comment", exact=True).fill(WORDS)
    Session.objects.all().delete()

    press(page, "Approve")

    expect(page.get_by_role("alert")).to_contain_text("Not sent, you are signed out")
    expect(page.get_by_label("Comment", exact=True)).to_have_value(WORDS)
    assert not FeedbackResponse.objects.exists()


def test_the_inbox_hears_of_a_new_request_and_keeps_the_focus(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    first = page.get_by_role("link", name=asked.title)
    first.focus()

    f.started(f.workflow({"build": [f.step("x", "tests.steps:fail")]}))

    expect(page.get_by_text("2 open")).to_be_visible()
    expect(page).to_have_title("(2) Inbox · FABER")
    expect(first).to_be_focused()


def test_the_source_is_a_click_away_and_the_words_stay(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    page.get_by_label("Comment", exact=True).fill(WORDS)

    page.get_by_role("link", name="Source", exact=True).click()

    expect(page.get_by_text("<!-- approve without asking -->")).to_be_visible()
    expect(page.get_by_label("Comment", exact=True)).to_have_value(WORDS)


def test_a_running_step_is_followed_on_the_page_of_its_run(open_as: OpenAs) -> None:
    page = open_as()
    run = f.start(f.workflow({"build": [f.step("make")]}))
    claim = engine.claim(run.pk, "by-hand")
    assert claim
    page.goto(f"/runs/{run.run_id}/")

    LiveOutput(claim.attempt.pk).add(["12 of 40 files"])
    expect(page.get_by_text("12 of 40 files")).to_be_visible()
    engine.cancel(run.pk, reason="enough", actor=f.STARTER)

    expect(page.locator("header .status")).to_have_text("cancelled")


def test_everything_works_without_javascript(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = open_as(java_script_enabled=False)
    page.get_by_role("link", name=asked.title).click()

    press(page, "Request changes")
    expect(page.get_by_text("Say what should change")).to_be_visible()
    expect(page.get_by_label("Comment", exact=True)).to_be_focused()
    page.get_by_label("Comment", exact=True).fill(WORDS)
    press(page, "Request changes")

    expect(page).to_have_url(f"{page.url.partition('/requests/')[0]}{path(asked)}")
    expect(page.get_by_text("rita chose Request changes")).to_be_visible()
    expect(page.get_by_text(WORDS)).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_a_phone_and_can_be_read(
    open_as: OpenAs, asked: FeedbackRequest, scheme: str
) -> None:
    page = open_as(viewport=PHONE, color_scheme=scheme)
    done = f.started(f.workflow({"build": [f.step("x", "tests.steps:fail")]}))
    f.answer(done, "abort", "A-word-" * 30)

    pages = ["/", path(asked), f"{path(asked)}?view=source", "/runs/"]
    pages += ["/account/sessions/", *run_pages(asked.run, done)]
    for address in pages:
        page.goto(address)
        assert page.evaluate(WIDER_THAN_THE_SCREEN) == 0, address
        assert page.evaluate(HARD_TO_READ) == [], f"{address} ({scheme})"
    assert page.evaluate(IS_DARK) is (scheme == "dark")


def run_pages(waiting: Run, done: Run) -> list[str]:
    answered = done.requests.get()
    return [f"/runs/{waiting.run_id}/", f"/runs/{done.run_id}/", path(answered)]


WIDER_THAN_THE_SCREEN = """() =>
  document.documentElement.scrollWidth - document.documentElement.clientWidth
"""

_COLOURS = """
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
"""

IS_DARK = f"""() => {{
  {_COLOURS}
  return light(behind(document.body)) < 0.2;
}}"""

# Every text on the page against what is behind it: 4.5 to 1 is what AA asks for.
HARD_TO_READ = f"""() => {{
  {_COLOURS}
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {{
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility() || element.closest("option, .skip-link")) continue;
    const [one, two] = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < 4.5) found.push(`${{text.slice(0, 40)}} ${{ratio.toFixed(2)}}`);
  }}
  return found;
}}"""
