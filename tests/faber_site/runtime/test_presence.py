"""A machine joins its site when it fits to those that are there."""

import time
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from faber_site.runtime.presence import Presence, Unfit
from runs.jobs import register
from runs.models import SiteHost
from tests.machines import ON_SHARED_DATABASE, Become, becoming, was_last_seen

pytestmark = [pytest.mark.django_db, *ON_SHARED_DATABASE]

OTHER_KEY = "Zk3-v9Qm_17LwBxTtN0sYcE4uHdRf8ga"


@pytest.fixture
def become(settings: Settings, tmp_path: Path) -> Become:
    return becoming(settings, tmp_path)


def meanwhile(monkeypatch: pytest.MonkeyPatch, name: str, ago: timedelta) -> None:
    """What is seen of a machine while another waits to see it."""
    monkeypatch.setattr(time, "sleep", lambda _seconds: was_last_seen(name, ago))


def test_a_machine_with_another_key_than_the_living_is_refused(
    become: Become, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    become("first")
    meanwhile(monkeypatch, "first", timedelta(0))
    settings.FABER_MACHINE_NAME, settings.SECRET_KEY = "second", OTHER_KEY

    with pytest.raises(Unfit, match="The machines of this site use different secret keys"):
        Presence(works=True).enter()

    assert [host.name for host in SiteHost.objects.all()] == ["first"]


def test_a_second_machine_of_a_name_is_refused(
    become: Become, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become("first")
    meanwhile(monkeypatch, "first", timedelta(0))
    settings.FABER_DATA_DIR = tmp_path / "another"
    settings.FABER_DATA_DIR.mkdir()

    with pytest.raises(Unfit, match="Two machines have the name first"):
        Presence(works=True).enter()

    assert Presence(works=False).enter() == []  # nothing is named by a machine without workers


def test_who_follows_a_machine_that_was_killed_waits_until_it_is_seen_no_more(
    become: Become, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    become("first")
    meanwhile(monkeypatch, "first", timedelta(seconds=20))
    settings.FABER_MACHINE_NAME, settings.SECRET_KEY = "second", OTHER_KEY

    assert Presence(works=True).enter() == []


def test_a_machine_that_left_leaves_its_name_at_once(
    become: Become, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become("first")
    register.leave()
    monkeypatch.setattr(time, "sleep", lambda _seconds: pytest.fail("it waited"))
    settings.FABER_DATA_DIR = tmp_path / "another"
    settings.FABER_DATA_DIR.mkdir()

    assert Presence(works=True).enter() == []


def test_a_clock_that_is_off_is_a_warning_at_the_start(
    become: Become, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    become("first")
    monkeypatch.setattr(register, "_clock_ahead", lambda: -4.2)

    (warning,) = Presence(works=True).enter()

    assert warning.startswith("The clock of first is 4.2 s behind the database's")


def test_what_comes_up_later_is_logged_once(
    become: Become, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    become("first")
    here = Presence(works=True)
    here.enter()
    monkeypatch.setattr(register, "_clock_ahead", lambda: 9.0)

    here._sign()
    here._sign()

    assert [record.message.split(":")[0] for record in caplog.records] == [
        "The clock of first is 9.0 s ahead of the database's"
    ]
