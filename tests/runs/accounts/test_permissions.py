import pytest

from runs.accounts import permissions
from runs.domain.values.actors import Role
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
