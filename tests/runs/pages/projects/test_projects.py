"""What is set for a project: shown and changed on the command line and in the browser."""

import subprocess
from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs.accounts import notify_urls, users
from runs.domain.values.actors import Role
from runs.models import AuditEntry, Project
from tests import factories as f
from tests.commands import Answer, faber

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.objects.create(name="Acme/App", workspace=str(tmp_path), reviewers=["rita"])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    for words in (["init", "-q", "-b", "main"], [*identity, "commit", "-qm.", "--allow-empty"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def signed_in(role: Role) -> Client:
    client = Client()
    client.force_login(users.create(role.value, role=role))
    return client


def fresh(project: Project) -> Project:
    return Project.objects.get(pk=project.pk)


def put(*pairs: str) -> Answer:
    return faber("project", "acme/app", "--set", *pairs)


def test_all_settings_are_shown(project: Project, tmp_path: Path) -> None:
    answer = faber("project", "acme/app")

    assert answer.lines[0] == "Acme/App"
    assert [line.split() for line in answer.lines[1:]] == [
        ["workspace", str(tmp_path)],
        ["base_branch", "–"],
        ["worktree", "no"],
        ["exclusive", "no"],
        ["agent", "–"],
        ["context_tokens", "–"],
        ["context_bytes", "–"],
        ["reviewers", "rita"],
        ["visibility", "everyone"],
        ["members", "–"],
        ["tells_runs", "no"],
        ["labels_issues", "no"],
        ["tracker", "–"],
        ["repository", "–"],
        ["github_allow", "–"],
        ["start_workflow", "–"],
        ["start_label", "–"],
        ["due", "–"],
        ["remind", "–"],
        ["escalate_after", "–"],
        ["escalate_to", "–"],
        ["on_timeout", "–"],
        ["business_hours", "–"],
        ["timezone", "–"],
        ["notify", "–"],
        ["assign", "–"],
        ["needs", "–"],
    ]


def test_a_program_reads_them_as_json(project: Project, tmp_path: Path) -> None:
    document = faber("project", "Acme/App", "--json").document

    assert document["name"] == "Acme/App"
    assert document["workspace"] == str(tmp_path)
    assert (document["exclusive"], document["reviewers"], document["context_bytes"]) == (
        False,
        ["rita"],
        None,
    )
    assert faber("project", "--json").document["items"] == [document]


def test_without_a_name_all_are_listed(project: Project) -> None:
    Project.objects.create(name="Acme/Other", exclusive=True)

    assert [line.split()[:3] for line in faber("project").lines] == [
        ["PROJECT", "WORKTREE", "EXCLUSIVE"],
        ["Acme/App", "no", "no"],
        ["Acme/Other", "no", "yes"],
    ]


def test_several_are_changed_at_once_and_the_others_stay(
    project: Project, repository: Path
) -> None:
    answer = put(
        "exclusive=yes",
        "worktree=on",
        "base-branch=main",
        "agent=codex",
        "context_tokens=2000",
        "github_allow=anna, ben,anna",
    )

    kept = fresh(project)
    assert answer.code == 0
    assert (kept.exclusive, kept.worktree, kept.base_branch, kept.agent) == (
        True,
        True,
        "main",
        "codex",
    )
    assert (kept.context_tokens, kept.github_allow, kept.reviewers) == (
        2000,
        ["anna", "ben"],
        ["rita"],
    )
    assert "github_allow    anna, ben" in answer.out


def test_nothing_takes_a_setting_back(project: Project) -> None:
    put("context_bytes=100", "agent=claude")

    assert put("context_bytes=", "agent=", "reviewers=").code == 0

    kept = fresh(project)
    assert (kept.context_bytes, kept.agent, kept.reviewers) == (None, "", [])


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("colour=red", "colour: cannot be set; use one of workspace, base_branch,"),
        ("exclusive", "exclusive: write it as KEY=VALUE"),
        ("exclusive=maybe", "exclusive: 'maybe' is not yes or no"),
        ("context_tokens=many", "context_tokens: Enter a whole number."),
        ("context_tokens=-1", "context_tokens: Ensure this value is greater than or equal to 0."),
        ("context_bytes=0", "context_bytes: Enter a number above 0"),
        ("workspace=here", "workspace: here is not an absolute path."),
        ("workspace=/not/there", "workspace: /not/there is not a folder on this machine."),
        ("agent='open", 'agent: "\'open" is not a command: No closing quotation.'),
        ("base_branch=gone", "base_branch: There is no branch gone in"),
        ("base_branch=--all", "base_branch: There is no branch --all in"),
    ],
)
def test_what_cannot_be_set_is_said_and_changes_nothing(
    project: Project, repository: Path, pair: str, said: str
) -> None:
    before = Project.objects.values().get()

    answer = put("tells_runs=yes", pair)

    assert answer.code == 2
    assert said in answer.err
    assert Project.objects.values().get() == before


