"""A laptop that sleeps while an agent works: `python -m tests.chaos.storm.suspended SECONDS`."""

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.scratch import CHECKOUT, eventually
from tests.chaos.storm import database as looking
from tests.chaos.storm import judge, scenes, witness
from tests.chaos.storm.client import Api, Reply
from tests.chaos.storm.history import ACKNOWLEDGED, Asked, History
from tests.chaos.storm.hosts import continue_all, uptime, wait
from tests.chaos.storm.scenes import Scene
from tests.fake_agents.programs import FakeAgents

PATIENCE = 120.0
# The strict stand-in for Claude Code, after some seconds in which it tells that it lives.
_AGENT = """\
import os, pathlib, runpy, sys, time
names = ("FABER_RUN_ID", "FABER_STEP", "FABER_ATTEMPT")
def tell(what):
    since = pathlib.Path("/proc/uptime").read_text().split()[0]
    words = [what, *(os.environ[name] for name in names), str(os.getpid()), since]
    with open({signs!r}, "a") as file:
        file.write(" ".join(words) + "\\n")
tell("begin")
for _ in range(20):
    time.sleep({pause})
    tell("alive")
sys.path.insert(0, {root!r})
try:
    runpy.run_module("tests.fake_agents.claude", run_name="__main__")
finally:
    tell("end")
"""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slept:
    history: History
    calls: int  # of the agent

    @property
    def attempts(self) -> list[str]:
        """How each execution of a step went."""
        rows = self.history.tables.attempts
        return [f"{r.step} #{r.number} {r.status} {r.reason}".strip() for r in rows]


def suspend(seconds: float, say: Say, **settings: str) -> Slept:
    """Start a run with an agent, stop everything while it works, move the clock, go on."""
    with tempfile.TemporaryDirectory(prefix="faber-storm-agents-") as home:
        agents = FakeAgents(Path(home))
        found = {"FAKE_AGENTS": home, "PATH": f"{agents.bin}:/usr/bin:/bin", **settings}
        with scenes.on_sqlite(**found) as scene:
            told = {"signs": str(scene.signs), "pause": witness.PAUSE, "root": str(CHECKOUT)}
            agents.install("claude", _AGENT.format(**told))
            history = _Sleep(scene, say).through(seconds)
            slept = Slept(history=history, calls=len(agents.calls))
        shutil.rmtree(scene.folder)
        return slept


class _Sleep:
    def __init__(self, scene: Scene, say: Say) -> None:
        self._scene, self._host = scene, scene.hosts[0]
        self._api = Api([self._host.scratch.port], scene.token)
        self._rng = random.Random(0)  # noqa: S311
        self._began, self._tell = time.monotonic(), say

    def through(self, seconds: float) -> History:
        run = self._started()
        self._until("the agent works", lambda: len(self._signs_of("think")) > 3)
        self._sleep(seconds)
        woke = time.monotonic()
        self._until("the agent is done", lambda: self._state(run) == "awaiting_feedback")
        (request,) = self._call("GET", "/requests?status=pending").document["items"][-1:]
        key, name = "answer-1", request["request_id"]
        body: dict[str, object] = {"response": "approve", "comment": key}
        answer = self._call("POST", f"/requests/{name}/answer", body, key)
        self._say(f"{name} is answered: {answer.status}")
        self._until("the run is completed", lambda: self._state(run) == "completed")
        return History(
            signs=witness.signs(self._scene.signs),
            starts=(Asked(key="storm-0", outcome=ACKNOWLEDGED, about=run),),
            answers=(Asked(key=key, outcome=ACKNOWLEDGED, about=name),),
            tables=looking.tables(self._scene.database),
            rest=time.monotonic() - woke,
        )

    def _started(self) -> str:
        def step(name: str) -> dict[str, object]:
            return {"id": name, "run": witness.script(self._scene.signs, seconds=0.4)}

        think = {"id": "think", "prompt": "Think.", "agent": "claude", "requires_approval": True}
        steps = {"frame": step("prepare"), "build": think, "release": step("finish")}
        phases = {name: {"steps": [what]} for name, what in steps.items()}
        body: dict[str, object] = {
            "workflow": {"id": "sleep", "phases": phases},
            "target": "storm-0",
            "workspace": str(self._scene.work),
        }
        run = str(self._call("POST", "/runs", body, "storm-0").document["run_id"])
        self._say(f"{run} is started")
        return run

    def _sleep(self, seconds: float) -> None:
        stopped = self._host.stop_all()
        self._say(f"{len(stopped)} processes are stopped")
        before = len(witness.signs(self._scene.signs))
        wait(seconds)
        if self._host.clock:
            self._host.clock.set_off(round(seconds))
        self._say(f"the clock is moved by {seconds:+.0f} s more; they go on at {uptime():.2f}")
        assert len(witness.signs(self._scene.signs)) == before
        continue_all(stopped)

    def _signs_of(self, step: str) -> list[str]:
        return [sign.what for sign in witness.signs(self._scene.signs) if sign.step == step]

    def _state(self, run: str) -> str:
        return str(self._call("GET", f"/runs/{run}").document["status"])

    def _call(
        self, method: str, path: str, body: dict[str, object] | None = None, key: str = ""
    ) -> Reply:
        reply = self._api.call(self._rng, method, path, body, key)
        assert reply is not None, (method, path)
        assert reply.status < 300, reply
        return reply

    def _until(self, what: str, condition: Callable[[], bool]) -> None:
        assert eventually(condition, within=PATIENCE), self._host.scratch.log.read_text()[-3000:]
        self._say(what)

    def _say(self, what: str) -> None:
        self._tell(f"{time.monotonic() - self._began:6.1f} s  {what}")


def main() -> int:
    slept = suspend(float(sys.argv[1]), print, FABER_LEASE_SECONDS="8")
    for sign in slept.history.signs:
        if sign.what != "alive":
            print(f"   witness: {sign.what} {sign.step} #{sign.attempt} at {sign.at:.2f}")
    for attempt in slept.attempts:
        print(f"   attempt: {attempt}")
    broken = judge.violations(slept.history)
    print(f"{slept.calls} call of the agent, {len(broken)} violations", *broken, sep="\n  ")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
