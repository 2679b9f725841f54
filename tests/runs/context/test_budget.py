"""A budget cuts what is oldest and least trusted first, and says so."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.context import briefing, budget

Json = dict[str, object]


def comment(number: int, trust: str, body: str = "b" * 200) -> Json:
    permission = "write" if trust == "trusted" else "read"
    return {
        "id": number,
        "author": f"person{number}",
        "permission": permission,
        "trust": trust,
        "created_at": "2026-01-01T00:00:00Z",
        "body": body,
    }


def package() -> Json:
    return {
        "state": {"status": "in_progress"},
        "metadata": {"run_id": "acme/app/1"},
        "spec": {"path": "spec.md", "content": "s" * 3000, "acceptance_criteria": ["It works."]},
        "issue": {
            "title": "A title",
            "body": "i" * 1000,
            "author": "ida",
            "permission": "read",
            "comments": [
                comment(1, "untrusted"),
                comment(2, "trusted"),
                comment(3, "untrusted"),
                comment(4, "trusted"),
            ],
        },
        "branch": None,
        "events": [{"event_id": number, "message": "e" * 100} for number in range(1, 6)],
        "decisions": [{"request_id": "fr-1", "prompt": "Which?"}],
        "documents": [{"path": "old.md", "content": "o" * 500}],
        "resume_point": {"phase": "build", "step": "make", "mode": "continue"},
        "notes": [],
        "left_out": [],
        "sources": {},
        "mark": "5f3a9c01d2e4b687",
    }


def told_bytes(found: Json) -> int:
    """As the executor gets it."""
    return len(json.dumps(briefing.context_for_executor(found), ensure_ascii=False).encode())


def kept_ids(found: Json) -> list[object]:
    issue = found["issue"]
    assert isinstance(issue, dict)
    return [each["id"] for each in issue["comments"]]


def said(found: Json) -> list[str]:
    left_out = found["left_out"]
    assert isinstance(left_out, list)
    return [f"{each['source']}: {each['what']}" for each in left_out]


def test_what_fits_is_not_touched() -> None:
    assert budget.cut(package(), 1_000_000) == package()


def test_the_oldest_words_of_strangers_go_first() -> None:
    found = budget.cut(package(), told_bytes(package()) - 100)

    assert kept_ids(found) == [2, 3, 4]
    assert said(found) == ["issue: 1 comment of people without write permission, the oldest first"]
    assert found["spec"] == package()["spec"]


def test_everything_goes_in_its_order_until_the_rest_fits() -> None:
    found = budget.cut(package(), 2500)

    assert said(found) == [
        "issue: 2 comments of people without write permission, the oldest first",
        "issue: 2 comments of people with write permission, the oldest first",
        "issue: the end of the issue's text",
        "documents: the end of old.md",
        "events: the 5 oldest events",
        "spec: the end of the specification",
    ]
    assert told_bytes(found) <= 2500


def test_a_cut_says_how_much_and_why() -> None:
    found = budget.cut(package(), told_bytes(package()) - 100)

    assert isinstance(found["left_out"], list)
    [told] = found["left_out"]
    assert told["bytes"] > 200
    assert told["why"] == f"the project's context limit is {told_bytes(package()) - 100} bytes"


def test_the_beginning_of_a_text_is_kept() -> None:
    found = budget.cut(package(), 3500)

    spec = found["spec"]
    assert isinstance(spec, dict)
    assert 0 < len(spec["content"]) < 3000
    assert spec["acceptance_criteria"] == ["It works."]


def test_what_is_never_cut_stays_and_the_excess_is_told() -> None:
    found = budget.cut(package(), 50)

    for name in ("state", "metadata", "decisions", "resume_point"):
        assert found[name] == package()[name]
    assert isinstance(found["notes"], list)
    [note] = found["notes"]
    assert note["level"] == "warning"
    assert "over the budget of 50" in note["message"]


@pytest.mark.parametrize(
    ("most_bytes", "most_tokens", "limit"),
    [(None, None, None), (1000, None, 1000), (None, 1000, 4000), (5000, 1000, 4000)],
)
def test_a_token_counts_as_four_bytes_and_the_smaller_budget_holds(
    most_bytes: int | None, most_tokens: int | None, limit: int | None
) -> None:
    assert budget.limit_of(most_bytes, most_tokens) == limit


@settings(deadline=None)
@given(st.integers(min_value=2000, max_value=9000), st.text(max_size=300))
def test_any_reachable_budget_is_met(limit: int, words: str) -> None:
    whole = package()
    issue = whole["issue"]
    assert isinstance(issue, dict)
    issue["comments"].append(comment(5, "untrusted", words * 5))

    assert told_bytes(budget.cut(whole, limit)) <= limit
