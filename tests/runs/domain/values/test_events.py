from datetime import UTC, datetime, timedelta, timezone

from runs.domain.planning import event_texts
from runs.domain.values import events
from runs.domain.values.actors import Actor, Source
from runs.domain.values.events import Entry, EventType
from runs.domain.values.questions import Action, FeedbackType

AT = datetime(2025, 12, 6, 18, 15, tzinfo=UTC)
RUN = "org/project/a1b2c3d4-e5f6-7890-abcd-ef1234567890"
ACTOR = Actor(name="jmcwilliam", source=Source.CLI, method="git_config", email="jm@example.com")


def test_there_are_thirty_seven_types_of_event_and_divergence() -> None:
    assert len(EventType) == 38
    assert {"feedback_request", "feedback_received", "step_skip"} <= set(EventType)


def test_an_event_is_written_as_a_run_directory_holds_it() -> None:
    entry = event_texts.answered(
        FeedbackType.APPROVAL,
        "approve",
        phase="architect",
        step="design-review",
        request_id="fr-20251206-a1b2c3",
        actor=ACTOR,
    )

    document = events.write(entry, number=16, at=AT, run_id=RUN)

    assert document == {
        "event_id": 16,
        "type": "feedback_received",
        "timestamp": "2025-12-06T18:15:00.000Z",
        "run_id": RUN,
        "phase": "architect",
        "step": "design-review",
        "status": "received",
        "user": "jmcwilliam",
        "source": "cli",
        "message": "Feedback received: approve",
        "metadata": {
            "request_id": "fr-20251206-a1b2c3",
            "request_type": "approval",
            "response": "approve",
            "provided_by": {
                "user": "jmcwilliam",
                "source": "cli",
                "method": "git_config",
                "email": "jm@example.com",
            },
        },
    }


def test_what_is_empty_is_left_out_but_a_duration_of_zero_is_kept() -> None:
    entry = Entry(type=EventType.STEP_COMPLETE, phase="build", step="implement", duration_ms=0)

    document = events.write(entry, number=1, at=AT, run_id=RUN)

    assert document["duration_ms"] == 0
    assert not {"message", "metadata", "artifacts", "error", "user"} & set(document)


def test_files_are_numbered_with_three_digits_and_grow_past_them() -> None:
    assert events.file_name(1, "workflow_start") == "001-workflow_start.json"
    assert events.file_name(15, "step_complete") == "015-step_complete.json"
    assert events.file_name(1000, "checkpoint") == "1000-checkpoint.json"


def test_times_are_written_in_utc_with_milliseconds() -> None:
    at = datetime(2025, 12, 6, 20, 15, 0, 123999, tzinfo=timezone(timedelta(hours=2)))

    assert events.timestamp(at) == "2025-12-06T18:15:00.123Z"


def test_the_chain_changes_with_every_event_before_it() -> None:
    first = events.chain("", {"event_id": 1})

    assert events.chain(first, {"event_id": 2}) != events.chain("", {"event_id": 2})
    assert events.chain("", {"a": 1, "b": 2}) == events.chain("", {"b": 2, "a": 1})


def granted(feedback_type: FeedbackType, action: Action) -> list[str]:
    told = event_texts.approval(
        feedback_type, action, phase="p", step="s", request_id="r", response="x", actor=ACTOR
    )
    return [entry.type.value for entry in told]


def test_an_approval_is_granted_only_when_the_run_continues() -> None:
    for feedback_type in (FeedbackType.APPROVAL, FeedbackType.CONFIRMATION, FeedbackType.REVIEW):
        assert granted(feedback_type, Action.CONTINUE) == ["approval_granted"]
        assert granted(feedback_type, Action.ABORT) == ["approval_denied"]
        assert granted(feedback_type, Action.REVISE) == []


def test_other_types_neither_grant_nor_deny() -> None:
    others = (FeedbackType.SELECTION, FeedbackType.CLARIFICATION, FeedbackType.ERROR_RESOLUTION)
    for feedback_type in others:
        for action in Action:
            assert granted(feedback_type, action) == []
