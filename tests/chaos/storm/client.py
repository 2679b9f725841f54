"""Programs and people at a site: they start runs and answer, and note what they are told."""

import contextlib
import http.client
import json
import random
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.chaos.storm import witness
from tests.chaos.storm.history import ACKNOWLEDGED, REFUSED, UNKNOWN, Asked, Look, Spoken
from tests.fake_github import FakeGitHub

REPO = "Acme/Storm"
PATIENCE = 15.0  # with one call
PAUSE = 0.4
DEMO = "faber/demo/"  # which every new site begins with
LEFT = "-left"  # a run that nobody answers
MOST_WORDS = 6
_MARK = re.compile(r"<!-- faber:(\S+) -->")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    document: Json

    @property
    def code(self) -> str:
        return str(self.document.get("error", {}).get("code", ""))


class Api:
    """The site's calls, at any of its addresses; no reply means that nobody knows."""

    def __init__(self, ports: Sequence[int], token: str) -> None:
        self._ports = ports
        self._token = token

    def call(
        self, rng: random.Random, method: str, path: str, body: Json | None = None, key: str = ""
    ) -> Reply | None:
        asking = http.client.HTTPConnection("127.0.0.1", rng.choice(self._ports), timeout=PATIENCE)
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            **({"Idempotency-Key": key} if key else {}),
        }
        try:
            asking.request(method, f"/api/v1{path}", json.dumps(body) if body else None, headers)
            answer = asking.getresponse()
            return Reply(status=answer.status, document=json.loads(answer.read()))
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            asking.close()

    def webhook_address(self, rng: random.Random) -> str:
        return f"http://127.0.0.1:{rng.choice(self._ports)}/github/webhook"


