"""A client of FABER's API in one file, for the standard library alone: copy it where you need it.

Set FABER_URL and FABER_TOKEN, or give both to `Faber`.

Ask a person, and wait for the answer as long as it takes:

    from faber_client import Faber

    faber = Faber()
    asked = faber.ask(type="confirmation", prompt="Drop the old table?")
    answer = faber.wait(asked["request_id"])
    if answer["response"]["response"] == "confirm":
        ...

Execute the remote steps of a run; FABER owns the order, the gates and the record:

    def execute(step):
        print(step["briefing"]["instruction"])
        return {"status": "success", "message": "All tests pass."}

    faber.work(run_id, execute)

Where your `callback_url` is served, `verify_callback(secret, headers, body)` gives the request;
the secret is the `callback_secret` that `ask` gave you.

From a shell: `python faber_client.py ask approval "Deploy to production?"` prints the answer.
"""

import base64
import hmac
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Json = dict[str, Any]
Executor = Callable[[Json], Json]

# One call waits for less than what proxies cut off after.
_WAIT_SECONDS = 50
_PATIENCE = 70
_ATTEMPTS = 5


class FaberError(Exception):
    """FABER refused; `code`, `details` and `status` say what and why."""

    def __init__(self, status: int, error: Json) -> None:
        super().__init__(error.get("message", f"HTTP {status}"))
        self.status = status
        self.code: str = error.get("code", "")
        self.details: Json = error.get("details", {})


class NotAllowed(FaberError):
    """The token is missing, wrong or too small."""


class LeaseLost(FaberError):
    """The step is somebody else's by now, or the run was cancelled: stop."""


class Unreachable(Exception):
    """FABER could not be reached, or kept failing."""


class NotGenuine(Exception):
    """This call to a `callback_url` is not from FABER, or is too old."""


def verify_callback(secret: str, headers: Mapping[str, str], body: bytes, age: int = 300) -> Json:
    """The request in a call to your `callback_url`, when FABER made it in the last `age` seconds.

    The secret is the `callback_secret` that came with the request when you asked. A call may come
    twice; the header `webhook-id` is then the same."""
    told = {name.lower(): value for name, value in headers.items()}
    name, at = told.get("webhook-id", ""), told.get("webhook-timestamp", "")
    if not (at.isascii() and at.isdigit() and abs(time.time() - float(at)) <= age):
        raise NotGenuine("webhook-timestamp is missing, or too far from the time here")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{name}.{at}.".encode() + body
    mine = "v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode()
    given = told.get("webhook-signature", "").split()
    if not any(hmac.compare_digest(mine.encode(), one.encode()) for one in given):
        raise NotGenuine("webhook-signature is not what the secret gives for this body")
    return dict(json.loads(body))


