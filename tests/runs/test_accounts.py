from datetime import timedelta

import pytest
from django.utils import timezone

from runs import accounts
from runs.domain.actors import Role
from runs.domain.errors import Invalid, NotFound, Refused

pytestmark = pytest.mark.django_db


def token_of(link: str) -> str:
    return link.rstrip("/").rsplit("/", 1)[-1]


def test_a_link_signs_in_once() -> None:
    user = accounts.create("rita", role=Role.REVIEWER)
    link, expires = accounts.login_link(user)

    assert accounts.spend_link(token_of(link)).pk == user.pk
    assert timedelta(minutes=9) < expires - timezone.now() <= timedelta(minutes=10)
    with pytest.raises(Refused, match="used already"):
        accounts.spend_link(token_of(link))


def test_looking_at_a_link_does_not_use_it_up() -> None:
    user = accounts.create("rita", role=Role.REVIEWER)
    token = token_of(accounts.login_link(user)[0])

    accounts.owner_of_link(token)
    accounts.owner_of_link(token)

    assert accounts.spend_link(token).pk == user.pk


def test_a_link_dies_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    user = accounts.create("rita", role=Role.REVIEWER)
    token = token_of(accounts.login_link(user)[0])
    now = timezone.now().timestamp()
    monkeypatch.setattr("django.core.signing.time.time", lambda: now + 601)

    with pytest.raises(Refused, match="not valid any more"):
        accounts.spend_link(token)


def test_a_changed_link_is_refused() -> None:
    token = token_of(accounts.login_link(accounts.create("rita", role=Role.REVIEWER))[0])

    with pytest.raises(Refused):
        accounts.spend_link(token[:-2] + "xx")


def test_a_new_password_kills_old_links() -> None:
    user = accounts.create("rita", role=Role.REVIEWER)
    token = token_of(accounts.login_link(user)[0])
    user.set_password("correct horse battery")
    user.save()

    with pytest.raises(Refused):
        accounts.spend_link(token)


def test_roles_are_groups_and_decide_who_sees_the_admin() -> None:
    viewer = accounts.create("vera", role=Role.VIEWER)
    admin = accounts.create("ada", role=Role.ADMIN)

    assert accounts.actor_of(viewer).groups == {"viewer"}
    assert (viewer.is_staff, admin.is_staff, admin.is_superuser) == (False, True, True)


def test_the_first_account_is_made_once() -> None:
    assert accounts.first_account().pk == accounts.first_account().pk


def test_a_name_is_taken_whatever_its_case() -> None:
    accounts.create("Rita", role=Role.REVIEWER)

    with pytest.raises(Refused, match="already an account"):
        accounts.create("rita", role=Role.REVIEWER)


def test_a_bad_name_and_an_unknown_account_get_a_sentence() -> None:
    with pytest.raises(Invalid, match="not an account name"):
        accounts.create("no spaces", role=Role.REVIEWER)
    with pytest.raises(NotFound, match="There is no account nobody"):
        accounts.find("nobody")
