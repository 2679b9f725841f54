"""An operator has a GitHub App made, from the button to the App that is set up."""

from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from runs.domain.values.actors import Role
from runs.github import is_on
from tests.browser.conftest import OpenAs
from tests.browser.test_accessibility import faults
from tests.fake_github import FakeGitHub

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_app_is_made_on_github_and_comes_back_set_up(
    open_as: OpenAs,
    live_server: LiveServer,
    github: FakeGitHub,
    settings: Settings,
    tmp_path: Path,
    scheme: str,
) -> None:
    settings.FABER_GITHUB_TOKEN = ""
    settings.FABER_BASE_URL = live_server.url
    settings.FABER_DATA_DIR = tmp_path
    page = open_as("olga", Role.OPERATOR, also=github.url, color_scheme=scheme, viewport=PHONE)
    page.goto("/")
    page.get_by_label("Account of olga").click()
    page.get_by_role("link", name="GitHub App").click()
    assert faults(page) == []

    page.get_by_label("Organization").fill("acme")
    page.get_by_role("button", name="Review the App").click()
    expect(page.get_by_label("Manifest")).to_contain_text('"issues": "write"')
    assert faults(page) == []
    page.get_by_role("button", name="Create on GitHub").click()

    expect(page.get_by_role("heading", name="faber-app is set up")).to_be_visible()
    assert faults(page) == []
    assert github.made_from["form"] == "/organizations/acme/settings/apps/new"
    assert is_on()
