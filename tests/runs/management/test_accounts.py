"""Accounts and sign-in links from the command line."""

import pytest
from django.contrib.auth import authenticate, get_user_model

from runs.accounts import users
from tests.commands import faber

pytestmark = pytest.mark.django_db


def test_an_account_is_made_with_its_role() -> None:
    answer = faber("user", "create", "rita", "--role", "operator", "--json")

    assert (answer.code, answer.document) == (0, {"name": "rita", "role": "operator"})
    assert [group.name for group in users.find("rita").groups.all()] == ["operator"]


def test_without_a_role_it_is_a_reviewer() -> None:
    assert faber("user", "create", "rita", "--json").document["role"] == "reviewer"


def test_a_password_from_standard_input_signs_in() -> None:
    answer = faber("user", "create", "rita", "--password-stdin", stdin="correct horse battery\n")

    assert answer.code == 0
    assert authenticate(username="rita", password="correct horse battery")


def test_a_weak_password_is_refused_and_no_account_is_made() -> None:
    answer = faber("user", "create", "rita", "--password-stdin", stdin="1234\n")

    assert answer.code == 2
    assert answer.err.startswith("password: This password is too short.")
    assert not get_user_model().objects.exists()


def test_a_second_account_of_the_same_name_is_refused() -> None:
    faber("user", "create", "rita")

    answer = faber("user", "create", "Rita")

    assert (answer.code, answer.err) == (7, "There is already an account Rita.\n")


def test_a_login_link_signs_its_account_in() -> None:
    faber("user", "create", "rita")

    document = faber("login-link", "rita", "--json").document

    assert set(document) == {"url", "expires_at"}
    assert users.owner_of_link(document["url"].rstrip("/").rpartition("/")[2]).username == "rita"


def test_a_login_link_of_nobody_is_not_found() -> None:
    answer = faber("login-link", "nobody")

    assert (answer.code, answer.err) == (6, "There is no account nobody.\n")
