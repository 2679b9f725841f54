"""How evidence may be written in a workflow, and what is refused at its place."""

import pytest

from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.errors import Invalid
from runs.domain.workflow.definition import Evidence
from runs.domain.workflow.evidence import Checked, EvidenceStatus, filled, refusal
from runs.domain.workflow.parse import read_workflow
from tests import factories as f


def read(evidence: object) -> tuple[Evidence, ...]:
    document = f.workflow({"build": [f.step("make", evidence=evidence)]})
    phases = read_workflow(document).workflow.phases
    return next(step for phase in phases.values() for step in phase.steps or ()).evidence


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("commit", [Evidence(commit=True)]),
        (["commit"], [Evidence(commit=True)]),
        ({"commit": True}, [Evidence(commit=True)]),
        ({"file": "dist/app.js"}, [Evidence(file="dist/app.js")]),
        ([{"artifact": "specs/{work_id}.md"}], [Evidence(artifact="specs/{work_id}.md")]),
        ({"command": "make 'all tests'"}, [Evidence(command=("make", "all tests"))]),
        ({"command": ["make", "test"]}, [Evidence(command=("make", "test"))]),
        (
            ["commit", {"file": "/specs/x.md"}, {"command": "true"}],
            [Evidence(commit=True), Evidence(file="/specs/x.md"), Evidence(command=("true",))],
        ),
        ({"file": "notes..md"}, [Evidence(file="notes..md")]),
        ([], []),
    ],
)
def test_evidence_is_written_short_or_long(written: object, meant: list[Evidence]) -> None:
    assert read(written) == tuple(meant)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("file", ": must be commit, or an object with artifact, file or command"),
        (["commit", "tests"], "[1]: must be commit, or an object with artifact, file or command"),
        (3, ": must be commit, or an object with artifact, file or command"),
        (None, ": must be commit, or an object with artifact, file or command"),
        ([{}], "[0]: must name exactly one of commit, artifact, file, command"),
        (
            [{"file": "a", "artifact": "b"}],
            "[0]: must name exactly one of commit, artifact, file, command",
        ),
        ({"commit": False}, ".commit: must be true"),
        ([{"fiel": "a"}], "[0].fiel: unknown key, did you mean file?"),
        ([{"file": " "}], "[0].file: must not be empty"),
        ([{"file": 3}], "[0].file: must be a string, not a number"),
        ([{"artifact": "../secret"}], "[0].artifact: must stay inside the workspace"),
        ([{"file": "specs/../../secret"}], "[0].file: must stay inside the workspace"),
        (
            [{"command": "make 'test"}],
            "[0].command: cannot be split into words: no closing quotation",
        ),
        ([{"command": ""}], "[0].command: must name a program"),
        ([{"command": []}], "[0].command: must name a program"),
        ([{"command": ["", "test"]}], "[0].command: must name a program"),
        ([{"command": 3}], "[0].command: must be a list, not a number"),
    ],
)
def test_wrong_evidence_is_refused_at_its_place(written: object, problem: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(written)

    assert [str(p) for p in refused.value.problems] == [f"phases.build.steps[0].evidence{problem}"]


def test_every_wrong_piece_is_told_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        read(["tests", {"file": ""}, {"fiel": "x"}])

    assert [problem.place.rpartition("evidence")[2] for problem in refused.value.problems] == [
        "[2].fiel",
        "[0]",
        "[1].file",
    ]


def test_placeholders_are_filled_and_a_value_stays_one_word() -> None:
    known = {"work_id": "12", "target": "two words; rm -rf"}

    pieces = filled(
        (Evidence(file="specs/{work_id}.md"), Evidence(command=("test", "{target}"))), known
    )

    assert [piece.file for piece in pieces] == ["specs/12.md", None]
    assert pieces[1].command == ("test", "two words; rm -rf")


def test_a_success_that_lacks_evidence_is_a_failure_with_a_sentence_for_each_piece() -> None:
    said = Result(status=ResultStatus.SUCCESS, message="done", details={"branch_name": "x"})
    found = Checked(
        kind="commit", wanted="", standing=EvidenceStatus.FOUND, words="New commit abc."
    )
    gone = [
        Checked(
            kind="file", wanted=name, standing=EvidenceStatus.MISSING, words=f"{name} not found."
        )
        for name in ("a", "b")
    ]

    refused = refusal(said, "build:make", [found, *gone])

    assert refused is not None
    assert refused.status is ResultStatus.FAILURE
    assert refused.errors == ("a not found.", "b not found.")
    assert refused.message == (
        "build:make reported success, but evidence is missing: a not found. (1 more)"
    )
    assert refused.details["claimed"] == {
        "status": "success",
        "message": "done",
        "details": {"branch_name": "x"},
    }
    assert refusal(said, "build:make", [found]) is None
