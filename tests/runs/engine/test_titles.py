"""What a run is called, from its start until its issue has been read."""

from pathlib import Path

import pytest
from pytest_django import DjangoAssertNumQueries

from runs.models import Run
from runs.record import run_json
from tests import factories as f
from tests.fake_github import FakeGitHub
from tests.sample_secrets import tail

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_a_run_is_called_by_its_target(tmp_path: Path) -> None:
    run = f.spec_reviewed(tmp_path)
    aimed = f.started(f.five_steps(), tmp_path, target="the\n export  of\x07 invoices")

    assert aimed.title == "the export of invoices"
    assert run_json.run_shape(aimed)["title"] == "the export of invoices"
    assert run.target == ""


def test_without_a_target_the_first_document_names_it_and_without_that_its_workflow(
    tmp_path: Path,
) -> None:
    begun = f.start(f.five_steps())
    written = f.spec_reviewed(tmp_path)

    assert begun.title == "small"
    assert written.title == "Spec, attempt 1"


def test_a_later_heading_does_not_rename_a_run(tmp_path: Path) -> None:
    run = f.spec_reviewed(tmp_path, approval_type="review")

    run = f.answered(run, "request_changes", "shorter")

    assert (tmp_path / f.SPEC).read_text() == "# Spec, attempt 2\n"
    assert run.title == "Spec, attempt 1"


def test_a_documents_heading_does_not_replace_a_target(tmp_path: Path) -> None:
    spec = f.step("spec", "tests.steps:write_spec", artifact=f.SPEC)

    run = f.started(f.workflow({"architect": [spec]}), tmp_path, target="invoices")

    assert run.title == "invoices"


def test_the_issues_title_is_the_best_name_and_follows_the_issue(
    github: FakeGitHub, tmp_path: Path
) -> None:
    github.add_issue(
        "Acme/App", 258, title="Export <!-- x -->invoices\nas CSV", body="", author="i"
    )

    run = f.started(f.five_steps(), tmp_path, work_id="258", target="invoices")
    assert run.title == "Export invoices as CSV"

    github.add_issue("Acme/App", 258, title="Export invoices", body="", author="i")
    assert f.answered(run, "approve").title == "Export invoices"


def test_secrets_are_taken_out_of_every_title(github: FakeGitHub, tmp_path: Path) -> None:
    token = f"ghp_{tail(36)}"
    github.add_issue("Acme/App", 258, title=f"Use {token}", body="", author="i")

    aimed = f.start(f.five_steps(), target=f"deploy with {token}")
    read = f.started(f.five_steps(), tmp_path, work_id="258")

    assert token[:12] not in aimed.title + read.title
    assert read.title.startswith("Use ")


def test_secrets_in_a_value_do_not_reach_a_worded_question() -> None:
    token = f"ghp_{tail(36)}"
    step = f.step("ship", confirm=True, question="Ship {target} of {project}?")

    run = f.start(f.workflow({"build": [step]}), target=token)

    assert f.pending(run).prompt.endswith(" of Acme/App?")
    assert token[:12] not in f.pending(run).prompt


def test_a_run_of_an_earlier_release_is_called_by_its_target_or_workflow() -> None:
    run = f.start(f.five_steps(), target="x" * 400)
    Run.objects.update(own_title="")

    assert len(f.fresh(run).title) == 200
    Run.objects.update(target="")
    assert f.fresh(run).title == "small"


def test_titles_of_a_list_cost_nothing(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for number in range(3):
        f.start(f.five_steps(), target=f"target {number}")
    runs = list(Run.objects.order_by("pk"))

    with django_assert_num_queries(0):
        assert [run.title for run in runs] == ["target 0", "target 1", "target 2"]
