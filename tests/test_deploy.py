"""The examples in `deploy/` name what there is."""

import re

import yaml

from faber_site.configuration import variables
from tests.commands import CHECKOUT

FILES = sorted(path for path in (CHECKOUT / "deploy").rglob("*") if path.is_file())


def test_every_setting_in_an_example_is_known() -> None:
    named = {name for file in FILES for name in re.findall(r"FABER_[A-Z_]+", file.read_text())}

    assert {"FABER_DATABASE_URL", "FABER_TRUSTED_PROXIES", "FABER_DATA_DIR"} <= named
    assert list(variables.misspelt(dict.fromkeys(named, ""))) == []


def test_the_containers_start_what_faber_has() -> None:
    services = yaml.safe_load((CHECKOUT / "deploy" / "compose.yaml").read_text())["services"]

    assert services["web"]["command"] == ["web"]
    assert services["worker"]["command"] == ["work"]
    # Two machines of one name would not start.
    assert services["web"]["hostname"] != services["worker"]["hostname"]
