"""A specification is told with its outline."""

from pytest_django import Settings

from runs.context.specs import outline
from runs.domain.values.secrets.redaction import redact
from runs.domain.values.text import Scrubber, scrubbed
from runs.engine.concealing import concealed

SPEC = """\
---
title: Better resume handling
status: draft
version: 1.10
tags:
  - hitl
  - resume
---

# Feature: resume

## Summary #

```markdown
# not a heading
- [ ] not a criterion
```

- no criterion either

## Acceptance Criteria

- [ ] The run resumes
- [x] Nothing is lost
### On the command line
1. It says why

## Tasks

- a task

### US1

**Acceptance Criteria**:
- It is fast

**Notes**
- just a note
"""


def test_the_front_matter_is_told_as_it_is_written() -> None:
    assert outline(SPEC)["front_matter"] == {
        "title": "Better resume handling",
        "status": "draft",
        "version": "1.10",
        "tags": "- hitl\n  - resume",
    }


def test_headings_are_told_with_their_level_and_line_and_code_has_none() -> None:
    headings = outline(SPEC)["headings"]

    assert isinstance(headings, list)
    assert [(each["level"], each["title"]) for each in headings] == [
        (1, "Feature: resume"),
        (2, "Summary"),
        (2, "Acceptance Criteria"),
        (3, "On the command line"),
        (2, "Tasks"),
        (3, "US1"),
    ]
    assert headings[0]["line"] == 10


def test_the_acceptance_criteria_are_the_items_below_their_heading_or_label() -> None:
    assert outline(SPEC)["acceptance_criteria"] == [
        "The run resumes",
        "Nothing is lost",
        "It says why",
        "It is fast",
    ]


def test_a_plain_text_has_no_outline() -> None:
    assert outline("Just a sentence.") == {
        "front_matter": {},
        "headings": [],
        "acceptance_criteria": [],
    }


def test_every_text_is_scrubbed_behind_the_name_it_goes_by() -> None:
    def scrub(text: str) -> str:
        return text.replace("password: hunter2", "password: [gone]")

    value = {"inputs": {"password": "hunter2", "other": "hunter2"}, "list": ["password: hunter2"]}

    assert scrubbed(value, Scrubber(scrub)) == {
        "inputs": {"password": "[gone]", "other": "hunter2"},
        "list": ["password: [gone]"],
    }


def test_a_value_without_anything_to_scrub_is_the_same_value() -> None:
    value = {"a": ["b", 1, None]}

    assert scrubbed(value, Scrubber(str.strip)) is value


def test_a_token_by_which_somebody_answered_goes_by_its_name() -> None:
    by_whom = {"provided_by": {"user": "trev", "token": "laptop-of-trev"}, "token": "0a1b2c3d"}

    assert scrubbed(by_whom, Scrubber(redact)) == {**by_whom, "token": "[redacted]"}


def test_nothing_else_beside_that_name_is_spared() -> None:
    by_whom = {"provided_by": {"token": "laptop", "password": "hunter2", "more": {"token": "0a1b"}}}
    clean = {"token": "laptop", "password": "[redacted]", "more": {"token": "[redacted]"}}

    assert scrubbed(by_whom, Scrubber(redact)) == {"provided_by": clean}


def test_a_text_that_had_nothing_to_scrub_is_not_looked_at_again() -> None:
    seen: list[str] = []

    def look(text: str) -> str:
        seen.append(text)
        return text

    scrubber = Scrubber(look)
    for value in (["same", "first"], ["same", "second"]):
        assert scrubbed(value, scrubber) is value

    assert seen == ["same\nfirst", "second"]


def test_a_text_beside_one_that_was_scrubbed_is_looked_at_again() -> None:
    scrubber = Scrubber(lambda text: text.replace("hunter2", "[gone]"))

    for _ in range(2):
        assert scrubbed(["hunter2", "other"], scrubber) == ["[gone]", "other"]


def test_what_becomes_a_secret_is_found_in_texts_that_were_clean(settings: Settings) -> None:
    value = {"word": "correct-horse-battery"}
    assert scrubbed(value, concealed) is value

    settings.SECRET_KEY = "correct-horse-battery"

    assert scrubbed(value, concealed) == {"word": "[redacted]"}
