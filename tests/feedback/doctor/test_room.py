import pytest

from feedback.doctor import diagnosis
from feedback.upkeep import disk
from feedback.upkeep.disk import Disk
from tests import workers
from tests.commands import faber

pytestmark = pytest.mark.django_db

GB = 1024**3


@pytest.mark.parametrize(
    ("free", "total", "is_short"),
    [(2 * GB, 100 * GB, False), (GB // 2, 100 * GB, True), (GB // 2, 4 * GB, False)],
)
def test_room_is_short_before_a_busy_day_fills_it(free: int, total: int, is_short: bool) -> None:
    assert Disk(database=1, free=free, total=total).is_short is is_short


def test_the_doctor_tells_of_a_disk_that_is_almost_full(monkeypatch: pytest.MonkeyPatch) -> None:
    workers.report()
    assert diagnosis.findings() == []
    nearly = Disk(database=3_000_000_000, free=20_000_000, total=50_000_000_000)
    monkeypatch.setattr(disk, "use", lambda: nearly)

    (finding,) = diagnosis.findings()

    assert finding.what == "The disk is almost full"
    assert "20.0 MB of 50.0 GB are free" in finding.cause
    assert "faber prune" in finding.repair
    answer = faber("doctor", "--json")
    assert answer.document["disk"] == {"database_bytes": 3_000_000_000, "free_bytes": 20_000_000}
    assert "The database has 3.0 GB; 20.0 MB are free." in faber("doctor").out
