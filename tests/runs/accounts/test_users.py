from datetime import timedelta

import pytest
from django.utils import timezone

from runs.accounts import users
from runs.domain.values.actors import Role
from runs.domain.values.errors import Invalid, NotFound, Refused

pytestmark = pytest.mark.django_db


def token_of(link: str) -> str:
    return link.rstrip("/").rsplit("/", 1)[-1]


def test_a_link_signs_in_once() -> None:
    user = users.create("rita", role=Role.REVIEWER)
    link, expires = users.login_link(user)

    assert users.spend_link(token_of(link)).pk == user.pk
    assert timedelta(minutes=9) < expires - timezone.now() <= timedelta(minutes=10)
    with pytest.raises(Refused, match="already used"):
        users.spend_link(token_of(link))


def test_looking_at_a_link_does_not_use_it_up() -> None:
    user = users.create("rita", role=Role.REVIEWER)
    token = token_of(users.login_link(user)[0])

    users.owner_of_link(token)
    users.owner_of_link(token)

    assert users.spend_link(token).pk == user.pk


def test_a_link_dies_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    user = users.create("rita", role=Role.REVIEWER)
    token = token_of(users.login_link(user)[0])
    now = timezone.now().timestamp()
    monkeypatch.setattr("django.core.signing.time.time", lambda: now + 601)

    with pytest.raises(Refused, match="has expired"):
        users.spend_link(token)


def test_a_changed_link_is_refused() -> None:
    token = token_of(users.login_link(users.create("rita", role=Role.REVIEWER))[0])

    with pytest.raises(Refused):
        users.spend_link(token[:-2] + "xx")


def test_a_new_password_kills_old_links() -> None:
    user = users.create("rita", role=Role.REVIEWER)
    token = token_of(users.login_link(user)[0])
    user.set_password("correct horse battery")
    user.save()

    with pytest.raises(Refused):
        users.spend_link(token)


def test_roles_are_groups_and_decide_who_sees_the_admin() -> None:
    viewer = users.create("vera", role=Role.VIEWER)
    admin = users.create("ada", role=Role.ADMIN)

    assert users.actor_of(viewer).groups == {"viewer"}
    assert (viewer.is_staff, admin.is_staff, admin.is_superuser) == (False, True, True)


def test_the_first_account_is_made_once() -> None:
    assert users.first_account().pk == users.first_account().pk


def test_a_name_is_taken_whatever_its_case() -> None:
    users.create("Rita", role=Role.REVIEWER)

    with pytest.raises(Refused, match="already an account"):
        users.create("rita", role=Role.REVIEWER)


def test_a_bad_name_and_an_unknown_account_get_a_sentence() -> None:
    with pytest.raises(Invalid, match="not an account name"):
        users.create("no spaces", role=Role.REVIEWER)
    with pytest.raises(NotFound, match="There is no account nobody"):
        users.find("nobody")
