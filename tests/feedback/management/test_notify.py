"""`faber notify test` sends to the site's, a project's or somebody's own addresses."""

import pytest
from pytest_django.fixtures import Settings

from feedback.models import NoticeSettings
from runs.accounts import notify_urls, users
from runs.domain.values.actors import Role
from runs.models import Project
from tests import receiver
from tests.commands import faber
from tests.jobs import work_off

pytestmark = pytest.mark.django_db


def test_a_test_tells_who_was_reached(settings: Settings) -> None:
    with receiver.running() as hook:
        settings.FABER_NOTIFY_URLS = (f"json://127.0.0.1:{hook.port}/site",)
        own = notify_urls.seal(f"json://127.0.0.1:{hook.port}/project")
        Project.objects.create(name="Acme/App", notify=[own])

        answers = [faber("notify", "test"), faber("notify", "test", "--project", "acme/app")]
        work_off()  # nobody sends it a second time

        assert [answer.code for answer in answers] == [0, 0]
        assert [call.path for call in hook.calls] == ["/site", "/project"]
    assert "Site (webhook)" in answers[0].out
    assert faber("notify", "test", "--json").code == 4


def test_a_failure_is_told_with_its_cause(settings: Settings) -> None:
    with receiver.running() as hook:
        hook.faults = [500]
        settings.FABER_NOTIFY_URLS = (f"json://127.0.0.1:{hook.port}/s3cr3t",)

        answer = faber("notify", "test")

    assert answer.code == 4
    assert "error=500" in answer.out
    assert "s3cr3t" not in answer.err + answer.out


def test_somebodys_own_address_must_lead_outside() -> None:
    rita = users.create("rita", role=Role.REVIEWER)
    assert faber("notify", "test", "--user", "rita").code == 6
    with receiver.running() as hook:
        own = notify_urls.seal(f"json://127.0.0.1:{hook.port}/")
        NoticeSettings.objects.create(user=rita, urls=[own])

        answer = faber("notify", "test", "--user", "rita")

        assert hook.calls == []
    assert "private or special network" in answer.out
