"""What a step waits for before it begins: the context of a large run, gathered anew each time."""

import json
import multiprocessing
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import django

from tests.fake_github import FakeGitHub, slow

if TYPE_CHECKING:
    from runs.models import Run

REPO, ISSUE = "Acme/App", 258
TIMES = 120
EVENTS, COMMENTS, COMMITS, SPEC_BYTES = 10_000, 300, 5_000, 1_000_000
PEOPLE = 12
STEPS = 25


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        _make_workspace(workspace)
        with _tracker() as (hang, addresses):
            os.environ.update(addresses)
            django.setup()
            from django.core.management import call_command  # noqa: PLC0415  after the settings

            call_command("migrate", verbosity=0)
            run = _make_run(workspace)
            _gathered(run)  # warm: imports and the first look at the tables
            times = [_gathered(run)[0] for _ in range(TIMES)]
            hang.send("hang")
            hang.recv()
            seconds, package = _gathered(run)
            notes = package["notes"]
        assert isinstance(notes, list)
        print(json.dumps({**_figures(times), **_hanging(seconds, notes)}))


def _gathered(run: "Run") -> tuple[float, dict[str, object]]:
    """Seconds, from the run's row to the package, and the package."""
    from runs import context  # noqa: PLC0415
    from runs.models import Run  # noqa: PLC0415
    from runs.record import state_json  # noqa: PLC0415

    began = time.perf_counter()
    fresh = Run.objects.select_related("project").get(pk=run.pk)
    package = context.reconstitute(state_json.read_for_step(fresh))
    return time.perf_counter() - began, package


@contextmanager
def _tracker() -> Iterator[tuple[Connection, dict[str, str]]]:
    """A GitHub in a process of its own, as it would be on another machine."""
    ours, theirs = multiprocessing.Pipe()
    serving = multiprocessing.get_context("fork").Process(target=_serve, args=(theirs,))
    serving.start()
    try:
        yield ours, ours.recv()
    finally:
        ours.send("end")
        serving.join()


def _serve(told: Connection) -> None:
    with FakeGitHub() as github:
        github.add_issue(REPO, ISSUE, body="What is wanted.\n" * 50, author="person0")
        for number in range(PEOPLE):
            github.grant(REPO, f"person{number}", ("write", "read")[number % 2])
        for number in range(COMMENTS):
            words = f"Remark {number}: " + "the export should keep the order of its rows. " * 8
            github.comment(REPO, ISSUE, words, author=f"person{number % PEOPLE}")
        told.send(github.settings())
        if told.recv() == "hang":
            github.fail(slow(600), times=100)
            told.send("hanging")
            told.recv()


def _make_workspace(workspace: Path) -> None:
    _make_repository(workspace)
    lines = [
        f"- [ ] Criterion {number}: the token of every user stays where it is, and so on.\n"
        if number % 3
        else f"### Section {number}\n"
        for number in range(SPEC_BYTES // 50)
    ]
    text = "---\ntitle: Large\n---\n# Large\n\n## Acceptance criteria\n\n" + "".join(lines)
    (workspace / "spec.md").write_text(text[:SPEC_BYTES])


def _make_repository(workspace: Path) -> None:
    """A branch of 50 commits on a main branch of many more."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(workspace)], check=True)
    subprocess.run(
        ["git", "-C", str(workspace), "fast-import", "--quiet"],
        input="".join(_commits()).encode(),
        check=True,
    )
    subprocess.run(["git", "-C", str(workspace), "checkout", "-q", "feature"], check=True)
    (workspace / "src" / "file7.txt").write_text("changed\n")


def _commits() -> Iterator[str]:
    for number in range(COMMITS):
        branch = "main" if number < COMMITS - 50 else "feature"
        if number == COMMITS - 50:
            yield "reset refs/heads/feature\nfrom refs/heads/main\n\n"
        subject, content = f"Commit {number}", f"text {number}\n"
        yield (
            f"commit refs/heads/{branch}\n"
            f"committer Rita <rita@example.org> {1_700_000_000 + number * 60} +0000\n"
            f"data {len(subject)}\n{subject}\n"
            f"M 100644 inline src/file{number % 400}.txt\n"
            f"data {len(content)}\n{content}\n"
        )


def _make_run(workspace: Path) -> "Run":
    from runs.domain.values.events import Entry, EventType  # noqa: PLC0415
    from runs.engine import history  # noqa: PLC0415
    from runs.models import Run  # noqa: PLC0415
    from tests import factories  # noqa: PLC0415

    steps = [factories.step(f"step-{number}") for number in range(STEPS)]
    run = factories.start(factories.workflow({"build": steps}), workspace, work_id=str(ISSUE))
    run.artifacts = {"spec_path": "spec.md", "branch_name": "feature"}
    kinds = (EventType.STEP_START, EventType.ARTIFACT_MODIFY, EventType.STEP_COMPLETE) * 6
    failed = (EventType.STEP_ERROR, EventType.STEP_RETRY)
    entries = [
        Entry(
            type=(*kinds, *failed)[number % 20],
            phase="build",
            step=f"step-{number // 3 % STEPS}",
            message="something happened here that is worth a sentence",
            metadata={"attempt": number, "paths": ["src/file1.txt", "src/file2.txt"]},
        )
        for number in range(EVENTS - run.last_event_id)
    ]
    history.append(run, entries, now=run.created_at)
    run.save()
    return Run.objects.get(pk=run.pk)


def _figures(times: list[float]) -> dict[str, object]:
    in_ms = [each * 1000 for each in times]
    return {
        "reconstitutions": len(in_ms),
        "p50_ms": round(statistics.median(in_ms)),
        "p95_ms": round(statistics.quantiles(in_ms, n=20)[-1]),
        "longest_ms": round(max(in_ms)),
    }


def _hanging(seconds: float, notes: list[dict[str, object]]) -> dict[str, object]:
    said = [note["message"] for note in notes if note["source"] == "issue"]
    return {"hanging_tracker_ms": round(seconds * 1000), "note": said[0] if said else "none"}


if __name__ == "__main__":
    main()
