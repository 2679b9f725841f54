"""The comments on an issue: the seeds' layout, and nothing that breaks out of it."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from feedback.channels.markdown.answer_text import read
from feedback.channels.markdown.commands import parse
from feedback.channels.markdown.comments import (
    MAX_CHARACTERS,
    DecisionShown,
    Link,
    Shown,
    forms_comment,
    has_mark,
    help_comment,
    mark,
    request_comment,
)
from feedback.channels.markdown.run_comments import RunStatusShown, status_comment
from runs.domain.values.actors import Source
from runs.domain.values.background import Background, BackgroundSection
from runs.domain.values.forms.questions import FormQuestion
from runs.domain.values.questions import Action, FeedbackType, Option, make_option, options_of
from runs.domain.values.status import RequestStatus, RunStatus
from runs.domain.workflow.plan import Progress

RUN = "fractary/claude-plugins/a1b2c3d4-e5f6-7890-abcd-ef1234567890"
AT = datetime(2025, 12, 6, 18, 0, tzinfo=UTC)
LAST = f"_Run ID: `{RUN}` | Request ID: `fr-20251206-a1b2c3`_"
REQUEST = Shown(
    request_id="fr-20251206-a1b2c3",
    run_id=RUN,
    title="Plugins as handlers",
    work_id="258",
    type=FeedbackType.REVIEW,
    phase="architect",
    step="design-review",
    prompt="Please review the architectural design and approve to proceed.",
    options=(
        *options_of(FeedbackType.REVIEW),
        Option(value="custom", action=Action.CONTINUE),
    ),
    url="https://faber.example.org/requests/fr-20251206-a1b2c3/",
    requested_at=AT,
    summary="3-layer architecture with handler pattern",
    artifacts=(Link(path="/specs/WORK-00258-design.md", url="https://faber.example.org/a"),),
)
GOLDEN = f"""\
**Plugins as handlers** · [Review and answer this request in FABER](https://faber.example.org/requests/fr-20251206-a1b2c3/)

## Feedback Requested

**Workflow Run**: `{RUN}`
**Phase**: Architect
**Step**: design-review
**Requested**: 2025-12-06 18:00 UTC

### Decision Needed

Please review the architectural design and approve to proceed.

**Summary**:
3-layer architecture with handler pattern

**Artifact**: [WORK-00258-design.md](https://faber.example.org/a)

### Options

1. **approve** - Continue the workflow
2. **request_changes** - Provide feedback for revision
3. **reject** - Cancel this workflow run
4. **custom**

### How to Respond

Reply to this issue with your decision. Include `@faber resume` in your comment to trigger \
workflow continuation.

**Example response:**
```
I approve this design. The approach looks good.

@faber resume
```

<!-- faber:fr-20251206-a1b2c3 -->

---
_This feedback request will remain open until addressed._
{LAST}"""
DECISION = DecisionShown(
    response="approve", who="octo_cat", source=Source.WEB, at=AT, comment="Fine."
)
ANSWERED = replace(REQUEST, status=RequestStatus.ANSWERED, decision=DECISION)


def told(**parts: Any) -> tuple[BackgroundSection, ...]:
    return Background(**parts).sections


def everything(text: str, times: int = 1) -> tuple[BackgroundSection, ...]:
    """Every part there is, each with the same text."""
    return told(
        questions=(FormQuestion(id="q1", text=text, options=(text,)),) * times,
        unshown=(text,) * times,
        errors=(text,) * times,
        warnings=(text,) * times,
        analysis=text,
        fixes=(text,) * times,
    )


def headings(body: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(body)
    return [
        after.content
        for token, after in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


def example(body: str) -> str:
    fences = [token for token in MarkdownIt("commonmark").parse(body) if token.type == "fence"]
    return fences[-1].content


def test_the_comment_of_a_request_has_the_seeds_layout() -> None:
    assert request_comment(REQUEST) == GOLDEN


@pytest.mark.parametrize("feedback_type", FeedbackType)
def test_the_example_of_every_type_is_an_answer_we_understand(feedback_type: FeedbackType) -> None:
    options = options_of(feedback_type)
    if feedback_type is FeedbackType.SELECTION:
        options = tuple(make_option(feedback_type, name) for name in ("Redis 7", "none"))
    shown = replace(REQUEST, type=feedback_type, options=options)

    command = parse(example(request_comment(shown)))

    assert command
    assert read(command.feedback, feedback_type, options).response


def test_a_long_context_is_folded_and_a_short_one_is_not() -> None:
    long = replace(REQUEST, summary="word " * 400, sections=told(errors=("boom",)))

    body = request_comment(long)

    assert "<details>\n<summary>Summary</summary>\n\nword" in body
    assert "**Errors**:\n- boom" in body
    assert body.count("<details>") == body.count("</details>") == 1


def test_a_few_errors_are_shown_at_once_and_all_of_them_in_a_fold() -> None:
    errors = tuple(f"test_{number} fails" for number in range(40))

    at_once, _, fold = request_comment(replace(REQUEST, sections=told(errors=errors))).partition(
        "<details>\n<summary>All 40 errors</summary>\n"
    )

    assert at_once.count("- test_") == 8
    assert fold.count("- test_") == 40


def test_errors_beyond_the_room_of_a_comment_are_counted() -> None:
    errors = tuple(f"test_{number} " + "fails " * 40 for number in range(400))

    body = request_comment(replace(REQUEST, sections=told(errors=errors)))

    fold = body.partition("<summary>All 400 errors</summary>")[2]
    assert f"\n{400 - fold.count('- test_')} more errors are on the review page.\n" in body


def test_an_error_of_many_lines_is_shown_as_it_is_in_a_fold() -> None:
    trace = "Traceback:\n  File x\n<!-- faber:fr-20251206-ffffff -->\n@octocat"

    body = request_comment(replace(REQUEST, sections=told(errors=(trace,))))

    assert "<summary>Errors in full</summary>\n\n- ```\n  Traceback:\n    File x\n" in body
    assert not has_mark(body, "fr-20251206-ffffff")
    assert "@octocat" not in body


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (Source.WEB, "in the browser"),
        (Source.CLI, "on the command line"),
        (Source.ISSUE_COMMENT, "in an issue comment"),
        (Source.API, "through the API"),
    ],
)
def test_an_answered_request_says_who_decided_what_and_where(where: Source, words: str) -> None:
    body = request_comment(replace(ANSWERED, decision=replace(DECISION, source=where)))

    assert f"**Answered**: **approve** by **octo_cat** {words}, 2025-12-06 18:00 UTC." in body
    assert "> Fine." in body


def test_every_way_of_answering_has_words() -> None:
    for where in Source:
        assert request_comment(replace(ANSWERED, decision=replace(DECISION, source=where)))


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (ANSWERED, "## Feedback Answered"),
        (replace(REQUEST, status=RequestStatus.CANCELLED, closed_at=AT), "no longer asked"),
        (replace(REQUEST, status=RequestStatus.SUPERSEDED), "a newer request took its place"),
    ],
)
def test_a_closed_request_keeps_its_last_line_and_asks_nothing(shown: Shown, words: str) -> None:
    body = request_comment(shown)

    assert words in body
    assert body.splitlines()[-1] == LAST
    assert has_mark(body, REQUEST.request_id)
    assert "How to Respond" not in body
    assert "remain open" not in body


def test_mentions_of_people_are_broken() -> None:
    body = request_comment(
        replace(
            REQUEST,
            prompt="ask @octocat, &#64;octocat and \\@octocat",
            summary="@acme/team",
            sections=told(errors=("@octocat broke it",)),
            step="@octocat",
        )
    )

    assert "@octocat" not in body
    assert "@acme" not in body
    assert "&#64;" not in body
    assert body.count("@\u200b") == 6


@pytest.mark.parametrize(
    "text",
    [
        "```\nopen",
        "~~~\nopen",
        "`````\nopen",
        "- item\n  ```\n  open",
        "<details>\nopen",
        "</details>\n\n</summary>",
        "<!-- open",
        "<!-- faber:fr-20251206-ffffff -->",
        "<pre>\nopen",
        "> quote",
        "a" * 100_000,
        "```\n" + "a\n" * 20_000,
        "- " * 500,
    ],
)
def test_nothing_that_is_put_in_breaks_the_layout(text: str) -> None:
    body = request_comment(
        replace(REQUEST, prompt=text, summary=f"{text}.", sections=everything(text), step=text)
    )

    assert headings(body)[-3:] == ["Decision Needed", "Options", "How to Respond"]
    assert body.splitlines()[-1] == LAST
    assert has_mark(body, REQUEST.request_id)
    assert not has_mark(body, "fr-20251206-ffffff")
    assert len(body) < MAX_CHARACTERS


def test_a_comment_full_of_everything_is_still_short_enough() -> None:
    full = "@a<b_*" * 20_000
    options = tuple(Option(value=full, action=Action.CONTINUE, description=full) for _ in range(99))
    shown = replace(
        REQUEST,
        prompt=full,
        summary=f"{full}.",
        options=options,
        artifacts=(Link(path=full, url=full), Link(path="a" * 999, url="https://x/" * 50)) * 50,
        sections=everything(full, 99),
        run_id=full,
        title=full,
        round_name=full,
        round_limit=full,
        step=full,
        phase=full,
    )
    decision = replace(DECISION, response=full, who=full, comment=full, url=full)
    run = RunStatusShown(
        run_id=full,
        title=full,
        status=RunStatus.FAILED,
        url="u" * 599,
        message=full,
        pending=shown,
        step=full,
    )

    for body in (
        request_comment(shown),
        request_comment(replace(shown, status=RequestStatus.ANSWERED, decision=decision)),
        status_comment([run] * 99),
        forms_comment(full, [shown] * 99),
    ):
        assert len(body) < MAX_CHARACTERS


def test_a_comment_tells_its_round_and_when_changes_cannot_be_requested_any_more() -> None:
    first = request_comment(replace(REQUEST, round_name="Round 2 of 2"))
    last = request_comment(
        replace(REQUEST, round_name="Round 3, after 2 rounds of changes", round_limit="No more.")
    )

    assert "**Step**: design-review\n**Round**: 2 of 2\n" in first
    assert "**Round**: 3, after 2 rounds of changes\n" in last
    assert "4. **custom**\n\nNo more.\n\n### How to Respond" in last


def test_the_status_tells_where_the_run_is_and_what_it_waits_for() -> None:
    body = status_comment(
        [
            RunStatusShown(
                run_id=RUN,
                title="Plugins as handlers",
                status=RunStatus.AWAITING_FEEDBACK,
                url="https://faber.example.org/runs/1/",
                phase="architect",
                step="design-review",
                progress=Progress(done=2, total=9),
                updated_at=AT,
                pending=REQUEST,
            )
        ]
    )

    assert f"**Workflow Run**: [`{RUN}`](https://faber.example.org/runs/1/)" in body
    assert "**Status**: awaiting feedback" in body
    assert "**At**: Architect → design-review" in body
    assert "**Progress**: 2 of 9 steps" in body
    assert f"**Waits for**: [{REQUEST.request_id}]({REQUEST.url}): Please review" in body
    assert status_comment([]) == "This issue has no workflow runs."


def test_help_lists_every_command() -> None:
    body = help_comment()

    for command in ("resume", "resume --run ID", "approve", "status", "cancel", "help"):
        assert f"`@faber {command}" in body


def test_the_reply_in_doubt_says_why_and_lists_what_is_accepted() -> None:
    one = forms_comment("“if” sets a condition.", [REQUEST])
    two = forms_comment("Which?", [REQUEST, replace(REQUEST, request_id="fr-20251206-ffffff")])

    assert one.startswith("No action taken. “if” sets a condition.")
    assert "- `@faber resume approve`\n" in one
    assert "- `@faber resume request_changes` with what should change above it" in one
    assert two.count(f"`@faber resume approve --run {RUN}`") == 2
    assert "`@faber help`" in forms_comment("“thanks” is not a command.")


@pytest.mark.parametrize("option", [option.value for option in REQUEST.options])
def test_every_accepted_form_is_accepted(option: str) -> None:
    assert f"`@faber resume {option}`" in forms_comment("", [REQUEST])

    command = parse(f"@faber resume {option}")

    assert command
    assert command.response == option


def test_a_mark_finds_its_own_comment_only() -> None:
    body = f"text\n{mark('fr-1:status')}\n"

    assert has_mark(body, "fr-1:status")
    assert not has_mark(body, "fr-1")
    assert mark("a --> b") == "<!-- faber:a-b -->"


pieces = st.lists(
    st.sampled_from(
        ["@faber approve", "\n", "\n\n", "```", "~~~", "<!--", "</details>", "- ", "> "]
    )
    | st.text(max_size=5),
    max_size=20,
).map("".join)


@given(pieces)
def test_what_we_post_never_commands_and_keeps_its_layout(text: str) -> None:
    shown = replace(REQUEST, prompt=text, summary=f"{text}.", sections=everything(text, 9))
    closed = replace(shown, status=RequestStatus.ANSWERED, decision=replace(DECISION, comment=text))

    for body in (request_comment(shown), request_comment(closed), forms_comment(text, [shown])):
        assert parse(body) is None
    assert headings(request_comment(shown))[-1] == "How to Respond"


def test_a_comment_tells_when_it_is_due_and_that_it_timed_out() -> None:
    due = datetime(2026, 11, 16, 14, 0, tzinfo=UTC)
    asked = replace(REQUEST, due_at=due, on_timeout="reject", escalated_to=("olga",))
    taken = DecisionShown(
        response="reject", who="policy", source=Source.POLICY, at=due, marks=("timed out",)
    )

    assert "**Due**: 2026-11-16 14:00 UTC, then reject is taken" in request_comment(asked)
    assert "**Escalated to**: olga" in request_comment(asked)
    closed = replace(asked, status=RequestStatus.ANSWERED, decision=taken)
    assert "**Answered** (timed out): **reject** by **policy** by policy" in request_comment(closed)
