"""The inbox and the desk, as a browser sees them."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from feedback.models import FeedbackRequest, FeedbackResponse
from runs import engine
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.models import Run, StepOutput
from tests import factories as f

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
WORDS = "Use semicolons, please.\nAnd name the columns."


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
def vic() -> User:
    return users.create("vic", role=Role.VIEWER)


@pytest.fixture
def site(client: Client, rita: User) -> Client:
    """A browser in which Rita, a reviewer, is signed in."""
    client.force_login(rita)
    return client


@pytest.fixture
def asked() -> FeedbackRequest:
    return f.pending(f.started(f.five_steps()))


@pytest.fixture
def of_spec(tmp_path: Path) -> FeedbackRequest:
    """A review of the first revision of a file."""
    spec = f.step(
        "spec",
        "tests.steps:write_spec",
        artifact="specs/spec.md",
        requires_approval=True,
        approval_type="review",
    )
    return f.pending(f.started(f.workflow({"architect": [spec]}), tmp_path))


def clarification(*questions: object) -> FeedbackRequest:
    asked = f.pending(f.started(f.workflow({"build": [f.step("ask", "tests.steps:ask")]})))
    asked.context = {**asked.context, "questions": list(questions)}
    asked.save()
    return asked


def question(words: str, *options: str) -> dict[str, object]:
    return {"id": words[:1], "question": words, "options": list(options)}


def many_open(count: int) -> None:
    first = f.pending(f.started(f.five_steps()))
    run = first.run
    runs = []
    for _ in range(count - 1):
        run.pk, run.uuid = None, uuid4()
        run.run_id = f"acme/app/{run.uuid}"
        runs.append(
            Run(**{field.attname: getattr(run, field.attname) for field in run._meta.fields})
        )
    for number, other in enumerate(Run.objects.bulk_create(runs)):
        first.pk, first.run, first.request_id = None, other, f"fr-20260101-{number:06x}"
        first.save(force_insert=True)


# The inbox


def test_an_answered_request_leaves_the_inbox(site: Client, asked: FeedbackRequest) -> None:
    f.answer(asked.run, "approve")

    assert asked.prompt not in text(site.get("/"))


def test_an_empty_inbox_says_how_to_start_a_run(site: Client) -> None:
    shown = text(site.get("/"))

    assert "0 open" in shown
    assert "faber run demo" in shown


def test_a_poll_changes_the_page_only_when_something_changed(site: Client) -> None:
    f.started(f.five_steps())
    version = re.search(r"v=([\w-]+)", text(site.get("/")))
    assert version

    same = site.get("/", {"v": version[1]}, headers=HTMX)
    other = site.get("/", {"v": "old"}, headers=HTMX)

    assert (same.status_code, same.content) == (204, b"")
    assert other.status_code == 200
    assert "<html" not in text(other)
    assert "1 open" in text(other)
    assert "HX-Request" in other["Vary"]


def test_a_hundred_open_requests_cost_few_queries(
    site: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    many_open(101)

    with django_assert_max_num_queries(6):
        response = site.get("/")

    assert text(response).count('class="row"') == 50
    assert text(site.get("/?page=3")).count('class="row"') == 1


def test_who_is_not_signed_in_comes_back_after_signing_in(
    client: Client, asked: FeedbackRequest
) -> None:
    for path in ("/", address(asked)):
        response = client.get(path)

        assert response.status_code == 302
        assert response["Location"] == f"/login/?next={path}"


# What is asked


@pytest.mark.parametrize(
    ("step", "buttons"),
    [
        ({"requires_approval": True}, ["Approve", "Reject"]),
        (
            {"requires_approval": True, "approval_type": "review"},
            ["Approve", "Request changes", "Reject"],
        ),
        ({"confirm": True}, ["Confirm", "Cancel"]),
        ({"python": "tests.steps:fail"}, ["Retry", "Skip", "Abort"]),
        ({"python": "tests.steps:ask"}, ["Send answer", "Skip"]),
        (
            {
                "requires_approval": True,
                "approval_type": "selection",
                "options": ["token_bucket", "fixed_window"],
            },
            ["Token bucket", "Fixed window"],
        ),
    ],
)
def test_each_type_has_its_buttons_by_their_plain_names(
    site: Client, step: dict[str, object], buttons: list[str]
) -> None:
    asked = f.pending(f.started(f.workflow({"build": [f.step("x", **step)]})))  # type: ignore[arg-type]

    shown = text(site.get(address(asked)))

    assert re.findall(r'name="response"[^>]*>([^<]+)</button>', shown) == buttons
    assert '<label for="id_comment">Comment</label>' in shown


def test_the_page_says_where_the_run_stands(site: Client, asked: FeedbackRequest) -> None:
    shown = text(site.get(address(asked)))

    phases = re.findall(r'<li data-status="(\w+)"( aria-current="step")?>(\w+)<', shown)
    assert phases == [
        ("completed", "", "Frame"),
        ("awaiting_feedback", ' aria-current="step"', "Architect"),
        ("pending", "", "Build"),
        ("pending", "", "Evaluate"),
        ("pending", "", "Release"),
    ]
    assert "Any reviewer or operator can answer." in shown


def test_the_page_and_its_tab_lead_with_the_title(site: Client, of_spec: FeedbackRequest) -> None:
    page = text(site.get(address(of_spec)))

    assert re.search(r"<h1[^>]*>Spec, attempt 1</h1>", page)
    assert "<title>Spec, attempt 1 · Review · FABER</title>" in page
    assert re.search(r'class="question"[^>]*>Please review the result of “spec”.<', page)


def test_a_question_is_its_own_title_and_is_said_once(site: Client) -> None:
    page = text(site.get(address(clarification())))

    assert re.search(r"<h1[^>]*>Which database\?</h1>", page)
    assert re.search(r'class="question"[^>]*>small<', page)


def last_round(tmp_path: Path) -> FeedbackRequest:
    """A review that may not be sent back any more."""
    run = f.spec_reviewed(tmp_path, approval_type="review", max_rounds=1)
    return f.pending(f.answered(run, "request_changes", "shorter"))


LIMIT = "The limit of 1 round of changes is reached; only operators can request more."


def test_beyond_the_last_round_the_page_explains_why_changes_cannot_be_requested(
    site: Client, tmp_path: Path
) -> None:
    asked = last_round(tmp_path)

    page = text(site.get(address(asked)))
    sent = {"response": "request_changes", "comment": "again", "seal": asked.seal}
    refused = site.post(address(asked), sent)

    assert "Round 2, after 1 round of changes" in page
    assert re.search(r'value="request_changes"\s+disabled', page)
    assert not re.search(r'value="approve"\s+disabled', page)
    assert LIMIT in page
    assert refused.status_code == 422
    assert "Your answer was not recorded." in text(refused)
    assert ">again</textarea>" in text(refused).replace("\n", "")


def test_an_operator_may_request_changes_on_the_page_beyond_the_last_round(
    client: Client, tmp_path: Path
) -> None:
    client.force_login(users.create("olga", role=Role.OPERATOR))
    asked = last_round(tmp_path)

    page = text(client.get(address(asked)))

    assert "disabled" not in page.split('id="options"')[1].split("</form>")[0]
    assert LIMIT not in page


def test_the_outlook_says_what_the_next_request_will_ask(site: Client, tmp_path: Path) -> None:
    worded = f.step("two", confirm=True, question="Ship {target} now?")
    phases: dict[str, list[f.Json] | f.Json] = {
        "build": [f.step("one", requires_approval=True), worded]
    }
    run = f.started(f.workflow(phases), target="the export")

    assert "Ship the export now?" in text(site.get(address(f.pending(run))))
    f.answered(run, "approve")
    assert f.pending(run).prompt == "Ship the export now?"


def test_a_failure_is_shown_with_what_is_known_of_it(site: Client) -> None:
    asked = f.pending(f.started(f.workflow({"build": [f.step("x", "tests.steps:fail")]})))
    asked.context = {
        **asked.context,
        "error_analysis": "The port is taken.",
        "suggested_fixes": ["Take another port"],
        "output_tail": "bind: address in use",
    }
    asked.save()

    shown = text(site.get(address(asked)))

    for words in ("first", "second", "The port is taken.", "Take another", "bind: address in use"):
        assert words in shown


def test_a_failure_shows_its_first_error_and_the_way_to_all_it_printed(site: Client) -> None:
    asked = f.pending(f.started(f.workflow({"build": [f.step("x", "tests.steps:fail")]})))
    assert asked.attempt is not None
    stderr = "\x1b[31mtill.c:3:5: error: no amount\x1b[0m\nmore\n"
    StepOutput.objects.update_or_create(attempt=asked.attempt, defaults={"stderr": stderr})

    raw = site.get(address(asked)).content.decode()

    assert "<code>till.c:3:5: error: no amount</code>" in raw
    assert "standard error, line 1" in raw
    assert f'href="/runs/{asked.run.run_id}/attempts/{asked.attempt.pk}/output"' in raw


@pytest.mark.parametrize("is_tail", [False, True])
def test_an_error_that_was_printed_is_shown_once_as_output(site: Client, is_tail: bool) -> None:
    """Requests of earlier versions have the end of the output as their error."""
    asked = f.pending(f.started(f.workflow({"build": [f.step("x", "tests.steps:fail")]})))
    assert asked.attempt is not None
    printed = "collecting\nE   assert 0 == 1\ncleaning"
    StepOutput.objects.update_or_create(attempt=asked.attempt, defaults={"stdout": printed})
    error = printed if is_tail else "E   assert 0 == 1"
    asked.context = {**asked.context, "errors": [error, "no till"], "output_tail": printed}
    asked.save()

    raw = site.get(address(asked)).content.decode()

    assert ">First error<" in raw
    assert "<code>E   assert 0 == 1</code>" in raw
    assert raw.count("E   assert 0 == 1") == 2  # the first error, and the end of the output
    assert '<li dir="auto">no till</li>' in raw


def test_colours_of_the_output_are_colours(site: Client, asked: FeedbackRequest) -> None:
    asked.context = {"errors": ["\x1b[1mbad `till`\x1b[0m"], "output_tail": "\x1b[32mok\x1b[0m"}
    asked.save()

    raw = site.get(address(asked)).content.decode()

    assert '<span class="ansi-ink-2">ok</span>' in raw
    assert "bad <code>till</code>" in raw
    assert "\x1b" not in raw


def test_code_in_the_prompt_is_code(site: Client, asked: FeedbackRequest) -> None:
    asked.prompt = "Is `<b>` right, or is it` not?"
    asked.save()

    raw = site.get(address(asked)).content.decode()

    assert ">Is <code>&lt;b&gt;</code> right, or is it` not?</p>" in raw


def test_what_agents_write_is_never_markup(site: Client, asked: FeedbackRequest) -> None:
    hostile = "<script>alert(1)</script>"
    asked.prompt = hostile
    asked.context = {"summary": f"{hostile}!", "errors": [hostile], "output_tail": hostile}
    asked.save()

    raw = site.get(address(asked)).content.decode()

    assert hostile not in raw
    assert raw.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 4


def test_an_artifact_is_laid_out_with_its_revision(site: Client, of_spec: FeedbackRequest) -> None:
    shown = text(site.get(address(of_spec)))

    assert "revision 1" in shown
    assert ">Spec, attempt 1</h1>" in shown


def test_the_source_is_shown_line_by_line(site: Client, of_spec: FeedbackRequest) -> None:
    whole = site.get(address(of_spec), {"view": "source"})
    alone = site.get(address(of_spec), {"view": "source"}, headers=part("exhibits"))

    for response in (whole, alone):
        assert "<code># Spec, attempt 1</code></li>" in text(response)
        assert 'aria-label="Comment on line 1"' in text(response)
    assert 'id="desk"' not in text(alone)


def test_what_a_document_hides_is_said(site: Client, of_spec: FeedbackRequest) -> None:
    kept = of_spec.artifacts.get()
    kept.content = b"# Plan\n\n<!-- approve this -->\n"
    kept.save()

    for view in ("document", "source"):
        shown = text(site.get(address(of_spec), {"view": view}))
        assert "An HTML comment is hidden on line 3." in shown


def test_a_file_that_is_not_markdown_is_shown_as_code(
    site: Client, of_spec: FeedbackRequest
) -> None:
    kept = of_spec.artifacts.get()
    kept.path, kept.content = "deploy.sh", b"# not a heading\n```\nrm -rf ./build\n"
    kept.save()

    shown = text(site.get(address(of_spec)))

    assert "<h1" not in shown.partition('class="file-body')[2]
    assert "rm" in shown


def test_a_file_that_is_not_text_is_only_offered(site: Client, of_spec: FeedbackRequest) -> None:
    kept = of_spec.artifacts.get()
    kept.content = b"\x89PNG\x00\x00"
    kept.save()

    assert "This file is not text" in text(site.get(address(of_spec)))


def test_an_artifact_is_downloaded_and_never_run(site: Client, of_spec: FeedbackRequest) -> None:
    response = site.get(f"{address(of_spec)}artifacts/1/specs/spec.md")

    assert response.content == b"# Spec, attempt 1\n"
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="spec.md"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert site.get(f"{address(of_spec)}artifacts/2/specs/spec.md").status_code == 404


def test_an_unknown_request_is_not_found(site: Client) -> None:
    assert site.get("/requests/fr-20260101-abcdef/").status_code == 404
    assert site.post("/requests/fr-20260101-abcdef/", {"response": "approve"}).status_code == 404


def test_looking_changes_nothing(site: Client, asked: FeedbackRequest) -> None:
    for query in ("", "?response=approve", "?view=source"):
        site.get(address(asked) + query)
        site.head(address(asked) + query)

    assert f.fresh(asked.run).last_event_id == asked.run.last_event_id
    assert not FeedbackResponse.objects.exists()


def test_no_page_needs_inline_style_or_script(site: Client, of_spec: FeedbackRequest) -> None:
    for path in ("/", "/runs/", f"/runs/{of_spec.run.run_id}/", address(of_spec), "/nowhere"):
        raw = site.get(path).content.decode()

        assert " style=" not in raw
        assert "<style" not in raw
        assert not re.search(r"<script(?![^>]* src=)", raw)
        assert not re.search(r" on\w+=", raw)


def test_lines_are_counted_as_editors_do(site: Client, of_spec: FeedbackRequest) -> None:
    kept = of_spec.artifacts.get()
    kept.content = "one\r\ntwo\u2028still two\n\nfour\n".encode()
    kept.save()

    shown = text(site.get(address(of_spec), {"view": "source"}))

    lines = re.findall(r"</a><code>(.*?)</code></li>", shown)
    assert lines == ["one", "two\u2028still two", "", "four"]


# Answers


def test_an_answer_is_recorded_and_the_page_fetched_anew(
    site: Client, rita: User, asked: FeedbackRequest
) -> None:
    response = site.post(
        address(asked), {"response": "approve", "comment": "Good.", "seal": asked.seal}
    )

    assert (response.status_code, response["Location"]) == (303, address(asked))
    given = FeedbackResponse.objects.get()
    assert (given.response, given.comment, given.user, given.source) == (
        "approve",
        "Good.",
        rita,
        "web",
    )
    shown = text(site.get(address(asked)))
    assert re.search(r"<strong>rita</strong> chose <strong>Approve</strong> in the browser", shown)
    assert 'name="response"' not in shown


def test_htmx_gets_the_decision_and_the_run_going_on(site: Client, asked: FeedbackRequest) -> None:
    response = site.post(address(asked), {"response": "approve"}, headers=part("desk"))

    shown = text(response)
    assert response.status_code == 200
    assert "<html" not in shown
    assert "chose <strong>Approve</strong>" in shown
    assert f'hx-get="/runs/{asked.run.run_id}/?v=' in shown


def test_an_answered_page_leads_to_the_next_open_request(
    site: Client, asked: FeedbackRequest
) -> None:
    not_hers = f.pending(
        f.started(f.workflow({"build": [f.step("x", requires_approval=True, reviewers=["zoe"])]}))
    )
    following = f.pending(f.started(f.five_steps()))
    f.answer(asked.run, "approve")

    shown = text(site.get(address(asked)))

    assert f'href="{address(following)}?onward=1">Next open request' in shown
    assert address(not_hers) not in shown


@pytest.mark.parametrize("headers", [{}, part("desk")])
def test_the_second_answer_is_told_who_what_and_when_and_keeps_the_words(
    site: Client, asked: FeedbackRequest, headers: dict[str, str]
) -> None:
    first = f.answer(asked.run, "reject")

    response = site.post(
        address(asked), {"response": "request_changes", "comment": WORDS}, headers=headers
    )

    assert response.status_code == 409
    shown = text(response)
    assert f"Rita chose reject (web, {first.received_at:%Y-%m-%d %H:%M:%S} UTC)" in shown
    assert WORDS in shown
    assert FeedbackResponse.objects.count() == 1


def test_pressing_twice_gives_one_response(site: Client, asked: FeedbackRequest) -> None:
    codes = [site.post(address(asked), {"response": "approve"}).status_code for _ in range(2)]

    assert codes == [303, 409]
    assert FeedbackResponse.objects.count() == 1


@pytest.mark.parametrize("headers", [{}, part("desk")])
def test_request_changes_needs_words(
    site: Client, asked: FeedbackRequest, headers: dict[str, str]
) -> None:
    response = site.post(
        address(asked), {"response": "request_changes", "comment": "  "}, headers=headers
    )

    assert response.status_code == 422
    shown = text(response)
    assert "Say what should change when you choose request_changes." in shown
    field = re.search(r"<textarea[^>]*>", shown)
    assert field
    for attribute in ('name="comment"', 'aria-invalid="true"', "autofocus", "id_comment_error"):
        assert attribute in field[0]
    assert not FeedbackResponse.objects.exists()


def test_an_unknown_option_is_refused_and_the_words_stay(
    site: Client, asked: FeedbackRequest
) -> None:
    response = site.post(address(asked), {"response": "perhaps", "comment": WORDS})

    assert response.status_code == 422
    assert "'perhaps' is not one of the options" in text(response)
    assert WORDS in text(response)


def test_text_that_cannot_be_stored_is_refused_at_its_field(
    site: Client, asked: FeedbackRequest
) -> None:
    response = site.post(address(asked), {"response": "approve", "comment": "nul \0 byte"})

    assert response.status_code == 422
    assert "Null characters are not allowed." in text(response)
    assert not FeedbackResponse.objects.exists()


def test_what_has_changed_since_must_be_seen_again(site: Client, asked: FeedbackRequest) -> None:
    sent = {"response": "approve", "comment": WORDS, "seal": "0" * 64}

    response = site.post(address(asked), sent)
    by_htmx = site.post(address(asked), sent, headers=part("desk"))

    assert by_htmx["HX-Retarget"] == "#content"
    for stale in (response, by_htmx):
        assert stale.status_code == 409
        assert "Review it again" in text(stale)
        assert WORDS in text(stale)
        assert f'name="seal" value="{asked.seal}"' in text(stale)
        assert 'id="content"' in text(stale)
    assert not FeedbackResponse.objects.exists()


def test_a_viewer_reads_why_they_may_not_answer(
    client: Client, vic: User, asked: FeedbackRequest
) -> None:
    client.force_login(vic)

    shown = text(client.get(address(asked)))
    response = client.post(address(asked), {"response": "approve", "comment": WORDS})

    assert "Only reviewers and operators can answer." in shown
    assert 'name="response"' not in shown
    assert response.status_code == 403
    assert WORDS in text(response)
    assert not FeedbackResponse.objects.exists()


def test_a_request_that_is_gone_says_so(site: Client, asked: FeedbackRequest) -> None:
    engine.cancel(asked.run.pk, reason="duplicate", actor=f.STARTER)

    response = site.post(address(asked), {"response": "approve"})

    assert response.status_code == 409
    assert "was cancelled. No decision is needed" in text(response)


def test_a_quorum_shows_who_has_approved_and_stays_open(site: Client) -> None:
    twice = f.step("x", requires_approval=True, quorum=2)
    asked = f.pending(f.started(f.workflow({"build": [twice]})))

    response = site.post(address(asked), {"response": "approve"}, headers=part("desk"))

    assert response.status_code == 200
    assert "1 of 2 approvals." in text(response)
    assert "You have already answered" in text(response)
    again = site.post(address(asked), {"response": "approve"})
    assert again.status_code == 409


def test_an_approval_among_several_is_not_said_to_complete_the_run(site: Client) -> None:
    twice = f.step("x", requires_approval=True, quorum=2)
    asked = f.pending(f.started(f.workflow({"build": [twice]})))

    shown = text(site.get(address(asked)))

    assert shown.count("After the last approval needed:") == 1
    assert shown.index("After the last approval needed:") < shown.index("Completes the run")


def test_a_session_that_ended_does_not_cost_the_words(
    client: Client, asked: FeedbackRequest
) -> None:
    response = client.post(address(asked), {"response": "approve", "comment": WORDS})

    assert response.status_code == 401
    assert WORDS in text(response)
    assert f"/login/?next={address(asked)}" in text(response)
    assert not FeedbackResponse.objects.exists()


def test_a_form_from_before_signing_in_does_not_cost_the_words(
    rita: User, asked: FeedbackRequest
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(rita)

    response = strict.post(address(asked), {"response": "approve", "comment": WORDS})

    assert response.status_code == 403
    assert WORDS in text(response)
    assert not FeedbackResponse.objects.exists()


@pytest.mark.parametrize(
    ("rest", "sent"),
    [
        ("remarks/", {"body": WORDS, "kind": "must"}),
        ("remarks/", {"kind": "suggestion", "replacement": WORDS}),
        ("remarks/7/", {"body": WORDS}),
        ("ask/", {"text": WORDS}),
        ("override/", {"reason": WORDS}),
    ],
)
def test_neither_costs_the_words_of_any_other_form_on_the_page(
    rita: User, asked: FeedbackRequest, rest: str, sent: dict[str, str]
) -> None:
    signed_out, strict = Client(), Client(enforce_csrf_checks=True)
    strict.force_login(rita)
    there = f"{address(asked)}?view=source&line=3"

    for browser, status in ((signed_out, 401), (strict, 403)):
        headers = {"Referer": f"http://testserver{there}"}
        response = browser.post(address(asked, rest), sent, headers=headers)

        assert response.status_code == status
        assert WORDS in text(response)
    assert f'href="{there}"' in text(response)
    again = text(signed_out.post(address(asked, rest), sent, headers=headers))
    assert f'href="/login/?next={quote(there)}"' in again


def test_the_way_back_from_a_refused_form_stays_on_the_site(asked: FeedbackRequest) -> None:
    headers = {"Referer": "https://elsewhere.example/requests/"}

    shown = text(Client().post(address(asked), {"comment": WORDS}, headers=headers))

    assert f'href="/login/?next={address(asked)}"' in shown
    assert "elsewhere" not in shown

    strict = Client(enforce_csrf_checks=True)
    headers = {"Referer": "http://testserver//elsewhere.example/"}
    shown = text(strict.post(address(asked), {"comment": WORDS}, headers=headers))

    assert 'href="/elsewhere.example/"' in shown


# Clarifications


def test_each_question_is_a_field(site: Client) -> None:
    asked = clarification(
        question("Which database?", "PostgreSQL", "SQLite"), question("How long?")
    )

    shown = text(site.get(address(asked)))

    assert "<legend>Which database?</legend>" in shown
    assert re.search(r'type="radio" name="question-1" value="SQLite"', shown)
    assert '<label for="id_question-2">How long?</label>' in shown


@pytest.mark.parametrize(
    ("sent", "response", "comment"),
    [
        (
            {"question-1": "PostgreSQL", "question-2": "a day", "comment": "or two"},
            "Which database?: PostgreSQL\nHow long?: a day",
            "or two",
        ),
        ({"question-2": "a day\r\nor two"}, "How long?: a day\nor two", ""),
        ({"comment": "Ask Otto."}, "Ask Otto.", ""),
        ({"response": "abort"}, "abort", ""),
        ({"response": "skip", "comment": "no time"}, "skip", "no time"),
    ],
)
def test_the_answers_become_one_text(
    site: Client, sent: dict[str, str], response: str, comment: str
) -> None:
    asked = clarification(
        question("Which database?", "PostgreSQL", "SQLite"), question("How long?")
    )

    assert site.post(address(asked), {"response": "", **sent}).status_code == 303

    given = FeedbackResponse.objects.get()
    assert (given.response, given.comment) == (response, comment)


def test_one_question_is_answered_by_the_text_alone(site: Client) -> None:
    asked = clarification(question("Which database?"))

    site.post(address(asked), {"response": "", "question-1": "PostgreSQL"})

    assert FeedbackResponse.objects.get().response == "PostgreSQL"


def typed_form() -> FeedbackRequest:
    return clarification(
        {"id": "rows", "question": "How many rows?", "type": "number", "required": True},
        {"id": "until", "question": "Until when?", "type": "date"},
        {"id": "zip", "question": "Zip it?", "type": "boolean"},
        {"id": "for", "question": "For whom?", "type": "multi", "options": ["Ann", "Bo, Ltd"]},
        {"id": "why", "question": "Why?", "type": "text"},
    )


def test_a_typed_question_has_the_input_of_its_type_and_says_when_it_is_required(
    site: Client,
) -> None:
    shown = text(site.get(address(typed_form())))

    assert re.search(r'How many rows\? <span class="tag">Required</span></label>', shown)
    assert re.search(r'type="number" name="question-1"[^>]* aria-required="true"', shown)
    assert re.search(r'type="date" name="question-2"', shown)
    assert re.search(r'type="radio" name="question-3" value="no"', shown)
    assert re.search(r'type="checkbox" name="question-4" value="Bo, Ltd"', shown)
    assert shown.count("Required</span>") == 1


def test_code_in_a_question_is_code(site: Client) -> None:
    asked = clarification(
        {"question": "Which `edge cases`?", "type": "text"},
        {"question": "Drop `NULL`?", "type": "boolean"},
    )

    shown = text(site.get(address(asked)))

    assert "Which <code>edge cases</code>?</label>" in shown
    assert "<legend>Drop <code>NULL</code>?</legend>" in shown


def test_answers_to_typed_questions_become_values(site: Client) -> None:
    asked = typed_form()
    sent = {"question-1": "1200", "question-2": "2027-01-31", "question-3": "no", "comment": "hm"}

    site.post(address(asked), {**sent, "question-4": ["Bo, Ltd", "Ann"], "question-5": "a\r\nb"})

    given = FeedbackResponse.objects.get()
    assert given.values == {
        "rows": 1200,
        "until": "2027-01-31",
        "zip": False,
        "for": ["Ann", "Bo, Ltd"],
        "why": "a\nb",
    }
    assert given.response.startswith("How many rows?: 1200\nUntil when?: 2027-01-31\nZip it?: no")
    assert given.comment == "hm"


def test_what_does_not_fit_is_told_beside_its_field_and_all_else_stays(site: Client) -> None:
    asked = typed_form()

    response = site.post(
        address(asked), {"question-2": "soon", "question-4": ["Ann", "Bo, Ltd"], "comment": "hm"}
    )
    shown = text(response)

    assert response.status_code == 422
    assert re.search(r'id="id_question-1_error".*?This needs an answer\.', shown, re.DOTALL)
    assert re.search(r'id="id_question-2_error".*?This must be a date such as', shown, re.DOTALL)
    assert len(re.findall(r"name=\"question-4\"[^>]* checked", shown)) == 2
    assert not FeedbackResponse.objects.exists()


def test_a_draft_keeps_every_box_that_was_ticked(site: Client) -> None:
    asked = typed_form()

    site.post(f"{address(asked)}draft/", {"question-4": ["Ann", "Bo, Ltd"]})

    shown = text(site.get(address(asked)))
    assert len(re.findall(r"name=\"question-4\"[^>]* checked", shown)) == 2


def test_a_form_may_be_skipped_with_its_required_questions_empty(site: Client) -> None:
    asked = typed_form()

    site.post(address(asked), {"response": "skip"})

    assert FeedbackResponse.objects.get().skipped


def test_many_options_are_a_list_that_typing_narrows_down(site: Client) -> None:
    few, many = ("PostgreSQL", "SQLite"), [f"Database {number}" for number in range(12)]

    short = text(site.get(address(clarification(question("Which?", *few)))))
    long = text(site.get(address(clarification(question("Which?", *many)))))

    assert "data-filter" not in re.sub(r"data-filtered", "", short)
    assert 'aria-label="Filter 12 options"' in long
    assert long.count("<label data-filtered>") == 12


def test_what_all_of_many_options_cause_is_said_once(site: Client) -> None:
    asked = f.pending(f.started(f.five_steps()))
    asked.options = [
        {"value": f"team {n}", "action": "continue", "description": ""} for n in range(12)
    ]
    asked.save()

    shown = text(site.get(address(asked)))

    assert shown.count('class="outlook"') == 1
    assert shown.count('name="response" value="team') == 12


def test_an_empty_answer_is_refused_at_the_first_question(site: Client) -> None:
    asked = clarification(question("Which database?"), question("How long?"))

    response = site.post(address(asked), {"response": ""})

    assert response.status_code == 422
    assert re.search(
        r'id="id_question-1_error".*Answer at least one question', text(response), re.DOTALL
    )


# News


def test_an_open_page_hears_of_an_answer_given_elsewhere(
    site: Client, asked: FeedbackRequest
) -> None:
    quiet = site.get(address(asked), {"v": "pending-0"}, headers=part("standing"))
    f.answer(asked.run, "approve", "fine")
    news = site.get(address(asked), {"v": "pending-0"}, headers=part("standing"))

    assert quiet.status_code == 204
    assert news.status_code == 286
    assert "chose <strong>Approve</strong>" in text(news)
    assert 'id="options" class="options" hx-swap-oob="true"' in text(news)
    assert "<textarea" not in text(news)
    assert re.search(r'id="open-count" class="badge"[^>]* hx-swap-oob="true" hidden', text(news))


def test_a_poll_costs_few_queries(
    site: Client,
    asked: FeedbackRequest,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(6):
        site.get(address(asked), {"v": "pending-0"}, headers=part("standing"))


@pytest.mark.parametrize(
    ("answer", "seen"), [("skip", "<strong>Skip</strong>"), ("Use SQLite", "answered")]
)
def test_a_text_and_a_skipped_question_read_the_same_on_every_page(
    site: Client, answer: str, seen: str
) -> None:
    run = f.started(f.workflow({"build": [f.step("ask", "tests.steps:ask")]}))
    asked = f.pending(run)
    f.answered(run, answer)

    pages = [
        site.get(address).content.decode()
        for address in (f"/requests/{asked.request_id}/", f"/runs/{run.run_id}/")
    ]

    assert all(seen in page for page in pages)
    assert all(("chose" in page) is (answer == "skip") for page in pages)
    assert (">Skip</span>" in site.get("/audit/").content.decode()) is (answer == "skip")


# Files that changed


def test_an_approval_of_a_file_that_changed_leads_to_the_new_request(
    site: Client, tmp_path: Path
) -> None:
    asked = f.pending(f.spec_reviewed(tmp_path))
    (tmp_path / f.SPEC).write_text("# Another spec\n")

    answered = site.post(address(asked), {"response": "approve", "seal": asked.seal}, headers=HTMX)

    again = f.pending(asked.run)
    told = "specs/spec.md changed after revision 1 was shown: now revision 2."
    assert told in text(answered)
    assert f'href="{address(again)}">Decide again</a>' in text(answered)
    page = text(site.get(address(again)))
    assert told in page
    assert "<ins" in page
    assert "asked again" in page
    assert "asked again" in text(site.get(f"/runs/{asked.run.run_id}/"))
