"""Decisions are found by who took them and by their project, from indexes, on both databases."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench.ground import filling
from feedback.audit import decisions
from feedback.audit.decisions import DecisionFilter
from feedback.models import FeedbackResponse
from runs.accounts import users
from runs.accounts.membership import Sight
from runs.domain.values.actors import Role
from runs.models import Project
from tests import factories as f
from tests.plans import explained, read_whole

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def found(**wanted: object) -> list[str]:
    leaf, total = decisions.leaf_of(DecisionFilter(**wanted), "", 50)  # type: ignore[arg-type]
    assert total.count == len(leaf)
    return [given.comment for given in leaf]


@pytest.fixture
def rita() -> User:
    return users.create("rita", role=Role.REVIEWER)


@pytest.fixture
def four(rita: User) -> None:
    """Answers of one person, as she is called here and there, and one of somebody else."""
    said: list[dict[str, object]] = [
        {"provided_by": {"user": "Rita", "account": "rita"}, "user": rita},
        {"provided_by": {"user": "R. Reviewer", "account": "RITA"}},
        {"provided_by": {"user": "maiden-name"}, "user": rita},
        {"provided_by": {"user": "otto"}},
    ]
    for number, columns in enumerate(said):
        run = f.answered(f.started(f.five_steps()), "approve")
        given = FeedbackResponse.objects.filter(request__run=run)
        given.update(comment=str(number), identity=uuid4(), **columns)


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize(
    ("name", "comments"),
    [
        ("rItA", ["2", "1", "0"]),
        ("r. reviewer", ["1"]),
        ("Maiden-Name", ["2"]),
        ("OTTO", ["3"]),
        ("rit", []),
        ("r_ta", []),
    ],
)
def test_a_person_is_found_by_each_of_their_names_once(name: str, comments: list[str]) -> None:
    assert found(user=name) == comments
    assert found(user=name, text="app") == comments
    assert found(user=name, text="nowhere at all") == []


@pytest.mark.usefixtures("four")
def test_whoever_sees_no_project_sees_nobodys_decisions() -> None:
    nothing = Sight(only=frozenset())

    assert found(user="rita", sight=nothing) == found(sight=nothing) == []


@pytest.mark.usefixtures("four")
def test_the_decisions_of_a_person_are_paged_like_all_others() -> None:
    pages = [decisions.leaf_of(DecisionFilter(user="rita"), str(page), 2)[0] for page in (1, 2)]

    assert [[given.comment for given in leaf] for leaf in pages] == [["2", "1"], ["0"]]


@pytest.mark.parametrize(
    ("wanted", "indexes"),
    [
        ({"user": "Rita"}, ("responses_by_name", "responses_by_account", "responses_of_user")),
        ({"user": "olga"}, ("responses_by_name", "responses_by_account")),
        ({"project": "ACME/app-7"}, ("responses_of_project",)),
    ],
    ids=["somebody who took all", "nobody", "a project"],
)
def test_the_decisions_of_a_person_or_project_are_read_from_their_indexes(
    rita: User, wanted: dict[str, str], indexes: tuple[str, ...]
) -> None:
    f.answered(f.started(f.five_steps()), "approve")
    FeedbackResponse.objects.update(user=rita)
    filling.fill_up_to(600)

    with CaptureQueriesContext(connection) as queries:
        decisions.leaf_of(DecisionFilter(**wanted), "", 5)  # type: ignore[arg-type]

    assert list(read_whole(queries, FeedbackResponse._meta.db_table)) == []
    if connection.vendor == "sqlite":
        plans = [explained(query["sql"]) for query in queries if "LIMIT" in query["sql"]]
        for index in indexes:  # the page, or the count of none
            assert f"INDEX {index} (" in plans[-1]
        if "project" in wanted:
            assert "TEMP B-TREE" not in plans[-1]


def test_the_decisions_of_a_project_are_its_own() -> None:
    f.answered(f.started(f.five_steps()), "approve")
    filling.fill_up_to(100)
    project = Project.objects.get(name="acme/app-7")

    _, total = decisions.leaf_of(DecisionFilter(project="acme/APP-7"), "", 5)

    assert total.count == FeedbackResponse.objects.filter(request__run__project=project).count() > 0
    assert found(project="acme/none") == []
