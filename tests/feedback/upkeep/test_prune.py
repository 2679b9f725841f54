"""What nobody needs of old runs goes; the record stays whole."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from feedback.audit.integrity import faults
from feedback.models import (
    FeedbackRequest,
    FeedbackResponse,
    WebhookDelivery,
    WebhookEndpoint,
)
from feedback.upkeep import nightly, parts, prune, snapshots
from runs.changes.taking import REFS
from runs.domain.values.actors import Role, Scope
from runs.engine import history
from runs.models import (
    AuditEntry,
    ContextPackage,
    ContextPart,
    Event,
    Run,
    StepOutput,
    Upkeep,
    clock,
)
from tests import factories as f
from tests.api_client import account, error_of, program
from tests.commands import faber
from tests.jobs import work_off
from tests.repositories import Repository, reviewed

pytestmark = pytest.mark.django_db

OLD = timedelta(days=100)
PRINTS = {"id": "print", "run": ["sh", "-c", "echo printed"]}


def done(tmp_path: Path, **fields: object) -> Run:
    """A completed run with something printed and told."""
    step = {**PRINTS, "requires_approval": True}
    run = f.started(f.workflow({"build": [step]}), tmp_path, **fields)
    return f.answered(run, "approve", "Good.")


def aged(run: Run) -> Run:
    """As if it had ended long ago; where a run stands is vouched for."""
    run.completed_at = timezone.now() - OLD
    run.head_code = history.head_code(run)
    run.save()
    return run


@pytest.fixture
def old(tmp_path: Path) -> Run:
    run = aged(done(tmp_path))
    assert StepOutput.objects.exists()
    assert ContextPackage.objects.exists()
    return f.fresh(run)


def test_outputs_and_packages_go_and_the_record_is_whole(old: Run) -> None:
    events = Event.objects.count()
    assert faults() == []

    answer = faber("prune", "--older-than", "90d", "--json")

    assert answer.code == 0, answer.err
    assert (answer.document["runs"], answer.document["outputs"]) == (1, 1)
    assert not StepOutput.objects.exists()
    assert not ContextPackage.objects.exists()
    assert f.fresh(old).pruned_at is not None
    assert Event.objects.count() == events
    assert old.requests.get().decision is not None
    assert faults() == []
    assert faber("audit", "verify").code == 0
    assert AuditEntry.objects.filter(what="pruned what is older than 90d").exists()
    assert faber("prune", "--older-than", "90d", "--json").document["runs"] == 0


def test_a_dry_run_counts_and_removes_nothing(old: Run) -> None:
    answer = faber("prune", "--older-than", "90d", "--dry-run", "--json")

    found = answer.document
    assert (found["dry_run"], found["runs"], found["outputs"]) == (True, 1, 1)
    assert found["output_characters"] == len("printed\n")
    assert StepOutput.objects.exists()
    assert f.fresh(old).pruned_at is None


def test_what_is_young_or_unfinished_stays(tmp_path: Path) -> None:
    done(tmp_path)
    waiting = f.started(f.workflow({"build": [{**PRINTS, "requires_approval": True}]}), tmp_path)
    Run.objects.filter(pk=waiting.pk).update(updated_at=timezone.now() - OLD)

    prune.prune(timezone.now() - timedelta(days=90))

    assert StepOutput.objects.count() == 2
    assert not Run.objects.exclude(pruned_at=None).exists()


@pytest.mark.parametrize("age", ["90", "0d", "3h", "-1d", "soon"])
def test_an_age_that_is_none_is_refused(age: str) -> None:
    answer = faber("prune", f"--older-than={age}")

    assert answer.code == 2
    assert "write it in days, such as 90d" in answer.err


def test_what_was_pruned_answers_410_with_a_sentence(old: Run, client: Client) -> None:
    attempt = old.attempts.get()
    client.force_login(account("olga", Role.OPERATOR))
    page = f"/runs/{old.run_id}/"
    places = [
        f"{page}attempts/{attempt.pk}/output",
        f"{page}attempts/{attempt.pk}/output/stdout.txt",
        f"{page}context/1/",
        f"{page}context/1.json",
    ]
    assert [client.get(place).status_code for place in places] == [200] * 4
    prune.prune(timezone.now() - timedelta(days=90))

    for place in places:
        answer = client.get(place)
        assert answer.status_code == 410, place
        assert "was pruned on" in answer.content.decode()
    reader = program(Scope.REVIEWER)
    for query in ("", "?package=1"):
        refused = reader.get(f"/runs/{old.run_id}/context{query}")
        assert refused.status_code == 410
        assert error_of(refused)["code"] == "gone"
    assert faber("context", old.run_id).code == 6
    shown = client.get(page)
    assert shown.status_code == 200
    assert "were pruned" in shown.content.decode()
    assert client.get(f"/requests/{old.requests.get().request_id}/").status_code == 200


def test_a_part_goes_with_the_last_package_that_needs_it(old: Run, tmp_path: Path) -> None:
    young = done(tmp_path)
    shared, alone = "a" * 64, "b" * 64
    for digest in (shared, alone):
        ContextPart.objects.create(digest=digest, content=b"x", size=1)
    for run, digests in ((old, [shared, alone]), (young, [shared])):
        package = run.packages.get()
        package.manifest = {**package.manifest, "parts": dict.fromkeys(["spec"], digests[0])}
        package.manifest["parts"] |= {str(n): digest for n, digest in enumerate(digests)}
        package.save()

    prune.prune(timezone.now() - timedelta(days=90))

    assert list(ContextPart.objects.values_list("digest", flat=True)) == [shared]


def test_a_part_that_is_used_again_in_this_moment_is_put_back(
    old: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = "c" * 64
    ContextPart.objects.create(digest=digest, content=b"kept", size=4)
    used = parts._used

    def used_just_before(since: int = 0) -> set[str]:
        """A package comes right after the look, having found its part there."""
        monkeypatch.setattr(parts, "_used", used)
        found = used(since)
        attempt = f.start(f.five_steps()).attempts.get()
        manifest = {**old.packages.get().manifest, "parts": {"spec": digest}}
        ContextPackage.objects.create(run=attempt.run, attempt=attempt, manifest=manifest)
        return found

    newest = parts._newest()
    monkeypatch.setattr(parts, "_newest", lambda: newest)
    monkeypatch.setattr(parts, "_used", used_just_before)

    assert parts.drop_loose() == 0
    assert bytes(ContextPart.objects.get().content) == b"kept"


def test_the_references_of_snapshots_go_with_their_runs(tmp_path: Path) -> None:
    repository, runs = Repository(tmp_path / "code"), []
    for name in ("one", "two"):
        repository.write("new.txt", name)
        runs.append(f.answered(reviewed(repository), "approve"))
    listing = ("for-each-ref", "--format=%(refname)", REFS)
    assert len(repository(*listing).split()) == 2
    aged(runs[0])

    removed = prune.prune(timezone.now() - timedelta(days=90))

    assert removed.snapshot_refs == 1
    left = repository(*listing).split()
    assert left == [f"{REFS}/{runs[1].snapshots.get().head}"]
    assert runs[0].snapshots.get().files == 1, "what was decided on stays"
    assert faults() == []
    assert snapshots.drop_refs([runs[0]]) == 0


def test_old_deliveries_and_expired_sessions_go(settings: Settings, client: Client) -> None:
    client.force_login(User.objects.create_user("rita"))
    Session.objects.create(
        session_key="old", session_data="", expire_date=timezone.now() - timedelta(days=1)
    )
    endpoint = WebhookEndpoint.objects.create(endpoint_id="wh_1", url="https://x/", created_by="x")
    for name, is_due, age in (("old", False, 40), ("due", True, 40), ("young", False, 20)):
        WebhookDelivery.objects.create(
            delivery_id=name,
            event_key=name,
            endpoint=endpoint,
            is_due=is_due,
            created_at=timezone.now() - timedelta(days=age),
        )

    nightly.clean_up()

    assert set(WebhookDelivery.objects.values_list("delivery_id", flat=True)) == {"due", "young"}
    assert Session.objects.count() == 1


def test_without_a_setting_no_run_is_pruned(old: Run, settings: Settings) -> None:
    nightly.clean_up()
    assert StepOutput.objects.exists()

    settings.FABER_RETENTION_DAYS = 90
    nightly.clean_up()
    assert not StepOutput.objects.exists()


def test_a_request_of_the_release_before_gets_its_project() -> None:
    asked = f.pending(f.started(f.five_steps()))
    FeedbackRequest.objects.update(project=None)

    nightly.Reminder().look()

    asked.refresh_from_db()
    assert asked.project_id == asked.run.project_id


def test_an_answer_to_the_release_before_gets_its_project() -> None:
    run = f.answered(f.started(f.five_steps()), "approve")
    assert FeedbackResponse.objects.get().project_id == run.project_id
    FeedbackResponse.objects.update(project=None)

    nightly.Reminder().look()

    assert FeedbackResponse.objects.get().project_id == run.project_id


def test_one_machine_of_all_cleans_up_once_a_day() -> None:
    nightly.Reminder().look()
    assert work_off() == 0, "a new site has nothing to clean up"
    Upkeep.objects.update(done_at=clock.now() - timedelta(days=1))

    reminders = [nightly.Reminder() for _ in range(3)]
    for reminder in reminders * 2:
        reminder.look()

    assert work_off() == 1


def test_a_pruned_run_can_be_exported(old: Run, tmp_path: Path) -> None:
    prune.prune(timezone.now() - timedelta(days=90))

    assert faber("export", old.run_id, str(tmp_path / "out")).code == 0
    assert (tmp_path / "out" / "state.json").exists()
