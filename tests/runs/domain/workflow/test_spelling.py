"""A placeholder that nobody will fill is told before a run finds out."""

import pytest

from runs.domain.workflow import spelling
from tests import factories as f


def warned(**fields: object) -> list[str]:
    own = {} if "prompt" in fields else {"run": ["true"]}
    step = {"id": "go", **own, **fields}
    return [str(each) for each in spelling.warnings_in(f.plan_of(f.workflow({"build": [step]})))]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"run": ["make", "{targt}"]}, "run"),
        ({"run": "make {targt}"}, "run"),
        ({"artifact": "specs/{targt}.md"}, "artifact"),
        ({"question": "Ship {targt}?", "confirm": True}, "question"),
        ({"arguments": {"deep": [{"name": "for {targt}"}]}}, "arguments.deep[0].name"),
        ({"evidence": [{"file": "{targt}.txt"}]}, "evidence[0]"),
        ({"evidence": [{"command": ["test", "-f", "{targt}"]}]}, "evidence[0]"),
        ({"prompt": "Build {targt}."}, "prompt"),
    ],
)
def test_a_misspelt_placeholder_is_told_with_its_place_and_the_name_that_is_meant(
    fields: dict[str, object], place: str
) -> None:
    (warning,) = warned(**fields)

    assert warning == (
        f"phases.build.steps[0].{place}: {{targt}} is not known to a run, did you mean target?"
    )


@pytest.mark.parametrize("key", ["arguments", "artifact"])
def test_a_name_that_only_an_input_can_fill_is_told_where_it_must_be_filled(key: str) -> None:
    value = {"artifact": "{customer}.md", "arguments": {"who": "{customer}"}}[key]

    (warning,) = warned(**{key: value})

    assert "--input customer=VALUE" in warning


def test_known_names_literals_and_braces_of_a_program_are_let_pass() -> None:
    names = " ".join(f"{{{name}}}" for name in sorted(spelling.KNOWN))

    assert not warned(arguments={"all": names, "literal": "{{targt}}"}, artifact="{work_id}.md")
    assert not warned(run=["awk", "{print}", "{customer}"])