class Crowd:
    """Threads that go on until they are told to finish, and then until all is answered."""

    def __init__(
        self,
        api: Api,
        github: FakeGitHub,
        *,
        seed: int,
        folder: Path,
        signs: Path,
        at_once: int,
        most: int,
        longest: float,
    ) -> None:
        self._api, self._github = api, github
        self._seed, self._folder, self._signs = seed, folder, signs
        self._at_once, self._most, self._longest = at_once, most, longest
        self._lock = threading.Lock()
        self._ends = threading.Event()  # no more runs are started
        self._gone = threading.Event()
        self._answering: set[str] = set()
        self._unfinished = 0
        self._calls = 0
        self.starts: list[Asked] = []
        self.answers: list[Asked] = []
        self.spoken: list[Spoken] = []
        self.looks: list[Look] = []
        self.troubles: list[str] = []
        self._threads = [
            threading.Thread(target=self._survive, args=(work, name), daemon=True)
            for work, name in (
                (self._start_runs, "starter"),
                (self._answer, "first"),
                (self._answer, "second"),
                (self._look, "looker"),
            )
        ]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def start_no_more(self) -> None:
        self._ends.set()

    def leave(self) -> None:
        self._ends.set()
        self._gone.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE)

    def _survive(self, work: Callable[[random.Random], None], name: str) -> None:
        try:
            work(random.Random(f"{self._seed} {name}"))  # noqa: S311
        except Exception as error:  # noqa: BLE001  a thread's death must not be silent
            self.troubles.append(f"the client {name} failed: {error!r}")

    # Runs

    def _start_runs(self, rng: random.Random) -> None:
        for number in range(self._most):
            while self._unfinished >= self._at_once and not self._ends.is_set():
                self._gone.wait(PAUSE)
            if self._ends.is_set():
                return
            self._unfinished += 1
            self.starts.append(self._start(rng, number))
            self._gone.wait(rng.uniform(0, PAUSE))

    def _start(self, rng: random.Random, number: int) -> Asked:
        key = f"storm-{number}{LEFT if number % 9 == 5 else ''}"
        body = {"workflow": self._workflow(rng), "target": key, "workspace": str(self._folder)}
        # By its work id everybody knows what is meant for a run.
        on_github = {"project": REPO, "work_id": str(self._github.add_issue(REPO))}
        body |= on_github if number % 4 == 2 else {"work_id": key}
        return self._until_known(rng, "/runs", body, key)

    def _workflow(self, rng: random.Random) -> Json:
        def step(name: str, **fields: object) -> Json:
            # Mostly short, now and then longer than a lease.
            seconds = rng.choice((0.4, 0.4, 1, 1, 2, self._longest))
            return {"id": name, "run": witness.script(self._signs, seconds=seconds), **fields}

        asks = {"requires_approval": True, "approval_type": "review"}
        return {
            "id": "storm",
            "phases": {
                "frame": {"steps": [step("prepare")]},
                "build": {"steps": [step("make", **asks)]},
                "release": {"steps": [step("finish")]},
            },
        }

    @property
    def is_calling(self) -> bool:
        """Whether somebody asks for something whose outcome is not known yet."""
        return self._calls > 0

    def _until_known(self, rng: random.Random, path: str, body: Json, key: str) -> Asked:
        """Ask until somebody says how it went, always with the same key."""
        self._calls += 1
        try:
            return self._asked(rng, path, body, key)
        finally:
            self._calls -= 1

    def _asked(self, rng: random.Random, path: str, body: Json, key: str) -> Asked:
        told = ""
        while not self._gone.is_set():
            reply = self._api.call(rng, "POST", path, body, key)
            if reply and reply.status < 300:
                about = str(reply.document.get("run_id", ""))
                return Asked(key=key, outcome=ACKNOWLEDGED, about=about)
            told = f"({reply.status} {reply.code})" if reply else told
            if reply and reply.code == "unknown_outcome":
                break
            if reply and reply.status < 500 and reply.code != "in_progress":
                return Asked(key=key, outcome=REFUSED, told=str(reply.document))
            self._gone.wait(PAUSE)
        return Asked(key=key, outcome=UNKNOWN, told=told)

    # Answers

    def _answer(self, rng: random.Random) -> None:
        while not self._gone.wait(PAUSE):
            replied = self._replied()
            reply = self._api.call(rng, "GET", "/requests?status=pending&limit=200")
            for request in reply.document["items"] if reply and reply.status == 200 else ():
                name, work_id = request["request_id"], str(request["work_id"])
                is_left = work_id.endswith(LEFT) or request["run_id"].startswith(DEMO)
                if self._gone.is_set() or is_left or not self._is_mine(name):
                    continue
                if not work_id.isdigit():
                    self._answer_one(rng, name, _choice(rng, request))
                    continue
                if self._is_to_be_told(name, int(work_id), replied):
                    self._speak(rng, name, int(work_id), _choice(rng, request))
                self._answering.discard(name)

    def _is_mine(self, request: str) -> bool:
        """Two people may look at one request; one of them answers."""
        with self._lock:
            is_new = request not in self._answering
            self._answering.add(request)
        return is_new

    def _answer_one(self, rng: random.Random, request: str, choice: str) -> None:
        key = f"answer-{request}"
        body = {"response": choice, "comment": key}
        given = self._until_known(rng, f"/requests/{request}/answer", body, key)
        self.answers.append(replace(given, about=request, told=f"{choice} {given.told}".strip()))

    # On GitHub

    def _replied(self) -> set[str]:
        return {mark for mark in marks_on(self._github) if mark.startswith("reply-")}

    def _is_to_be_told(self, request: str, issue: int, replied: set[str]) -> bool:
        """Somebody answers what stands on the issue; refused, and told why, they say it again."""
        before = [spoken for spoken in self.spoken if spoken.request == request]
        if not before:
            return request in marks_on(self._github, issue)
        return f"reply-{before[-1].comment_id}" in replied and len(before) < MOST_WORDS

    def _speak(self, rng: random.Random, request: str, issue: int, choice: str) -> None:
        said = f"@faber {choice}\n\nanswer-{request}"
        made = self._github.comment(REPO, issue, said, author="rita")
        self.spoken.append(Spoken(comment_id=made.id, request=request))
        # GitHub tries once; what does not arrive is found when the comments are read.
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._github.webhook(made).send(self._api.webhook_address(rng), PATIENCE)

    # Looks

    def _look(self, rng: random.Random) -> None:
        known: dict[str, str] = {}
        while not self._gone.wait(PAUSE):
            reply = self._api.call(rng, "GET", "/runs?limit=200")
            if reply is None or reply.status != 200:
                continue
            for run in reply.document["items"]:
                name, status = run["run_id"], run["status"]
                if known.get(name) != status:
                    known[name] = status
                    self.looks.append(Look(run=name, status=status))
            done = sum(status in ("completed", "cancelled") for status in known.values())
            left = sum(start.key.endswith(LEFT) for start in self.starts)
            self._unfinished = len(self.starts) - done - left


def marks_on(github: FakeGitHub, issue: int | None = None) -> list[str]:
    """What the comments of the site are of, one name for each."""
    ours = [made for made in github.comments(REPO, issue) if made.author == github.login]
    return [mark for made in ours for mark in _MARK.findall(made.body)[-1:]]


def _choice(rng: random.Random, request: Json) -> str:
    options = [option["value"] for option in request["options"]]
    if "retry" in options:
        return "retry"
    if "approve" not in options:
        return str(options[0])
    return rng.choice(["approve"] * 7 + ["request_changes"] * 2 + ["reject"])
