"""The admin shows the rows and changes none of them."""

import re
from html import unescape

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django_q.models import Failure, OrmQ, Schedule, Success
from pytest_django import DjangoAssertNumQueries

import faber_site.urls  # noqa: F401  finds what apps show
from feedback.models import FeedbackRequest, FeedbackResponse
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.models import ContextPackage, Event, Project, Run, StepAttempt
from tests import factories as f

pytestmark = pytest.mark.django_db

SHOWN = (Project, Run, StepAttempt, ContextPackage, Event, FeedbackRequest, FeedbackResponse)
Rows = type[
    Project | Run | StepAttempt | ContextPackage | Event | FeedbackRequest | FeedbackResponse
]


ADMINS = admin.site._registry


def address(rows: Rows) -> str:
    return f"/admin/{rows._meta.app_label}/{rows._meta.model_name}/"


@pytest.fixture
def operator(client: Client) -> User:
    user = users.create("olga", role=Role.OPERATOR)
    client.force_login(user)
    return user


@pytest.fixture
def some_rows() -> None:
    for _ in range(3):
        f.answered(f.started(f.five_steps()), "approve")


@pytest.mark.usefixtures("operator", "some_rows")
@pytest.mark.parametrize("rows", SHOWN)
def test_staff_see_each_kind_of_row_and_can_do_nothing_with_it(client: Client, rows: Rows) -> None:
    row = rows._default_manager.first()
    assert row

    listed = client.get(address(rows))
    found = client.get(address(rows), {"q": "acme"})
    one = client.get(f"{address(rows)}{row.pk}/change/")

    assert [page.status_code for page in (listed, found, one)] == [200, 200, 200]
    assert b'name="_save"' not in one.content
    assert b"deletelink" not in one.content
    assert client.get(f"{address(rows)}add/").status_code == 403
    assert client.post(f"{address(rows)}{row.pk}/change/", {}).status_code == 403
    assert client.post(f"{address(rows)}{row.pk}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.usefixtures("operator", "some_rows")
@pytest.mark.parametrize("rows", SHOWN)
def test_a_list_costs_the_same_for_many_rows(
    client: Client, rows: Rows, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(12):
        client.get(address(rows))


@pytest.mark.usefixtures("operator", "some_rows")
@pytest.mark.parametrize("rows", SHOWN)
def test_each_row_leads_to_the_page_the_site_has_for_it(client: Client, rows: Rows) -> None:
    row = rows._default_manager.first()
    assert row

    listed = client.get(address(rows)).content.decode()
    one = client.get(f"{address(rows)}{row.pk}/change/").content.decode()

    (site,) = re.findall(r'<a href="([^"]+)" class="viewsitelink">', one)
    assert f'<a href="{site}">Open</a>' in listed
    assert client.get(unescape(site)).status_code == 200


@pytest.mark.usefixtures("operator", "some_rows")
@pytest.mark.parametrize("rows", SHOWN)
def test_history_is_walked_by_date(client: Client, rows: Rows) -> None:
    year = timezone.now().year
    field = ADMINS[rows].date_hierarchy

    listed = client.get(address(rows), {f"{field}__year": str(year)}).content.decode()

    assert 'class="toplinks"' in listed
    assert 'class="results"' in listed


@pytest.mark.usefixtures("some_rows")
def test_only_an_admin_manages_users_and_groups(client: Client) -> None:
    client.force_login(users.create("olga", role=Role.OPERATOR))
    refused = [client.get(f"/admin/auth/{name}/").status_code for name in ("user", "group")]
    client.force_login(users.create("anna", role=Role.ADMIN))
    shown = [client.get(f"/admin/auth/{name}/").status_code for name in ("user", "group")]

    assert (refused, shown) == ([403, 403], [200, 200])


@pytest.mark.usefixtures("some_rows")
@pytest.mark.parametrize("rows", SHOWN)
def test_not_even_an_admin_changes_history(client: Client, rows: Rows) -> None:
    client.force_login(users.create("anna", role=Role.ADMIN))
    row = rows._default_manager.first()
    assert row

    assert client.post(f"{address(rows)}{row.pk}/change/", {}).status_code == 403
    assert client.post(f"{address(rows)}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.get(f"{address(rows)}add/").status_code == 403


def test_reviewers_do_not_see_the_admin(client: Client) -> None:
    client.force_login(users.create("rita", role=Role.REVIEWER))

    assert client.get("/admin/").status_code == 302
    assert client.get(address(Run)).status_code == 302


def test_nothing_in_the_admin_unpickles_the_queue() -> None:
    for rows in (Success, Failure, OrmQ, Schedule):
        assert not admin.site.is_registered(rows)


@pytest.mark.usefixtures("operator", "some_rows")
def test_a_project_s_settings_are_called_what_its_own_page_calls_them(client: Client) -> None:
    project = Project.objects.get()

    shown = client.get(f"/admin/faber_runs/project/{project.pk}/change/").content.decode()
    index = client.get("/admin/").content.decode()

    for label in ("Context token limit", "Visible to", "Logins that can use commands"):
        assert f"{label}:" in shown
    assert "Used by steps without reviewers." in shown
    assert all(f">{name}<" in "".join(index.split()) for name in ("Deliveries", "Feedback", "Runs"))
    assert "FABER admin" in index
