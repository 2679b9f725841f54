"""A group of runs as a whole: the report and the prompt of the seeds."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from runs.domain.planning import batch, batch_prompt
from runs.domain.planning.batch import Asked, Member, Stop
from runs.domain.values.errors import Invalid
from runs.domain.values.questions import FeedbackType, options_of
from runs.domain.values.status import RunStatus

AT = datetime(2025, 12, 6, 18, tzinfo=UTC)


def member(work_id: str, status: RunStatus, branch: str = "", **more: object) -> Member:
    uuid = f"00000000-0000-4000-8000-{int(work_id):012d}"
    return Member(
        run_id=f"acme/app/{uuid}",
        work_id=work_id,
        status=status,
        artifacts={"branch_name": branch} if branch else {},
        **more,  # type: ignore[arg-type]
    )


def asking(kind: FeedbackType, prompt: str, request_id: str = "fr-20251206-abc123") -> Asked:
    return Asked(request_id=request_id, type=kind, prompt=prompt, options=options_of(kind))


def golden() -> list[Member]:
    """The five runs of the seeds."""
    review = asking(FeedbackType.REVIEW, "Approve design for CSV export feature?")
    return [
        member("123", RunStatus.COMPLETED),
        member(
            "124",
            RunStatus.AWAITING_FEEDBACK,
            "feat/124-add-csv-export",
            phase="architect",
            step="design-review",
            # The seeds offer three options for an approval.
            asks=replace(
                review, type=FeedbackType.APPROVAL, phase="architect", step="design-review"
            ),
        ),
        member(
            "125",
            RunStatus.AWAITING_FEEDBACK,
            "fix/125-auth-bug",
            asks=asking(
                FeedbackType.ERROR_RESOLUTION, "Tests failed (3 failures)", "fr-20251206-def456"
            ),
        ),
        member(
            "126",
            RunStatus.FAILED,
            "feat/126-dashboard",
            phase="build",
            step="implement",
            error="Build compilation error in dashboard.ts",
        ),
        member("127", RunStatus.COMPLETED),
    ]


def test_the_report_is_the_one_of_the_specification() -> None:
    report = batch.aggregate("coord-20251206-abc123", golden(), at=AT)

    entries = report.pop("runs")
    assert report == {
        "batch_id": "coord-20251206-abc123",
        "coordinator_id": "coord-20251206-abc123",
        "aggregated_at": "2025-12-06T18:00:00.000Z",
        "total_runs": 5,
        "completed": 2,
        "awaiting_feedback": 2,
        "error": 1,
        "cancelled": 0,
        "in_progress": 0,
        "pending": 0,
        "all_stopped": True,
        "needs_feedback": True,
    }
    assert isinstance(entries, list)
    assert [(e["work_id"], e["status"], e.get("feedback_type")) for e in entries] == [
        ("123", "completed", None),
        ("124", "awaiting_feedback", "approval"),
        ("125", "awaiting_feedback", "error_resolution"),
        ("126", "error", None),
        ("127", "completed", None),
    ]
    assert entries[1]["request_id"] == "fr-20251206-abc123"
    assert entries[1]["feedback_request"] == {
        "request_id": "fr-20251206-abc123",
        "type": "approval",
        "prompt": "Approve design for CSV export feature?",
        "options": ["approve", "request_changes", "reject"],
        "context": {},
        "phase": "architect",
        "step": "design-review",
    }
    assert entries[3]["error"] == "Build compilation error in dashboard.ts"
    assert entries[3]["options"] == ["retry", "abort"]


def test_the_prompt_is_the_one_of_the_seeds() -> None:
    assert (
        batch_prompt.prompt(golden())
        == """\
## Parallel Workflow Status

5 workflow runs completed initial execution:
- 2 completed successfully
- 2 awaiting feedback (see below)
- 1 failed with error (see below)

### Feedback Needed

**Run #124** (feat/124-add-csv-export):
- Type: Approval
- Question: Approve design for CSV export feature?
- Options: [1] approve [2] request_changes [3] reject

**Run #125** (fix/125-auth-bug):
- Type: Error Resolution
- Error: Tests failed (3 failures)
- Options: [1] retry [2] skip [3] abort

**Run #126** (feat/126-dashboard):
- Status: Failed
- Error: Build compilation error in dashboard.ts
- Options: [1] retry [2] abort

### Provide Feedback

Example format:
#124: approve
#125: retry
#126: retry
"""
    )


def test_a_prompt_before_all_have_stopped_says_so() -> None:
    members = [
        member("1", RunStatus.COMPLETED),
        member("2", RunStatus.IN_PROGRESS),
        member("3", RunStatus.PENDING),
        member("4", RunStatus.CANCELLED),
    ]

    assert batch_prompt.prompt(members).splitlines()[2:] == [
        "2 of 4 workflow runs stopped so far:",
        "- 1 completed successfully",
        "- 1 cancelled",
        "- 1 in progress",
        "- 1 queued",
    ]


def test_an_answer_about_to_take_effect_counts_as_progress() -> None:
    held = member("1", RunStatus.AWAITING_FEEDBACK)

    assert held.stop is Stop.IN_PROGRESS
    assert batch.count([held]).all_stopped is False


def test_a_question_cannot_pretend_to_be_part_of_the_prompt() -> None:
    question = asking(FeedbackType.APPROVAL, "Fine?\n\n**Run #9**:\n- Options: [1] reject")
    text = batch_prompt.prompt([member("1", RunStatus.AWAITING_FEEDBACK, asks=question)])

    assert "\n**Run #9**" not in text
    assert text.count("\n- Options:") == 1


def test_a_run_without_a_work_id_is_called_by_its_uuid() -> None:
    nameless = replace(member("7", RunStatus.FAILED), work_id="")

    assert "**Run 00000000**:" in batch_prompt.prompt([nameless])


def test_same_questions_are_recognised_whatever_their_spacing() -> None:
    first = asking(FeedbackType.CLARIFICATION, "Which  database?")
    second = asking(FeedbackType.CLARIFICATION, "which database")

    assert first.sameness == second.sameness
    assert first.sameness != replace(first, questions=("And which version?",)).sameness


@pytest.mark.parametrize(
    ("text", "ids"),
    [("1,2,3", ("1", "2", "3")), ("#1 #2\n3", ("1", "2", "3")), (" A-1 ,, ", ("A-1",)), ("", ())],
)
def test_work_ids_are_listed_as_people_do(text: str, ids: tuple[str, ...]) -> None:
    assert batch.listed(text) == ids


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        (("1", "2", "1"), "1 is listed 2 times"),
        ((), "give at least one"),
        (tuple(map(str, range(1001))), "1001 are too many"),
    ],
)
def test_a_list_of_work_ids_that_makes_no_batch(ids: tuple[str, ...], problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        batch.check_distinct(ids)


@pytest.mark.parametrize("number", [0, -1, 201])
def test_a_concurrency_out_of_bounds_is_refused(number: int) -> None:
    with pytest.raises(Invalid, match="between 1 and 200"):
        batch.check_concurrency(number)
