"""A text is taken when its page knew what was kept before; else both are kept."""

import json

import pytest

from feedback.requests import drafts
from feedback.requests.drafts import Typed
from runs.domain.values.errors import InvalidAnswer


def typed(text: str, *known: str) -> dict[str, Typed]:
    return {"comment": Typed(text=text, known=known)}


@pytest.mark.parametrize(
    ("kept", "text", "known", "then"),
    [
        ("", "a", [""], "a"),
        ("a", "ab", ["a"], "ab"),
        ("a", "abc", ["", "a", "ab"], "abc"),  # an earlier try arrived, and its answer was lost
        ("a", "a", [""], "a"),  # another tab wrote the same
        ("a", "", ["a"], None),  # discarded
        ("", "a", ["gone"], "a"),  # sent or discarded elsewhere, and still written here
    ],
)
def test_what_a_page_knew_is_replaced(
    kept: str, text: str, known: list[str], then: str | None
) -> None:
    merged = drafts.merge({"comment": kept} if kept else {}, typed(text, *known))

    assert merged.values.get("comment") == then
    assert merged.conflicts == {}


@pytest.mark.parametrize("text", ["mine", ""])
def test_what_a_page_did_not_know_stays_and_is_told_back(text: str) -> None:
    merged = drafts.merge({"comment": "theirs", "question-1": "x"}, typed(text, "before"))

    assert merged.values == {"comment": "theirs", "question-1": "x"}
    assert merged.conflicts == {"comment": "theirs"}


def test_what_no_database_takes_is_left_out() -> None:
    sent = json.dumps({"comment": {"text": "a\0b\ud800", "known": ["\ud800"]}})

    assert drafts.read(sent) == {"comment": Typed(text="ab?", known=["?"])}


@pytest.mark.parametrize(
    "sent",
    ["", "[]x", "[1]", '{"a": 1}', '{"a": {"text": 1, "known": []}}', '{"a": {"text": ""}}', "7"],
)
def test_nonsense_is_refused(sent: str) -> None:
    with pytest.raises(InvalidAnswer):
        drafts.read(sent)


def test_too_much_is_refused() -> None:
    with pytest.raises(InvalidAnswer):
        drafts.read(json.dumps({"a": {"text": "x" * 200_001, "known": []}}))
    with pytest.raises(InvalidAnswer):
        drafts.read(json.dumps({str(n): {"text": "", "known": []} for n in range(1001)}))
