"""A storm of every fault over a small load, on either database: nothing lost, nothing twice."""

import os
import random
import shutil

import pytest
from django.db import connection

from tests.chaos.storm import scenes
from tests.chaos.storm.forecast import faults_for
from tests.chaos.storm.storm import Plan, blow

pytestmark = [pytest.mark.chaos, pytest.mark.database, pytest.mark.xdist_group("supervisor")]


@pytest.mark.timeout(600)
def test_nothing_is_lost_and_nothing_done_twice(capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(10**6))
    scene_of = {"sqlite": scenes.on_sqlite, "postgresql": scenes.on_postgres}[connection.vendor]
    with scene_of(FABER_LEASE_SECONDS="2") as scene:
        faults, missing = faults_for(scene)
        plan = Plan(seed=seed, faults=faults, seconds=0, longest_lock=4, runs=8, calm=0.3)
        report = blow(scene, plan, print)
    told = "\n".join([*missing, *report.lines()])

    assert not report.violations, f"seed {seed}, logs in {scene.folder}\n{told}"
    assert sum(report.struck.values()) >= len(faults)
    assert report.history.answers, told
    shutil.rmtree(scene.folder)
    with capsys.disabled():
        for why in missing:
            print(f"\nSKIPPED: {why}")
