"""A real Chromium that may talk to the site under test and to nothing else."""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Route, WebError, expect
from pytest_django.live_server_helper import LiveServer

from runs.accounts import users
from runs.domain.values.actors import Role
from tests import chromium

# Playwright's own event loop makes Django think every query is made from asynchronous code.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")

# A browser reports honest codes as errors; these are the ones the pages give on purpose. And axe
# calls into every frame, while those of diagrams have no origin that it could name.
_HONEST = re.compile(
    r"Failed to load resource: .* status of (401|409|410|422) "
    r"|Failed to execute 'postMessage' .* recipient window's origin \('null'\)"
)

OpenAs = Callable[..., Page]


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    path = chromium.find()
    if path is None:
        pytest.skip(
            f"NO BROWSER: none of {', '.join(chromium.NAMES)} is installed; set FABER_CHROMIUM"
        )
    return {"executable_path": path, "args": list(chromium.FLAGS)}


@pytest.fixture
def roles(transactional_db: None) -> None:
    """A test that commits empties every table when it ends, this one with the others."""
    for role in Role:
        Group.objects.get_or_create(name=role.value)


@pytest.fixture
def open_as(
    roles: None, live_server: LiveServer, new_context: Callable[..., BrowserContext]
) -> Iterator[OpenAs]:
    """Opens a browser of their own for a person, signed in by a link, and watches it."""
    problems: list[str] = []

    def open_(
        name: str = "rita",
        role: Role = Role.REVIEWER,
        trouble: str = "$^",
        also: str = "data:",
        **options: Any,
    ) -> Page:
        """`trouble` is what the console may say beside the honest codes, `also` another site."""
        context = new_context(**{"base_url": live_server.url, **options})
        _watch(context, (live_server.url, "data:", also), problems, re.compile(trouble))
        page = context.new_page()
        known = User.objects.filter(username=name).first()
        user = known or users.create(name, role=role)
        address = users.login_link(user)[0].partition("/login/link/")[2]
        page.goto(f"/login/link/{address}")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Inbox").wait_for()
        return page

    yield open_
    assert problems == []


def _watch(
    context: BrowserContext,
    allowed: tuple[str, ...],
    problems: list[str],
    trouble: re.Pattern[str],
) -> None:
    def route(asked: Route) -> None:
        if asked.request.url.startswith(allowed):
            asked.continue_()
        else:
            problems.append(f"asked for {asked.request.url}")
            asked.abort()

    def said(message: ConsoleMessage) -> None:
        is_expected = _HONEST.match(message.text) or trouble.search(message.text)
        if message.type in ("error", "warning") and not is_expected:
            problems.append(f"{message.type} in the console: {message.text}")

    def failed(error: WebError) -> None:
        problems.append(f"script failed: {error.error}")

    context.set_default_timeout(10_000)
    context.route("**/*", route)
    context.on("console", said)
    context.on("weberror", failed)


def settle(page: Page) -> None:
    """Wait until htmx has bound what it has just brought: before that it hears nothing."""
    expect(page.locator(".htmx-added")).to_have_count(0)
