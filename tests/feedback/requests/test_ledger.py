"""Each item of a review meets what the revision says about it."""

import pytest

from feedback.requests.ledger import Disposition, ItemOutcome, balance, numbered

ITEMS = numbered([{"body": "Name the separator."}, {"body": "Why cents?"}, {"body": "Shorter."}])


def outcomes(dispositions: object) -> list[str | None]:
    lines = balance(ITEMS, {"dispositions": dispositions})
    return [line.disposition.outcome.value if line.disposition else None for line in lines]


def test_items_are_numbered_from_one_whatever_they_were_called() -> None:
    assert [item["number"] for item in numbered([{"number": 7, "body": "a"}, {"body": "b"}])] == [
        1,
        2,
    ]


@pytest.mark.parametrize(
    "written",
    [
        [{"item": 1, "disposition": "done"}, {"item": "3", "disposition": "declined"}],
        [{"item": "#1", "status": "Done"}, {"item": 3, "outcome": "declined"}],
        {"1": "done", "3": "declined"},
        {"1": {"disposition": "done"}, "#3": {"status": "declined"}},
    ],
)
def test_both_ways_of_writing_dispositions_are_understood(written: object) -> None:
    assert outcomes(written) == ["done", None, "declined"]


@pytest.mark.parametrize(
    "nonsense", [None, "done", 3, [1, 2], {"9": "done"}, {"1": "sorted"}, [{"disposition": "done"}]]
)
def test_what_answers_no_item_leaves_every_item_unanswered(nonsense: object) -> None:
    assert outcomes(nonsense) == [None, None, None]


@pytest.mark.parametrize(
    "said",
    [
        {"disposition": "declined", "reason": "The law asks for cents."},
        {"disposition": "declined", "note": "The law asks for cents."},
        "declined: the law asks for cents.",
    ],
)
def test_a_reason_stays_with_its_disposition(said: object) -> None:
    line = balance(ITEMS, {"dispositions": {"2": said}})[1]

    assert line.disposition
    assert line.disposition.outcome is ItemOutcome.DECLINED
    assert line.disposition.reason.lower() == "the law asks for cents."


def test_a_disposition_without_a_reason_is_one() -> None:
    line = balance(ITEMS, {"dispositions": {"1": "partly"}})[0]

    assert line.disposition == Disposition(outcome=ItemOutcome.PARTLY)
    assert line.number == 1
