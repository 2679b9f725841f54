"""The demo's steps in its scratch repository: each does a small piece of real work with git."""

import json
import os
import subprocess
import sys
import unittest
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# This file is executed by its path, without FABER around it: only the standard library is there.
HERE = Path(__file__).parent
NOTES = Path("notes/csv-export.md")

# The demo neither needs nor touches anybody's configuration of git.
_OWN_GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "FABER demo",
    "GIT_AUTHOR_EMAIL": "demo@faber.invalid",
    "GIT_COMMITTER_NAME": "FABER demo",
    "GIT_COMMITTER_EMAIL": "demo@faber.invalid",
    # Without it git would look for a repository above, and find the one FABER lives in.
    "GIT_DIR": ".git",
    "GIT_WORK_TREE": ".",
}

Briefing = Mapping[str, Any]
Response = dict[str, object]


def main(name: str) -> None:
    briefing = json.load(sys.stdin)
    try:
        if not Path(".git").exists():
            make_repository(Path.cwd())
        response = STEPS[name](briefing)
    except FileNotFoundError as error:
        if error.filename != "git":
            raise
        response = _failed("The demo needs git.", [str(error)], ["Install git, then choose retry"])
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout).strip()
        response = _failed(f"{' '.join(error.cmd[:2])} failed.", [said])
    print(json.dumps(response))


def make_repository(folder: Path) -> None:
    """Turn a folder into a repository whose main branch holds what is there now."""
    git("init", "--quiet", "--initial-branch=main", "--template=", folder=folder)
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--message=Invoices of a small shop", folder=folder)


def git(*words: str, folder: Path | None = None) -> str:
    """What git says; raises CalledProcessError when it cannot do it."""
    foreign = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**foreign, **_OWN_GIT},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=True,
    )
    return done.stdout.strip()


def read_request(_briefing: Briefing) -> Response:
    lines = Path("request.md").read_text(encoding="utf-8").splitlines()
    title = lines[0].removeprefix("# ")
    points = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    _say(title, *points)
    return _done(f"{title}: {len(points)} points to meet.", title=title, points=points)


def make_branch(briefing: Briefing) -> Response:
    work_id = briefing["work_id"]
    branch = f"feat/{work_id}-csv-export" if work_id else "feat/csv-export"
    known = git("branch", "--list", branch)
    git("switch", "--quiet", *([] if known else ["--create"]), branch)
    start = git("rev-parse", "--short", "HEAD")
    _say(f"On {branch}, from {start}")
    return _done(
        f"Created branch {branch} from main.",
        branch_name=branch,
        base_branch="main",
        commit_sha=start,
    )


def keep_spec(_briefing: Briefing) -> Response:
    return _committed("Specify the CSV export")


def implement(_briefing: Briefing) -> Response:
    # A worker that died after applying it leaves the patch in the work tree.
    if not _applies("export.patch", "--reverse"):
        git("apply", str(HERE / "export.patch"))
    git("add", "--all")
    _say(*git("diff", "--cached", "--stat").splitlines())
    files = git("diff", "--cached", "--name-only").splitlines()
    return _done("Added to_csv to invoices.py and its tests to test_invoices.py.", files=files)


def commit(_briefing: Briefing) -> Response:
    return _committed("Export invoices as CSV")


def test_and_fix(briefing: Briefing) -> Response:
    """After failed tests it first applies the fix that their failure suggested."""
    if _failed_before(briefing) and _applies("fix.patch"):
        git("apply", str(HERE / "fix.patch"))
        fixed = _committed("Write amounts with two decimals")
        _say(str(fixed["message"]))
    # Two versions of a file within a second would share one compiled version.
    sys.dont_write_bytecode = True
    suite = unittest.defaultTestLoader.discover(".")
    outcome = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    errors = [_told(test, trace) for test, trace in (*outcome.failures, *outcome.errors)]
    if not outcome.testsRun:
        return _failed("There are no tests to run.", [], ["Run the build phase first"])
    if errors:
        return _tests_failed(outcome.testsRun, errors)
    return _done(f"All {outcome.testsRun} tests pass.", **_counted(outcome.testsRun, failed=0))


