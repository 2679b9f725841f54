import subprocess
import sys

import pytest

from faber_site.runtime import children, memory


def test_loading_the_application_leaves_the_collector_as_it_is() -> None:
    """Tests and scripts load it too, and go on to make what has to be collected."""
    script = (
        "import gc; before = gc.get_threshold(), gc.get_freeze_count(); import faber_site.wsgi; "
    )
    script += "assert (gc.get_threshold(), gc.get_freeze_count()) == before"

    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_collector_passes_over_the_application_of_the_site(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = []
    monkeypatch.setattr(memory, "keep_what_is_loaded", lambda: kept.append(sys.modules.copy()))

    children.load_application()

    assert "faber_site.wsgi" in kept[0]
