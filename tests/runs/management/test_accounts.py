"""Accounts and sign-in links from the command line."""

import pytest
from django.contrib.auth import authenticate, get_user_model
from pytest_django.fixtures import Settings

from runs.accounts import users
from tests.commands import faber
from tests.fake_github import FakeGitHub

pytestmark = pytest.mark.django_db


def test_an_account_is_made_with_its_role() -> None:
    answer = faber("user", "create", "rita", "--role", "operator", "--json")

    assert (answer.code, answer.document) == (0, {"name": "rita", "role": "operator"})
    assert [group.name for group in users.find("rita").groups.all()] == ["operator"]


def test_an_account_may_have_an_address_for_notices() -> None:
    assert faber("user", "create", "rita", "--email", "rita@example.org").code == 0
    refused = faber("user", "create", "paul", "--email", "paul")

    assert users.find("rita").email == "rita@example.org"
    assert refused.code == 2
    assert "'paul' is not an e-mail address" in refused.err


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


# Links to GitHub


def test_an_account_is_linked_by_githubs_number(github: FakeGitHub) -> None:
    number = github.add_user("octocat")
    faber("user", "create", "rita")

    answer = faber("user", "link", "Rita", "OctoCat", "--json")

    linked = {"name": "rita", "github_login": "OctoCat", "github_id": number}
    assert (answer.code, answer.document) == (0, linked)
    assert faber("user", "links", "--json").document["items"] == [linked]
    assert faber("user", "link", "rita", "octocat").code == 0  # again is no error


def test_a_login_is_linked_to_one_account(github: FakeGitHub) -> None:
    github.add_user("octocat")
    faber("user", "create", "rita")
    faber("user", "create", "zoe")
    faber("user", "link", "rita", "octocat")

    answer = faber("user", "link", "zoe", "octocat")

    assert answer.code == 7
    assert "octocat is already linked to rita" in answer.err


def test_an_account_can_be_unlinked(github: FakeGitHub) -> None:
    github.add_user("octocat")
    faber("user", "create", "rita")
    faber("user", "link", "rita", "octocat")

    assert faber("user", "unlink", "rita", "octocat").code == 0

    assert faber("user", "links", "--json").document["items"] == []
    assert faber("user", "unlink", "rita", "octocat").code == 6


def test_nobody_and_a_bot_cannot_be_linked(github: FakeGitHub) -> None:
    github.add_user("helper[bot]")
    faber("user", "create", "rita")

    assert faber("user", "link", "rita", "nobody").code == 6
    assert faber("user", "link", "rita", "helper[bot]").code == 7
    assert faber("user", "link", "nobody", "octocat").code == 6


def test_without_github_nothing_can_be_linked(settings: Settings) -> None:
    settings.FABER_GITHUB_TOKEN = ""
    faber("user", "create", "rita")

    answer = faber("user", "link", "rita", "octocat")

    assert answer.code == 7
    assert "FABER_GITHUB_TOKEN" in answer.err
