"""A step sees its caller's environment, not what Django made of it."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.commands import FABER, environment

NAMES = ("DJANGO_SETTINGS_MODULE", "TZ", "_FABER_BEFORE_TZ")
LOOK = f"""
import json, os
with open("seen", "w") as file:
    json.dump({{name: os.environ.get(name) for name in {NAMES}}}, file)
"""
WORKFLOW = {
    "id": "look",
    "phases": {"build": {"steps": [{"id": "look", "run": ["python3", "-c", LOOK]}]}},
}


@pytest.mark.parametrize(
    "own",
    [{}, {"DJANGO_SETTINGS_MODULE": "shop.settings", "TZ": "Asia/Tokyo"}],
    ids=["none", "some"],
)
def test_a_step_has_the_settings_and_the_zone_of_its_caller(
    tmp_path: Path, own: dict[str, str]
) -> None:
    (tmp_path / "look.yaml").write_text(yaml.safe_dump(WORKFLOW))
    around = {
        name: value
        for name, value in environment(tmp_path).items()
        if name not in NAMES and not name.startswith("_FABER_BEFORE_")
    }

    ran = subprocess.run(
        [FABER, "run", "look.yaml"],
        cwd=tmp_path,
        env=around | own,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    seen = json.loads((tmp_path / "seen").read_text())
    assert seen == dict.fromkeys(NAMES) | own