class Faber:
    """One FABER site, as one token sees it. Safe to use from several threads."""

    def __init__(self, url: str = "", token: str = "", *, source: str = "") -> None:
        """With the source `mcp` the site takes every call for one of an agent."""
        self._url = (url or os.environ.get("FABER_URL", "http://127.0.0.1:8000")).rstrip("/")
        self._token = token or os.environ.get("FABER_TOKEN", "")
        self._source = {"Faber-Source": source} if source else {}
        if not self._url.startswith(("http://", "https://")):
            raise ValueError(f"{self._url!r} is not an address; it begins with http:// or https://")

    # Runs

    def start(self, workflow: str | Json, **more: Any) -> Json:
        """Start a run; `more` may be work_id, project, workspace, target, autonomy, phases,
        inputs, prompt."""
        return self._post("/runs", {"workflow": workflow, **more}, once=True)

    def run(self, run_id: str) -> Json:
        return self._get(f"/runs/{run_id}")

    def runs(self, **filters: Any) -> Iterator[Json]:
        """Every run that matches status, project, work_id or q, newest first."""
        return self._pages("/runs", filters, "cursor")

    def state(self, run_id: str) -> Json:
        return self._get(f"/runs/{run_id}/state")

    def events(self, run_id: str, after: int = 0) -> Iterator[Json]:
        return self._pages(f"/runs/{run_id}/events", {"after": after}, "after")

    def changes(self, run_id: str, request_id: str = "", since: str = "base") -> Json:
        """What the run changed in its repository, with a patch for each file.

        As the newest request shows it, or the one that is named; since `base`, where the run
        began, or since the `round` before.
        """
        query = urllib.parse.urlencode({"request": request_id, "since": since})
        return self._get(f"/runs/{run_id}/changes?{query}")

    def emit(self, run_id: str, type: str, message: str, metadata: Json | None = None) -> Json:  # noqa: A002
        """Tell of work in the run's history: a commit, a test run, a pull request."""
        body = {"type": type, "message": message, "metadata": metadata or {}}
        return self._post(f"/runs/{run_id}/events", body, once=True)

    def cancel(self, run_id: str, reason: str) -> Json:
        return self._post(f"/runs/{run_id}/cancel", {"reason": reason})

    # Requests

    def ask(
        self,
        *,
        type: str,  # noqa: A002 (the API's name)
        prompt: str,
        run_id: str = "",
        **more: Any,
    ) -> Json:
        """Ask people; `more` may be options, context, artifact, callback_url; in a run lease."""
        path = f"/runs/{run_id}/requests" if run_id else "/requests"
        return self._post(path, {"type": type, "prompt": prompt, **more}, once=True)

    def request(self, request_id: str) -> Json:
        return self._get(f"/requests/{request_id}")

    def pending(self, **filters: Any) -> Iterator[Json]:
        """Every open request that matches project, type or assigned, the oldest first."""
        return self._pages("/requests", {"status": "pending", **filters}, "cursor")

    def wait(
        self,
        request_id: str,
        seconds: float | None = None,
        *,
        reply: Callable[[Json], str] | None = None,
    ) -> Json | None:
        """The request once it is answered or withdrawn; None when that took too long.

        Many short waits: whatever happens to the connection, the answer is not lost. A reviewer
        may ask something before deciding: `reply` gets the entry of `thread` and gives the answer.
        """
        ends = None if seconds is None else time.monotonic() + seconds
        while True:
            left = _WAIT_SECONDS if ends is None else ends - time.monotonic()
            timeout = max(0.0, min(left, _WAIT_SECONDS))
            status, headers, document = self._call(
                "GET", f"/requests/{request_id}/wait?timeout={timeout:.3f}"
            )
            if status == 200:
                return document
            for entry in document["thread"] if reply else ():
                if reply and entry["status"] == "pending":
                    self.reply(request_id, entry["number"], reply(entry))
            if ends is not None and time.monotonic() >= ends:
                return None
            time.sleep(float(headers.get("Retry-After", 0)))

    def ask_agent(self, request_id: str, question: str) -> Json:
        """Ask the agent before deciding, with a reviewer's token; the reply comes in `thread`."""
        return self._post(f"/requests/{request_id}/questions", {"question": question}, once=True)

    def reply(self, request_id: str, number: int, answer: str) -> Json:
        """Reply to a reviewer's question: an entry of `thread` whose status is `pending`."""
        path = f"/requests/{request_id}/questions/{number}/reply"
        return self._post(path, {"answer": answer}, once=True)

    def withdraw(self, request_id: str) -> Json:
        """Take back a question that this token asked."""
        return self._post(f"/requests/{request_id}/withdraw", {}, once=True)

    def answer(self, request_id: str, response: str, comment: str = "", **more: Any) -> Json:
        """Answer, with a reviewer's token; `more` may be items and seal."""
        body = {"response": response, "comment": comment, **more}
        return self._post(f"/requests/{request_id}/answer", body, once=True)

    # Remote steps

    def next(self, run_id: str, lease_seconds: int | None = None) -> Json:
        body = {} if lease_seconds is None else {"lease_seconds": lease_seconds}
        return self._post(f"/runs/{run_id}/next", body)

    def finish(self, run_id: str, lease: str, response: Json, **more: Any) -> Json:
        body = {"lease": lease, "response": response, **more}
        return self._post(f"/runs/{run_id}/finish", body)

    def heartbeat(self, run_id: str, lease: str) -> Json:
        return self._post(f"/runs/{run_id}/heartbeat", {"lease": lease})

    def work(
        self, run_id: str, execute: Executor, *, lease_seconds: int = 120, poll: float = 2
    ) -> str:
        """Execute every remote step of a run until it ends; returns how it ended.

        `execute` gets the decision (`step`, `phase`, `definition`, `briefing`, `lease`) and hands
        back a skill response. The lease is kept while it works. When the lease is lost the
        result is thrown away and the next decision is asked for.
        """
        decision = self.next(run_id, lease_seconds)
        while decision["action"] != "done":
            if decision["action"] == "wait":
                if decision["request_id"]:
                    self.wait(decision["request_id"])
                time.sleep(poll)
                decision = self.next(run_id, lease_seconds)
                continue
            try:
                with _Heart(self, run_id, decision["lease"], lease_seconds / 4):
                    response = _guarded(execute, decision)
                decision = self.finish(run_id, decision["lease"], response)
            except LeaseLost:
                decision = self.next(run_id, lease_seconds)
        return str(decision["status"])

    # HTTP

    def _get(self, path: str) -> Json:
        return self._call("GET", path)[2]

    def _post(self, path: str, body: Json, *, once: bool = False) -> Json:
        """With `once`, a call that is repeated after a broken connection still acts once."""
        headers = {"Idempotency-Key": uuid.uuid4().hex} if once else {}
        return self._call("POST", path, body, headers, repeat=once)[2]

    def _pages(self, path: str, query: Json, cursor: str) -> Iterator[Json]:
        while True:
            page = self._get(f"{path}?{urllib.parse.urlencode(query)}")
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            query = {**query, cursor: page["next_cursor"]}

    def _call(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        headers: dict[str, str] | None = None,
        *,
        repeat: bool = True,
    ) -> tuple[int, Any, Json]:
        request = urllib.request.Request(  # noqa: S310 (the address was checked)
            f"{self._url}/api/v1{urllib.parse.quote(path, safe='/?&=%')}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                **self._source,
                **(headers or {}),
            },
        )
        for attempt in range(_ATTEMPTS):
            try:
                with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
                    return answer.status, answer.headers, json.load(answer)
            except urllib.error.HTTPError as error:
                with error:
                    refused = _refusal(error)
                if refused.status not in (429, 502, 503, 504) and refused.code != "in_progress":
                    raise refused from None
                pause = float(error.headers.get("Retry-After") or 2**attempt)
                problem = str(refused)
            except OSError as error:
                if not repeat:
                    raise Unreachable(f"{self._url}: {error}") from error
                pause, problem = 2.0**attempt, str(error)
            time.sleep(min(pause, 30))
        raise Unreachable(f"{self._url}: {problem}")