def write_notes(_briefing: Briefing) -> Response:
    commits = git("log", "--reverse", "--format=| `%h` | %s |", "main..HEAD")
    difference = git("diff", "main...HEAD", "--", "*.py")
    NOTES.parent.mkdir(exist_ok=True)
    NOTES.write_text(
        "# Release notes\n\nInvoices can be exported as CSV.\n\n"
        f"## Commits\n\n| Commit | What |\n|---|---|\n{commits}\n\n"
        f"## Change\n\n```diff\n{difference}\n```\n",
        encoding="utf-8",
    )
    kept = _committed("Add the release notes")
    _say(str(kept["message"]))
    return _done(f"{NOTES} lists what will be merged.", artifact_path=str(NOTES))


def merge(briefing: Briefing) -> Response:
    branch = str(briefing["context"]["state"]["artifacts"].get("branch_name", "feat/csv-export"))
    count = git("rev-list", "--count", f"main..{branch}")
    git("switch", "--quiet", "main")
    git("merge", "--quiet", "--no-ff", f"--message=Merge branch '{branch}'", branch)
    head = git("log", "--max-count=1", "--format=%h %s")
    _say(head)
    return _done(f"Merged {branch} into main with {count} commits.", commit_sha=head.split()[0])


def _committed(message: str) -> Response:
    git("add", "--all")
    if git("status", "--porcelain"):
        git("commit", "--quiet", f"--message={message}")
    head = git("log", "--max-count=1", "--format=%h %s")
    _say(*git("show", "--stat", "--format=", "HEAD").splitlines())
    return _done(f"Committed {head}.", commit_sha=head.split()[0])


def _applies(patch: str, *how: str) -> bool:
    try:
        git("apply", "--check", *how, str(HERE / patch))
    except subprocess.CalledProcessError:
        return False
    return True


def _failed_before(briefing: Briefing) -> bool:
    failure = (briefing["failure_context"] or {}).get("previous_failure", {})
    return bool(failure.get("details", {}).get("failed"))


def _told(test: unittest.TestCase, trace: str) -> str:
    reason = next((line for line in trace.splitlines() if "Error: " in line), "it failed")
    return f"{test.id().rpartition('.')[2]}: {reason}"


def _tests_failed(total: int, errors: list[str]) -> Response:
    summary = f"{len(errors)} of {total} tests fail."
    counted = _counted(total, failed=len(errors))
    if not _applies("fix.patch"):
        fixes = [f"Fix it in {Path.cwd()}, then choose retry"]
        return _failed(summary, errors, fixes, details=counted)
    return _failed(
        summary,
        errors,
        [
            "Choose retry: the fix makes amount() in invoices.py use Decimal with two decimals",
            f"Or fix amount() yourself in {Path.cwd()}, then choose retry",
        ],
        analysis="amount() divides whole cents by 100 and writes the float as Python shows it, "
        "without trailing zeros: 1250 cents become 12.5, not 12.50. Rows, columns and quoting are "
        "right, as the tests that pass show.",
        details=counted,
    )


def _counted(total: int, *, failed: int) -> dict[str, object]:
    return {"total_tests": total, "passed": total - failed, "failed": failed}


def _done(message: str, **details: object) -> Response:
    return {"status": "success", "message": message, "details": details}


def _failed(
    message: str,
    errors: list[str],
    fixes: list[str] | None = None,
    *,
    analysis: str = "",
    details: Mapping[str, object] | None = None,
) -> Response:
    return {
        "status": "failure",
        "message": message,
        "errors": errors,
        "error_analysis": analysis,
        "suggested_fixes": fixes or [],
        "details": dict(details or {}),
    }


def _say(*lines: str) -> None:
    for line in lines:
        print(line.strip(), flush=True)


STEPS: Mapping[str, Callable[[Briefing], Response]] = {
    "read-request": read_request,
    "make-branch": make_branch,
    "keep-spec": keep_spec,
    "implement": implement,
    "commit": commit,
    "test-and-fix": test_and_fix,
    "write-notes": write_notes,
    "merge": merge,
}


if __name__ == "__main__":
    main(sys.argv[1])
