from dataclasses import replace

import pytest

from runs import engine
from runs.accounts import permissions
from runs.domain.values.actors import Role, Source
from runs.domain.values.errors import NotAllowed
from tests import factories as f

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("role", "starts", "steers"),
    [
        (Role.VIEWER, False, False),
        (Role.REVIEWER, True, False),
        (Role.OPERATOR, True, True),
        (Role.ADMIN, True, True),
    ],
)
def test_each_role_may_do_what_it_is_for(role: Role, starts: bool, steers: bool) -> None:
    actor = f.person("Pat", groups=frozenset({role.value}))
    run = f.start(f.five_steps())

    assert permissions.may_start(actor) is starts
    assert permissions.may_steer(actor, run) is steers


def test_whoever_started_a_run_may_steer_it() -> None:
    run = f.start(f.five_steps())

    assert permissions.may_steer(f.person("otto", groups=frozenset({"reviewer"})), run)


def test_an_agent_may_neither_start_nor_steer() -> None:
    run = f.start(f.five_steps())
    agent = f.person("Otto", is_agent=True, groups=frozenset({"operator"}))

    with pytest.raises(NotAllowed):
        permissions.check_may_start(agent)
    with pytest.raises(NotAllowed):
        permissions.check_may_steer(agent, run)


def test_a_git_name_or_a_login_like_the_starters_gives_no_right() -> None:
    run = f.start(f.five_steps())
    stranger = replace(f.person("Otto", source=Source.ISSUE_COMMENT), account="")
    git_name = replace(f.person("Otto", source=Source.CLI), account="mallory")

    assert not permissions.may_steer(stranger, run)
    assert not permissions.may_steer(git_name, run)
    assert permissions.is_starter(stranger, run)  # it still takes the right to approve oneself


@pytest.mark.parametrize("source", [Source.CLI, Source.PARALLEL_COORDINATION, Source.ISSUE_COMMENT])
def test_a_git_name_or_a_login_like_a_reviewers_is_no_reviewer(source: Source) -> None:
    run = f.start(f.five_steps())
    method = "issue_comment_author" if source is Source.ISSUE_COMMENT else "git_config"
    pretender = replace(f.person("Rita", source=source, method=method), account="mallory")

    assert permissions.refusal_to_answer(pretender, run, ["rita"])
    known = replace(pretender, account="rita", user_id=1)
    assert not permissions.refusal_to_answer(known, run, ["rita"])


@pytest.mark.parametrize("source", [Source.WEB, Source.API, Source.CLI, Source.ISSUE_COMMENT])
def test_the_engine_itself_refuses_whoever_may_not_steer(source: Source) -> None:
    run = f.start(f.five_steps())
    reviewer = f.person("Rita", source=source)

    with pytest.raises(NotAllowed, match="operators and the person who started"):
        engine.cancel(run.pk, reason="no", actor=reviewer)
    with pytest.raises(NotAllowed, match="operators and the person who started"):
        engine.resume_stopped(run.pk, reviewer)
    assert f.fresh(run).status == "in_progress"
