"""The examples in `deploy/` name what there is."""

import json
import re

import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from faber_site.configuration import variables
from runs.accounts import tokens
from runs.domain.values.actors import Scope
from tests import factories as f
from tests import workers
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


@pytest.mark.django_db
def test_every_query_of_the_dashboard_names_metrics_and_labels_that_there_are() -> None:
    run = f.started(f.five_steps())
    run.attempts.update(cost_usd=1.5, input_tokens=900, output_tokens=100)
    workers.report()
    known = metrics_told()
    dashboard = json.loads((CHECKOUT / "deploy" / "grafana-dashboard.json").read_text())

    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    named = [re.findall(r"faber_\w+", query) for query in queries]
    assert all(len(names) == 1 for names in named), "every query is about one metric"
    assert {name for (name,) in named} <= set(known)
    for query, (name,) in zip(queries, named, strict=True):
        grouped = re.findall(r"by \(([^)]*)\)", query)
        matched = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\"", query)
        labels = {label.strip() for part in grouped for label in part.split(",")} | {*matched}
        assert labels - {"job"} <= known[name], query
    # What is told and shown nowhere would be forgotten here.
    shown = {name for (name,) in named}
    unshown = {
        name
        for name in known
        if not shown & {name, re.sub(r"_(sum|count|created)$", "_bucket", name)}
    }
    assert unshown == set(), "the dashboard shows every metric"


def metrics_told() -> dict[str, set[str]]:
    """The names of all samples with their labels."""
    Client().get("/healthz")
    _, secret = tokens.create("grafana", scope=Scope.OPERATOR)
    told = Client().get("/metrics", headers={"Authorization": f"Bearer {secret}"})
    known: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(told.content.decode()):
        for sample in family.samples:
            known.setdefault(sample.name, set()).update(sample.labels)
    return known
