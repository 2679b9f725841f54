from datetime import UTC, datetime
from uuid import UUID

import pytest

from runs.domain.values import ids
from runs.domain.values.errors import Invalid

UUID_TEXT = "a1b2c3d4-e5f6-7890-abcd-ef1234567890"


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (f"fractary/claude-plugins/{UUID_TEXT}", True),
        ("acme-corp/payment-service/12345678-1234-1234-1234-123456789abc", True),
        (f"a/b/{UUID_TEXT}", True),
        (f"Acme/api/{UUID_TEXT}", False),
        ("acme/api/../x", False),
        ("acme/api/" + "-" * 36, False),
        (f"/acme/api/{UUID_TEXT}", False),
        (f"acme/api/{UUID_TEXT}/", False),
    ],
)
def test_a_run_id_is_org_project_and_a_uuid(text: str, valid: bool) -> None:
    assert ids.is_run_id(text) is valid


@pytest.mark.parametrize(
    ("name", "sanitised"),
    [("Acme_Corp.", "acme_corp"), ("My.Repo--X", "my-repo-x"), ("__x__", "x"), ("…", "local")],
)
def test_names_are_made_to_fit_a_run_id(name: str, sanitised: str) -> None:
    assert ids.sanitise(name) == sanitised
    assert ids.is_run_id(ids.make_run_id(f"{name}/{name}", UUID(UUID_TEXT)))


@pytest.mark.parametrize(
    ("url", "project"),
    [
        ("git@github.com:org/repo.git", "org/repo"),
        ("https://github.com/org/repo.git", "org/repo"),
        ("https://github.com/org/repo", "org/repo"),
        ("ssh://git@host.example/org/repo.git", "org/repo"),
        ("/srv/git/repo.git", None),
        ("", None),
    ],
)
def test_a_project_is_named_by_its_git_remote(url: str, project: str | None) -> None:
    assert ids.project_of_remote(url) == project


def test_a_request_id_holds_the_day_and_six_hex_digits() -> None:
    made = ids.make_request_id(datetime(2025, 12, 6, tzinfo=UTC), b"\xa1\xb2\xc3")

    assert made == "fr-20251206-a1b2c3"


@pytest.mark.parametrize("text", ["", "258", "PROJ-123", "a_b"])
def test_a_work_id_may_be_a_number_or_a_tracker_key(text: str) -> None:
    assert ids.check_work_id(text) == text


@pytest.mark.parametrize("text", ["a b", "../x", "x" * 51, "#1"])
def test_a_bad_work_id_is_refused_with_its_form(text: str) -> None:
    with pytest.raises(Invalid, match="letters, digits"):
        ids.check_work_id(text)


@pytest.mark.parametrize("text", ["", "acme", "acme/", "/app", "a/b/c"])
def test_a_bad_project_is_refused_with_its_form(text: str) -> None:
    with pytest.raises(Invalid, match="ORG/NAME"):
        ids.check_project(text)
