"""What the machines of a site have to agree about, and what is said when they do not."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from runs.jobs import agreement, register
from runs.jobs.agreement import Matter
from runs.models import Project, SiteHost
from tests.machines import ON_SHARED_DATABASE, Become, becoming, was_last_seen

pytestmark = [pytest.mark.django_db, *ON_SHARED_DATABASE]

OTHER_KEY = "Zk3-v9Qm_17LwBxTtN0sYcE4uHdRf8ga"


@pytest.fixture
def become(settings: Settings, tmp_path: Path) -> Become:
    return becoming(settings, tmp_path)


def whats() -> list[str]:
    return [found.what for found in agreement.disagreements()]


def test_machines_that_agree_are_not_spoken_of(become: Become) -> None:
    become("first")
    become("second")

    assert agreement.disagreements() == []


@pytest.mark.parametrize(
    ("setting", "called"), [("SECRET_KEY", "secret"), ("FABER_AUDIT_KEY", "audit")]
)
def test_different_keys_are_told_with_the_machines_and_without_the_keys(
    become: Become, settings: Settings, setting: str, called: str
) -> None:
    become("first")
    setattr(settings, setting, OTHER_KEY)
    become("second")

    (found,) = agreement.disagreements()

    assert found.about is Matter.KEYS
    assert found.what == f"The machines of this site use different {called} keys"
    assert found.cause.startswith("first and second (this process) differ")
    assert OTHER_KEY not in str(found)
    assert OTHER_KEY not in str(list(SiteHost.objects.values()))


def test_different_queues_are_told(become: Become, settings: Settings) -> None:
    become("first")
    settings.FABER_QUEUE = "celery"
    become("second")

    (found,) = agreement.disagreements()

    assert found.about is Matter.QUEUES
    assert found.about.is_fatal
    assert found.what == "The machines of this site use different queues"
    assert found.cause.startswith("first and second (this process) differ")


def test_a_command_with_another_key_than_the_worker_beside_it_is_told(
    become: Become, settings: Settings
) -> None:
    become("first")
    settings.SECRET_KEY = OTHER_KEY

    (found,) = agreement.disagreements()

    assert found.cause.startswith("first and first (this process) differ")


def test_a_machine_that_is_gone_disagrees_with_nobody(become: Become, settings: Settings) -> None:
    become("first")
    settings.SECRET_KEY = OTHER_KEY
    become("second")
    was_last_seen("first", timedelta(minutes=1))

    assert agreement.disagreements() == []


def test_two_machines_with_one_name_are_told(
    become: Become, settings: Settings, tmp_path: Path
) -> None:
    become("first")
    settings.FABER_DATA_DIR = tmp_path / "another"
    settings.FABER_DATA_DIR.mkdir()
    register.tell(register.this_machine(works=True))

    assert whats() == ["Two machines have the name first"]


def test_a_data_directory_that_two_machines_share_is_no_trouble(
    become: Become, settings: Settings
) -> None:
    become("first")
    settings.FABER_MACHINE_NAME = "second"
    register.tell(register.this_machine(works=True))

    assert whats() == []


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (3, ["The clock of first is 3.0 s ahead of the database's"]),
        (-30, ["The clock of first is 30.0 s behind the database's"]),
        (1.5, []),
    ],
)
def test_a_clock_that_is_off_is_told(
    become: Become, monkeypatch: pytest.MonkeyPatch, seconds: float, said: list[str]
) -> None:
    right = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: right() + timedelta(seconds=seconds))

    become("first")

    assert whats() == said


def test_a_folder_that_one_machine_lacks_is_told_with_those_that_have_it(
    become: Become, tmp_path: Path
) -> None:
    Project.objects.create(name="Acme/App", workspace=str(tmp_path / "app"))
    become("first")
    become("second")
    SiteHost.objects.filter(name="second").update(lacks=register.missing([]))

    (found,) = agreement.disagreements()

    assert found.what == f"second has no folder {tmp_path / 'app'}"
    assert found.cause == "only first can execute steps there"


def test_a_folder_that_no_machine_has_is_no_disagreement(become: Become, tmp_path: Path) -> None:
    Project.objects.create(name="Acme/App", workspace=str(tmp_path / "app"))
    become("first")
    SiteHost.objects.update(lacks=register.missing([]))

    assert whats() == []
