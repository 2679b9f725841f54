"""Remarks on lines, drafts, and what an answer takes along."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from feedback.desk import review
from feedback.desk.review import LinePlace
from feedback.models import FeedbackRequest, FeedbackResponse, ReviewComment
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.domain.values.errors import InvalidAnswer, NotFound, Refused
from tests import factories as f

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita() -> User:
    return users.create("rita", role=Role.REVIEWER)


@pytest.fixture
def sven() -> User:
    return users.create("sven", role=Role.REVIEWER)


@pytest.fixture
def asked(tmp_path: Path) -> FeedbackRequest:
    return f.reviewed_list(tmp_path)


def note(
    asked: FeedbackRequest, author: User, body: str, line: int = 3, kind: str = "must"
) -> ReviewComment:
    place = LinePlace(path="list.md", revision=1, line=line, end_line=line)
    return review.remark(asked, author, place, body=body, kind=kind)


def send(asked: FeedbackRequest, author: User, answer: str, comment: str = "") -> FeedbackResponse:
    return review.send(
        asked,
        answer,
        author=author,
        actor=users.actor_of(author),
        comment=comment,
        seal=asked.seal,
    )


def test_a_remark_remembers_the_words_it_is_about(asked: FeedbackRequest, rita: User) -> None:
    remark = note(asked, rita, "Which kind?")

    assert (remark.quote, remark.lines) == ("Buy apples.", "line 3")


def test_what_was_selected_is_quoted_instead_of_the_whole_line(
    asked: FeedbackRequest, rita: User
) -> None:
    place = LinePlace(path="list.md", revision=1, line=3, end_line=4, quote="apples")

    remark = review.remark(asked, rita, place, body="Which kind?", kind="question")

    assert (remark.quote, remark.lines) == ("apples", "lines 3–4")


@pytest.mark.parametrize(
    ("place", "error"),
    [
        (LinePlace(path="list.md", revision=1, line=3, end_line=7), InvalidAnswer),
        (LinePlace(path="list.md", revision=2, line=3, end_line=3), NotFound),
        (LinePlace(path="../etc/passwd", revision=1, line=1, end_line=1), NotFound),
    ],
)
def test_a_place_that_is_not_there_is_refused(
    asked: FeedbackRequest, rita: User, place: LinePlace, error: type[Exception]
) -> None:
    with pytest.raises(error):
        review.remark(asked, rita, place, body="Here.", kind="must")

    assert not ReviewComment.objects.exists()


def test_remarks_are_their_authors_alone_until_they_are_sent(
    asked: FeedbackRequest, rita: User, sven: User
) -> None:
    remark = note(asked, rita, "Which kind?")

    assert list(review.remarks_of(asked, sven)) == []
    with pytest.raises(NotFound):
        review.find(asked, sven, remark.pk)


def test_every_remark_becomes_a_numbered_item_in_the_order_of_the_lines(
    asked: FeedbackRequest, rita: User
) -> None:
    note(asked, rita, "Is that legal?", line=6, kind="question")
    note(asked, rita, "Which kind?", line=3)

    response = send(asked, rita, "request_changes")

    assert response.items == [
        {
            "number": 1,
            "path": "list.md",
            "revision": 1,
            "line": 3,
            "end_line": 3,
            "quote": "Buy apples.",
            "body": "Which kind?",
            "kind": "must",
        },
        {
            "number": 2,
            "path": "list.md",
            "revision": 1,
            "line": 6,
            "end_line": 6,
            "quote": "Pay in cash.",
            "body": "Is that legal?",
            "kind": "question",
        },
    ]
    assert list(review.remarks_of(asked, rita)) == []


def test_remarks_are_words_enough_to_ask_for_changes(asked: FeedbackRequest, rita: User) -> None:
    with pytest.raises(InvalidAnswer):
        send(asked, rita, "request_changes")

    note(asked, rita, "Which kind?")
    assert send(asked, rita, "request_changes").action == "revise"


def test_a_refused_answer_leaves_the_remarks_a_draft(asked: FeedbackRequest, rita: User) -> None:
    note(asked, rita, "Which kind?")
    f.answer(asked.run, "approve", actor=f.person("Sven"))

    with pytest.raises(Refused):
        send(asked, rita, "request_changes")

    assert review.remarks_of(asked, rita).count() == 1


def test_notes_of_an_approval_reach_the_next_step(asked: FeedbackRequest, rita: User) -> None:
    note(asked, rita, "Take a bag.", kind="should")
    send(asked, rita, "approve", "Well done.")

    f.work(asked.run)

    told = asked.run.attempts.get(step="make").response
    assert told
    feedback = told["details"]["briefing"]["feedback"]
    assert feedback["comment"] == "Well done."
    assert [item["body"] for item in feedback["items"]] == ["Take a bag."]


def test_taken_back_an_answer_gives_its_remarks_back(
    asked: FeedbackRequest, rita: User, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 5
    note(asked, rita, "Which kind?")
    send(asked, rita, "request_changes")
    assert not review.remarks_of(asked, rita).exists()

    review.undo(asked, users.actor_of(rita))

    assert [remark.body for remark in review.remarks_of(asked, rita)] == ["Which kind?"]
    assert send(asked, rita, "request_changes").items[0]["body"] == "Which kind?"


def test_a_closed_request_takes_no_remarks(asked: FeedbackRequest, rita: User) -> None:
    f.answer(asked.run, "approve", actor=f.person("Sven"))
    asked.refresh_from_db()

    with pytest.raises(Refused, match="closed"):
        note(asked, rita, "Too late?")


def test_the_number_of_remarks_is_bounded(
    asked: FeedbackRequest, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review, "MOST_REMARKS", 1)
    note(asked, rita, "One.")

    with pytest.raises(Refused, match="already have 1 comments"):
        note(asked, rita, "Two.")


def test_a_draft_is_kept_per_person_and_replaced(
    asked: FeedbackRequest, rita: User, sven: User
) -> None:
    review.save_draft(asked, rita, {"comment": "Perh"})
    review.save_draft(asked, rita, {"comment": "Perhaps"})

    assert review.draft_of(asked, rita) == {"comment": "Perhaps"}
    assert review.draft_of(asked, sven) == {}
