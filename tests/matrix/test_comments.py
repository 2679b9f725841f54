"""Every command in a comment against everybody who may write one."""

import pytest
from django.core.cache import cache
from django.test import Client

from feedback.channels.markdown.commands import CommandKind
from feedback.models import InboundComment
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.models import Run
from tests import factories as f
from tests.commands import faber
from tests.fake_github import FakeGitHub
from tests.jobs import work_off

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

REPO, ISSUE = "Acme/App", 258

# Permission on GitHub, whether they are linked to an account, and its role here.
AUTHORS = {
    "none": ("none", None),
    "read": ("read", None),
    "triage": ("triage", None),
    "write": ("write", None),
    "maintain": ("maintain", None),
    "reader-linked-operator": ("read", Role.OPERATOR),
    "writer-linked-viewer": ("write", Role.VIEWER),
    "writer-linked-operator": ("write", Role.OPERATOR),
    "robot[bot]": ("write", None),
}
_WRITE = {name for name, (granted, _) in AUTHORS.items() if granted in ("write", "maintain")}
_WRITE -= {"robot[bot]"}

# Who is heard, and what shows it; a new command without a row fails.
COMMANDS = {
    CommandKind.RESUME: ("@faber approve", _WRITE),
    CommandKind.STATUS: ("@faber status", _WRITE),
    CommandKind.CANCEL: ("@faber cancel", {"writer-linked-operator"}),
    CommandKind.START: ("@faber start core", _WRITE),
    CommandKind.ASK: ("@faber ask Why?", _WRITE),
    CommandKind.DELEGATE: ("@faber delegate stand-in", _WRITE),
    CommandKind.HELP: ("@faber help", _WRITE),
    CommandKind.UNCLEAR: ("@faber perhaps", set()),
}
# Where only members answer, who operates the site still does.
IN_CLOSED = {
    CommandKind.RESUME: ("@faber approve", {"writer-linked-operator"}),
    CommandKind.START: ("@faber start core", {"writer-linked-operator"}),
    CommandKind.ASK: ("@faber ask Why?", {"writer-linked-operator"}),
}


def test_every_command_has_a_rule() -> None:
    assert set(CommandKind) == set(COMMANDS)


def asks() -> Run:
    run = f.start(
        f.workflow({"build": [f.step("spec", requires_approval=True)]}), work_id=str(ISSUE)
    )
    work_off()
    return f.fresh(run)


@pytest.mark.parametrize("author", list(AUTHORS))
@pytest.mark.parametrize(
    ("kind", "closed"),
    [*((kind, False) for kind in COMMANDS), *((kind, True) for kind in IN_CLOSED)],
)
def test_a_comment_does_what_its_author_may(
    github: FakeGitHub, client: Client, kind: CommandKind, author: str, closed: bool
) -> None:
    cache.clear()
    permission, role = AUTHORS[author]
    github.add_issue(REPO, ISSUE, author="ida")
    github.grant(REPO, author, permission)
    if role:
        users.create(f"{author}-here", role=role)
        assert faber("user", "link", f"{author}-here", author).code == 0
    users.create("stand-in", role=Role.REVIEWER)
    run = asks()
    run.requests.update(asked_by="ci")  # a program, which can be asked too
    if closed:
        run.project.visibility = "members"
        run.project.save()
    words, heard = (IN_CLOSED if closed else COMMANDS)[kind]

    delivery = github.webhook(github.comment(REPO, ISSUE, words, author=author))
    client.post(
        "/github/webhook", delivery.body, content_type="application/json", headers=delivery.headers
    )
    work_off()

    may = author in heard
    done = {CommandKind.RESUME: "completed", CommandKind.CANCEL: "cancelled"}.get(kind)
    if done:
        assert f.fresh(run).status == (done if may else "awaiting_feedback")
    else:
        states = list(InboundComment.objects.values_list("state", flat=True))
        assert ("done" in states) is may
