"""Directories that somebody made in ignorance or on purpose: refused with a sentence."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from feedback.models import FeedbackRequest
from runs.models import Artifact, Event, Project, Run
from tests import factories as f
from tests.commands import faber
from tests.original import RUN_ID, ask, change, emit, got, make_run, put
from tests.repositories import Repository, reviewed

pytestmark = [pytest.mark.django_db, pytest.mark.database]

Break = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = make_run(tmp_path / "base")
    ask(folder)
    return folder


def linked(name: str) -> Break:
    """The file moved away, with a link in its place."""

    def broken(folder: Path) -> None:
        target = folder.parent / "elsewhere"
        (folder / name).rename(target)
        (folder / name).symlink_to(target)

    return broken


def a_pipe(folder: Path) -> None:
    (folder / "state.json").unlink()
    os.mkfifo(folder / "state.json")


def huge(folder: Path) -> None:
    with (folder / "state.json").open("ab") as file:
        file.truncate(17_000_000)


def deep(folder: Path) -> None:
    put(folder / "state.json", '{"a": ' * 200 + "1" + "}" * 200)


def abyss(folder: Path) -> None:
    put(folder / "state.json", "[" * 200_000)


def twice(folder: Path) -> None:
    event = got(folder / "events" / "002-phase_start.json")
    put(folder / "events" / "002-checkpoint.json", {**event, "type": "checkpoint"})


def in_state(**fields: object) -> Break:
    return lambda folder: change(folder / "state.json", **fields)


def in_event(**fields: object) -> Break:
    return lambda folder: change(folder / "events" / "001-workflow_start.json", **fields)


def in_request(**fields: object) -> Break:
    def broken(folder: Path) -> None:
        asked = got(folder / "state.json")["feedback_request"]
        change(folder / "state.json", feedback_request={**asked, **fields})

    return broken


def text(name: str, content: str | bytes) -> Break:
    raw = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(raw)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (linked("state.json"), "state.json: is a link"),
        (linked("events"), "events: is a link"),
        (linked("events/001-workflow_start.json"), "001-workflow_start.json: is a link"),
        (a_pipe, "state.json: is not a file"),
        (huge, "state.json: is larger than 16 MB"),
        (deep, "is nested too deeply"),
        (abyss, "is nested too deeply"),
        (twice, "events: event 2 appears twice"),
        (lambda d: (d / "events" / "002-phase_start.json").unlink(), "event 2 is missing"),
        (text("state.json", b"\xff\xfe{}"), "state.json: is not UTF-8 text"),
        (text("state.json", "[]"), "state.json: must be an object"),
        (text("state.json", '{"a": NaN}'), "state.json: not valid JSON: NaN"),
        (
            text("metadata.json", '{"a": 1e999}'),
            "metadata.json: a: contains a value that is not a number",
        ),
        (
            text("metadata.json", '{"a": "\\ud800"}'),
            "metadata.json: contains an unpaired surrogate",
        ),
        (in_event(message="a\0b"), "001-workflow_start.json: message: contains a NUL"),
        (in_state(run_id="../../etc/passwd"), "is not a run id"),
        (in_state(run_id="acme/app/../../x"), "is not a run id"),
        (in_state(updated_at="0001-01-01T00:00:00+14:00"), "is not a plausible time"),
        (in_state(phases={"evaluate": {"retry_count": 10**30}}), "retry_count: must be at most"),
        (in_state(phases={"dream": {}}), "unknown phase"),
        (in_state(current_step="x" * 151), "current_step: is longer than 150"),
        (in_request(request_id="../login"), "request_id: is not a valid request id"),
        (in_request(request_id="x" * 41), "request_id: is longer than 40"),
        (in_request(options=[["approve"]]), "options[0]: must be a string"),
        (in_event(type="a/b"), "type: is not a valid event type"),
        (in_event(event_id=10**30), "event_id"),
        (in_event(timestamp="2026-11-16"), "001-workflow_start.json: timestamp"),
    ],
)
def test_a_hostile_directory_changes_nothing(folder: Path, broken: Break, said: str) -> None:
    broken(folder)

    answer = faber("import", str(folder))

    assert answer.code == 2
    assert said in answer.err
    assert answer.out == ""
    assert not Run.objects.exists()
    assert not Project.objects.exists()


def test_a_link_that_somebody_names_is_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)

    assert faber("import", str(tmp_path / "link")).code == 0


def test_a_link_below_a_base_is_not(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other" / "acme" / "app").mkdir(parents=True)
    (tmp_path / "other" / RUN_ID).symlink_to(folder)

    answer = faber("import", str(tmp_path / "other"))

    assert (answer.code, answer.err) == (2, f"{tmp_path / 'other'}: contains no run\n")


def test_a_run_that_lies_in_the_place_of_another_is_refused(folder: Path, tmp_path: Path) -> None:
    folder.rename(folder.with_name(folder.name.replace("6c56", "6c57")))

    answer = faber("import", str(tmp_path / "base"))

    assert answer.code == 2
    assert "is not the run of this place" in answer.err


# The record of a site of ours


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    run = f.reviewed_list(work).run
    assert faber("export", run.run_id, str(tmp_path / "out")).code == 0
    Run.objects.all().delete()
    Project.objects.all().delete()
    return tmp_path / "out"


def in_record(path: str, value: object) -> Break:
    def broken(folder: Path) -> None:
        record = got(folder / "faber" / "record.json")
        *way, last = path.split(".")
        inner = record
        for part in way:
            inner = inner[int(part) if part.isdecimal() else part]
        inner[int(last) if last.isdecimal() else last] = value
        put(folder / "faber" / "record.json", record)

    return broken


def spoiled(folder: Path) -> None:
    next((folder / "faber" / "artifacts").iterdir()).write_text("something else")


def emptied(folder: Path) -> None:
    next((folder / "faber" / "artifacts").iterdir()).unlink()


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (in_record("version", 2), "faber/record.json: version"),
        (in_record("run.position", 99), "run.position: is behind the end of the plan"),
        (in_record("attempts.0.status", "running"), "attempts[0].status: must be one of"),
        (in_record("artifacts.0.path", "../../x"), "artifacts[0].path: is outside the work tree"),
        (in_record("artifacts.0.path", "/etc/x"), "artifacts[0].path: is outside the work tree"),
        (in_record("artifacts.0.attempt", 9), "artifacts[0].attempt: is not one of the attempts"),
        (in_record("artifacts.0.sha256", "../../../etc/passwd"), "artifacts[0].sha256"),
        (in_record("requests.0.artifacts", [7]), "requests[0].artifacts: are not among"),
        (in_record("requests.0.type", "guess"), "requests[0].type: must be one of approval"),
        (in_record("requests.0.closed_at", "soon"), "requests[0].closed_at"),
        (spoiled, "is not what its name says"),
        (emptied, ": is missing"),
        (linked("faber/record.json"), "faber/record.json: is a link"),
    ],
)
def test_a_record_that_makes_no_sense_changes_nothing(
    exported: Path, broken: Break, said: str
) -> None:
    broken(exported)

    answer = faber("import", str(exported))

    assert answer.code == 2
    assert said in answer.err
    assert not Run.objects.exists()
    assert not Project.objects.exists()
    assert not Artifact.objects.exists()


@pytest.fixture
def exported_code(tmp_path: Path) -> Path:
    repository = Repository(tmp_path / "app")
    repository.write("app.py", "changed\n")
    run = reviewed(repository)
    assert faber("export", run.run_id, str(tmp_path / "out")).code == 0
    Run.objects.all().delete()
    Project.objects.all().delete()
    return tmp_path / "out"


def code_in(folder: Path) -> list[Path]:
    return sorted((folder / "faber" / "code").iterdir(), key=lambda file: file.stat().st_size)


def in_listing(change: Callable[[Any], None]) -> Break:
    """Another listing under its right name."""

    def broken(folder: Path) -> None:
        record = got(folder / "faber" / "record.json")
        code = folder / "faber" / "code"
        listing = got(code / record["snapshots"][0]["listing"])
        change(listing)
        put(code / "other", listing)
        name = hashlib.sha256((code / "other").read_bytes()).hexdigest()
        (code / "other").rename(code / name)
        record["snapshots"][0]["listing"] = name
        put(folder / "faber" / "record.json", record)

    return broken


def named_outside(listing: Any) -> None:
    listing["base"]["files"][0][0] = "../../etc/passwd"


def without_status(listing: Any) -> None:
    listing["base"]["files"][0][1] = "imagined"


def with_a_cut_part(listing: Any) -> None:
    listing["base"]["files"][0][7] = hashlib.sha256(b"cut").hexdigest()


def cut_part(folder: Path) -> None:
    in_listing(with_a_cut_part)(folder)
    (folder / "faber" / "code" / hashlib.sha256(b"cut").hexdigest()).write_bytes(b"cut")


def no_code(folder: Path) -> None:
    for file in code_in(folder):
        file.unlink()


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (in_record("requests.0.snapshot", 3), "requests[0].snapshot: is not one of the snapshots"),
        (in_record("snapshots.0.previous", 0), "snapshots[0].previous: is not one of those before"),
        (in_record("snapshots.0.listing", "../x"), "snapshots[0].listing"),
        (in_record("snapshots.0.base", "--help"), "snapshots[0].base"),
        (in_listing(named_outside), "base.files[0][0]: is outside the work tree"),
        (in_listing(without_status), "base.files[0][1]"),
        (in_listing(with_a_cut_part), ": is missing"),
        (cut_part, ": is not what is kept of a changed file"),
        (no_code, ": is missing"),
    ],
)
def test_code_changes_that_make_no_sense_change_nothing(
    exported_code: Path, broken: Break, said: str
) -> None:
    broken(exported_code)

    answer = faber("import", str(exported_code))

    assert answer.code == 2
    assert said in answer.err
    assert not Run.objects.exists()


def test_what_only_the_database_notices_is_refused_too(exported: Path) -> None:
    record = got(exported / "faber" / "record.json")
    record["attempts"].append(record["attempts"][0])
    put(exported / "faber" / "record.json", record)

    answer = faber("import", str(exported))

    assert answer.code == 2
    assert "can't be stored" in answer.err
    assert not Run.objects.exists()


# Many at once


def test_every_run_of_a_base_path_is_imported_or_reported(folder: Path, tmp_path: Path) -> None:
    second = make_run(tmp_path / "base", RUN_ID.replace("6c56", "6c57"))
    broken = make_run(tmp_path / "base", RUN_ID.replace("6c56", "6c58"))
    put(broken / "metadata.json", "{")

    answer = faber("import", str(tmp_path / "base"), "--json")

    assert answer.code == 2
    items = answer.document["items"]
    assert [item["result"] for item in items] == ["imported", "imported", "refused"]
    assert items[0]["run"]["pending_request"] == "fr-20251206-a1b2c3"
    assert items[1]["directory"] == str(second)
    assert "metadata.json" in items[2]["error"]["message"]
    assert Run.objects.count() == 2
    again = faber("import", str(second.parent.parent.parent), "--json")
    assert [item["result"] for item in again.document["items"]] == ["refused"] * 3


@pytest.mark.parametrize("base", [".fractary/faber/runs", ".fractary/plugins/faber/runs"])
def test_a_work_tree_is_imported_by_either_base_path(tmp_path: Path, base: str) -> None:
    make_run(tmp_path / "tree" / base)

    assert faber("import", str(tmp_path / "tree")).code == 0
    assert Run.objects.get().run_id == RUN_ID


# Where documents disagree, and what earlier versions wrote


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (in_state(last_event_id=9), "state.json: last_event_id: is 9 of 4 events"),
        (text("events/.next-id", "9\n"), "events/.next-id: is '9' after 4 events"),
        (
            lambda d: change(
                d / "state.json", status="completed", feedback_request=None, completed_at=None
            ),
            "state.json: status: is completed, but the events end with decision_point",
        ),
        (
            in_state(phases={"architect": {"status": "completed"}}),
            "phases.architect.status: is completed, but the events tell in_progress",
        ),
        (
            lambda d: emit(
                d,
                "feedback_received",
                metadata={"request_id": "fr-20251206-a1b2c3", "response": "approve", "user": "Max"},
            ),
            "fr-20251206-a1b2c3 was answered, but is still open in state.json",
        ),
        (
            lambda d: emit(
                d, "feedback_received", metadata={"request_id": "fr-1", "response": "x"}
            ),
            "answers fr-1, which state.json does not know",
        ),
        (
            lambda d: change(d / "state.json", status="aborted", feedback_request=None),
            "status: 'aborted' is read as cancelled",
        ),
    ],
)
def test_where_state_and_events_disagree_it_is_said(folder: Path, odd: Break, said: str) -> None:
    odd(folder)

    answer = faber("import", str(folder), "--json")

    assert answer.code == 0
    assert said in answer.err
    assert said in "\n".join(f"{n['place']}: {n['message']}" for n in answer.document["notes"])
    assert faber("audit", "verify").code == 0


@pytest.mark.parametrize(
    "odd",
    [
        in_state(phases={"frame": {"steps": {"fetch-work": {"status": "completed"}}}}),
        in_state(phases={"frame": {"status": "completed", "steps": ["fetch-work", "classify"]}}),
        in_state(current_phase="none", status="pending", feedback_request=None, resume_point=None),
        in_state(updated_at=None),
        in_state(artifacts=None, feedback_history=None),
        lambda d: change(d / "metadata.json", work_id=258, created_by=None, autonomy="assisted"),
        in_event(timestamp="2026-11-16T00:20:04Z"),
        in_event(timestamp="2026-11-16T01:20:04.123456+01:00"),
        in_event(type="workflow_failed", phase="bogus"),
        in_state(
            feedback_history=[
                {
                    "request_id": "fr-20251206-001",
                    "request_type": "approval",
                    "response": "approve",
                    "provided_by": "director",
                    "received_at": "2025-12-06T18:15:00Z",
                }
            ]
        ),
    ],
)
def test_what_earlier_versions_wrote_is_understood(folder: Path, odd: Break) -> None:
    odd(folder)

    answer = faber("import", str(folder))

    assert (answer.code, "Traceback" in answer.err) == (0, False)
    assert faber("audit", "verify").code == 0


def test_a_failed_step_by_another_name_is_a_failed_step(folder: Path) -> None:
    emit(folder, "step_failed", phase="architect", step="design-review", message="no")
    faber("import", str(folder))

    state = json.loads(faber("state", "latest").out)
    steps = {step["id"]: step["status"] for step in state["phases"]["architect"]["steps"]}
    assert steps["design-review"] == "failed"
    assert [error["message"] for error in state["errors"]] == ["no"]


def test_fields_nobody_here_knows_are_said_again(folder: Path, tmp_path: Path) -> None:
    change(
        folder / "state.json",
        config_hash="a3f5b8c9d2e1",
        logs={"step_responses": ["r1"]},
        phases={"build": {"status": "pending", "steps": [], "data": {"pr": 7}}},
    )
    change(folder / "metadata.json", plan_id="acme-app-258", source_type="jira")
    change(
        folder / "metadata.json",
        relationships={"parent_run_id": None, "rerun_of": RUN_ID.replace("6c", "6d")},
    )
    emit(folder, "odd_thing", colour="red", metadata={"deep": [1, {"x": 1.5}]})
    faber("import", str(folder))
    first = faber("export", "latest", str(tmp_path / "first"))
    assert first.code == 0

    state, metadata = got(tmp_path / "first" / "state.json"), got(tmp_path / "first/metadata.json")
    assert state["config_hash"] == "a3f5b8c9d2e1"
    assert state["logs"] == {"step_responses": ["r1"]}
    assert state["phases"]["build"]["data"] == {"pr": 7}
    assert (metadata["plan_id"], metadata["source_type"]) == ("acme-app-258", "jira")
    assert metadata["relationships"]["rerun_of"] == RUN_ID.replace("6c", "6d")
    odd = got(tmp_path / "first" / "events" / "005-odd_thing.json")
    assert (odd["colour"], odd["metadata"]) == ("red", {"deep": [1, {"x": 1.5}]})

    Run.objects.all().delete()
    faber("import", str(tmp_path / "first"))
    faber("export", "latest", str(tmp_path / "second"))
    for file in (tmp_path / "first").rglob("*"):
        if file.is_file():
            again = tmp_path / "second" / file.relative_to(tmp_path / "first")
            assert again.read_bytes() == file.read_bytes()


def test_an_imported_request_stands_where_its_age_puts_it(folder: Path) -> None:
    faber("import", str(folder))

    request = FeedbackRequest.objects.get()
    assert request.ranked_at <= request.requested_at
    assert Event.objects.count() == 4