class _Heart:
    """Beats while a step is executed, so that nobody takes it away."""

    def __init__(self, faber: Faber, run_id: str, lease: str, every: float) -> None:
        self._faber, self._run_id, self._lease, self._every = faber, run_id, lease, every
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_error: object) -> None:
        self._done.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._done.wait(self._every):
            try:
                self._faber.heartbeat(self._run_id, self._lease)
            except FaberError:
                return  # `finish` will be told the same
            except Unreachable:
                continue


def _guarded(execute: Executor, decision: Json) -> Json:
    """What the executor hands back; an exception is a failure of its step."""
    try:
        return execute(decision)
    except Exception as error:  # noqa: BLE001 (whatever it is, a person must see it)
        return {
            "status": "failure",
            "message": f"{type(error).__name__}: {error}"[:500],
            "errors": [f"{type(error).__name__}: {error}"],
        }


def _refusal(error: urllib.error.HTTPError) -> FaberError:
    try:
        told: Json = json.load(error)["error"]
    except (ValueError, KeyError, TypeError):
        told = {"message": f"HTTP {error.code} from {error.url}"}
    if error.code in (401, 403):
        return NotAllowed(error.code, told)
    return (LeaseLost if told.get("code") == "lease_lost" else FaberError)(error.code, told)


def _main(words: list[str]) -> int:
    if len(words) < 3 or words[0] != "ask":
        sys.stderr.write("Usage: faber_client.py ask TYPE PROMPT [OPTION …]\n")
        return 2
    faber = Faber()
    asked = faber.ask(type=words[1], prompt=words[2], options=words[3:])
    sys.stderr.write(f"Asked: {asked['url']}\n")
    settled = faber.wait(asked["request_id"])
    answer = settled and settled["response"]
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0 if answer else 5


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