def test_worktrees_need_a_repository(project: Project) -> None:
    answer = put("worktree=yes")

    assert answer.code == 2
    assert "worktree: " in answer.err
    assert "is not in a git repository" in answer.err
    assert fresh(project).worktree is False


def test_a_project_that_is_not_known(tmp_path: Path) -> None:
    assert faber("project", "Acme/New").code == 6
    assert faber("project", "Acme/New", "--set", "exclusive=yes").code == 6
    assert faber("project", "--set", "exclusive=yes").code == 2
    assert not Project.objects.exists()


def test_a_new_project_is_made_with_its_folder(tmp_path: Path) -> None:
    made = ["workspace=" + str(tmp_path), "exclusive=yes"]
    assert faber("project", "New", "--set", *made).code == 2

    assert faber("project", "Acme/New", "--set", *made).code == 0

    project = Project.objects.get()
    assert (project.name, project.folder, project.exclusive) == ("Acme/New", tmp_path, True)


# In the browser


def test_the_list_leads_to_each_project(project: Project) -> None:
    page = signed_in(Role.VIEWER).get("/projects/").content.decode()

    assert '<a class="row-link" id="project-' in page
    assert 'href="/projects/Acme/App/"' in page


def test_an_operator_changes_the_settings(project: Project) -> None:
    client = signed_in(Role.OPERATOR)
    users.create("rita", role=Role.REVIEWER)
    Group.objects.create(name="leads")
    page = client.get("/projects/Acme/App/").content.decode()
    assert 'value="rita"' in page

    response = client.post(
        "/projects/acme/app/",
        {"workspace": project.workspace, "exclusive": "on", "reviewers": "rita, group:leads"},
    )

    assert (response.status_code, response["Location"]) == (303, "/projects/Acme/App/?saved")
    kept = fresh(project)
    assert (kept.exclusive, kept.reviewers, kept.folder) == (
        True,
        ["rita", "group:leads"],
        project.folder,
    )
    assert "Saved." in client.get(response["Location"]).content.decode()


def test_what_is_wrong_is_said_at_its_field_and_kept(project: Project) -> None:
    response = signed_in(Role.ADMIN).post(
        "/projects/Acme/App/", {"workspace": "/not/there", "agent": "my agent"}
    )

    page = response.content.decode()
    assert response.status_code == 422
    assert "/not/there is not a folder on this machine." in page
    assert 'value="my agent"' in page
    assert fresh(project).agent == ""


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_others_read_and_change_nothing(project: Project, role: Role) -> None:
    client = signed_in(role)

    page = client.get("/projects/Acme/App/").content.decode()

    assert "rita" in page
    assert 'name="exclusive"' not in page
    assert client.post("/projects/Acme/App/", {"exclusive": "on"}).status_code == 403
    assert fresh(project).exclusive is False


def test_a_page_of_no_project_is_not_there() -> None:
    assert signed_in(Role.VIEWER).get("/projects/Acme/Gone/").status_code == 404


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("members=rita", "is not NAME:ROLE"),
        ("members=rita:admin", "is not NAME:ROLE"),
        ("members=rita:viewer,Rita:operator", "rita is named twice"),
        ("members=nobody:viewer", "There is no account nobody"),
        ("members=group:lead:viewer", "There is no group lead, did you mean leads?"),
        ("reviewers=nobody", "There is no account nobody"),
        ("visibility=secret", "secret"),
    ],
)
def test_who_belongs_to_a_project_must_be_somebody(project: Project, pair: str, told: str) -> None:
    users.create("rita", role=Role.REVIEWER)
    Group.objects.create(name="leads")

    answer = put(pair)

    assert answer.code == 2
    assert told in answer.err
    assert fresh(project).members == []


def test_members_are_set_on_the_command_line(project: Project) -> None:
    users.create("rita", role=Role.VIEWER)
    Group.objects.create(name="leads")

    answer = put("visibility=members", "members=rita:reviewer,group:leads:operator")

    assert answer.code == 0
    kept = fresh(project)
    assert (kept.visibility, kept.members) == (
        "members",
        ["rita:reviewer", "group:leads:operator"],
    )


def test_time_is_set_for_a_project(project: Project) -> None:
    users.create("olga", role=Role.OPERATOR)
    answer = put(
        *("business_hours=mon-fri 09:00-17:00", "timezone=Europe/Berlin", "due=2d", "remind=4h"),
        *("escalate_after=1d", "escalate_to=olga", "on_timeout=reject, abort"),
    )

    assert answer.code == 0, answer.err
    kept = fresh(project)
    assert (kept.due, kept.remind, kept.escalate_after) == ("2d", "4h", "1d")
    assert (kept.escalate_to, kept.on_timeout) == (["olga"], ["reject", "abort"])
    assert kept.hours
    assert str(kept.hours.zone) == "Europe/Berlin"


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (["due=soon"], "'soon' is not a duration: write 30s, 45m, 2h or 3d."),
        (["business_hours=9 to 5"], "'9 to 5' are no business hours"),
        (["timezone=Berlin"], "'Berlin' is not a time zone"),
        (["escalate_after=1d"], "Say both when to escalate and to whom."),
        (["escalate_after=1d", "escalate_to=nobody"], "There is no account nobody."),
        (["due=1d", "on_timeout=approve"], "Only a workflow can let time approve."),
        (["on_timeout=reject"], "Nothing times out without due."),
    ],
)
def test_time_that_cannot_be_meant_is_refused(
    project: Project, pairs: list[str], told: str
) -> None:
    answer = put(*pairs)

    assert answer.code == 2
    assert told in answer.err
    assert fresh(project).due == ""


def test_addresses_of_notices_are_kept_sealed_and_never_shown(project: Project) -> None:
    answer = put("notify=json://127.0.0.1/s3cr3t-one,ntfys://ntfy.example.org/s3cr3t-two")

    kept = fresh(project)
    recorded = " ".join(AuditEntry.objects.values_list("what", flat=True))
    assert answer.code == 0
    assert "s3cr3t" not in answer.out + recorded + repr(kept.notify)
    assert notify_urls.unseal(kept.notify) == (
        "json://127.0.0.1/s3cr3t-one",
        "ntfys://ntfy.example.org/s3cr3t-two",
    )
    assert "json://…" in answer.out
    assert "json://…" in recorded


def test_other_settings_leave_the_addresses_of_notices_alone(project: Project) -> None:
    put("notify=json://127.0.0.1/one")
    put("exclusive=yes")
    assert len(fresh(project).notify) == 1

    assert put("notify=").code == 0
    assert fresh(project).notify == []


@pytest.mark.parametrize(
    "address",
    ["syslog://", "file:///etc/passwd", "slack://s3cr3t", "s3cr3t", "json://h/?template=/s3cr3t"],
)
def test_an_address_that_no_notice_can_go_to_is_refused_without_being_repeated(
    project: Project, address: str
) -> None:
    answer = put(f"notify={address}")

    assert answer.code == 2
    assert "s3cr3t" not in answer.out + answer.err
    assert "ddress 1 " in answer.err
    assert fresh(project).notify == []


def test_the_list_tells_how_many_runs_go_on_and_reads_no_finished_one() -> None:
    done = f.answered(f.started(f.five_steps()), "approve")
    f.started(f.five_steps())
    visitor = signed_in(Role.VIEWER)
    with CaptureQueriesContext(connection) as queries:
        shown = visitor.get("/projects/").content.decode()

    assert done.status == "completed"
    assert "1 unfinished run<" in shown
    counted = [query["sql"] for query in queries if 'FROM "faber_runs_run"' in query["sql"]]
    assert [sql.count('"status" IN') for sql in counted] == [1]
