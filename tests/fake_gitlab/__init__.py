"""A GitLab of our own: it keeps state, pages, knows roles, and fails when it is told to.

Projects are found without regard to case, as there.
"""

import functools
import itertools
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from pytest_django.fixtures import Settings

TOKEN = "glpat-tests0123456789abcdef"
SECRET = "the token of the webhook, ünïcode"
LOGIN = "faber-site"
ISSUE, MERGE_REQUEST = "issues", "merge_requests"
_KINDS = {ISSUE: "Issue", MERGE_REQUEST: "MergeRequest"}
_THREAD = re.compile(r"/projects/(?P<repo>[^/]+)/(?P<kind>issues|merge_requests)/(?P<iid>\d+)(.*)")


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(slots=True, kw_only=True)
class Note:
    id: int
    repo: str
    kind: str
    iid: int
    author: str
    body: str
    created_at: datetime
    updated_at: datetime
    system: bool = False
    emoji: list[str] = field(default_factory=list)

    @property
    def at(self) -> tuple[str, str, int]:
        return self.repo.lower(), self.kind, self.iid


@dataclass(slots=True, kw_only=True)
class Fault:
    """The next calls with that method and part of a path; without a status it hangs up."""

    status: int = 0
    stores: bool = False
    method: str = ""
    path: str = ""
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)


class FakeGitLab:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.notes: dict[int, Note] = {}
        self.threads: dict[tuple[str, str, int], dict[str, Any]] = {}
        self.users = {LOGIN: 1}
        self.bots: set[str] = set()
        self.levels: dict[tuple[str, int], int] = {}
        self.statuses: list[tuple[str, str, str]] = []
        self.calls: list[tuple[str, str]] = []
        self.faults: list[Fault] = []
        self._ids = itertools.count(1001)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def user(self, login: str) -> int:
        return self.users.setdefault(login, len(self.users) + 1)

    def grant(self, repo: str, login: str, level: int) -> None:
        self.levels[repo.lower(), self.user(login)] = level

    def open(self, repo: str, iid: int, kind: str = ISSUE, author: str = "ida") -> None:
        self.user(author)
        self.threads[repo.lower(), kind, iid] = {"repo": repo, "labels": [], "author": author}

    def say(self, repo: str, iid: int, body: str, author: str, kind: str = ISSUE) -> Note:
        with self.lock:
            now = datetime.now(UTC)
            made = Note(
                id=next(self._ids),
                repo=repo,
                kind=kind,
                iid=iid,
                author=author,
                body=body,
                created_at=now,
                updated_at=now,
            )
            self.user(author)
            self.notes[made.id] = made
        return made

    def label(self, repo: str, iid: int, name: str, author: str) -> None:
        """Somebody puts a label on an issue."""
        with self.lock:
            there = self.threads[repo.lower(), ISSUE, iid]
            there["labels"] = [*there["labels"], name]
            made = {
                "id": next(self._ids),
                "user": {"id": self.user(author), "username": author},
                "created_at": stamp(datetime.now(UTC)),
                "label": {"name": name},
                "action": "add",
            }
            there.setdefault("events", []).append(made)

    def signal(self, repo: str, iid: int, number: int) -> tuple[bytes, dict[str, str]]:
        """A delivery about a changed issue."""
        labels = self.threads[repo.lower(), ISSUE, iid]["labels"]
        payload = {
            "object_kind": "issue",
            "user": {"username": "mallory"},
            "project": {"path_with_namespace": repo},
            "object_attributes": {"iid": iid, "action": "update"},
            "labels": [{"title": name} for name in labels],
        }
        headers = {
            "X-Gitlab-Event": "Issue Hook",
            "X-Gitlab-Token": SECRET.encode().decode("latin-1"),
            "Idempotency-Key": f"issue-{number}",
        }
        return json.dumps(payload).encode(), headers

    def fail(self, **fault: Any) -> None:
        self.faults.append(Fault(**fault))

    def ours(self) -> list[Note]:
        return [note for note in self.notes.values() if note.author == LOGIN]

    def webhook(self, note: Note, /, **claims: object) -> tuple[bytes, dict[str, str]]:
        """A delivery as GitLab sends it: its body and its headers."""
        target = {ISSUE: "issue", MERGE_REQUEST: "merge_request"}[note.kind]
        payload = {
            "object_kind": "note",
            "user": {"username": "mallory"},
            "project": {"path_with_namespace": note.repo},
            "object_attributes": {
                "id": note.id,
                "note": note.body,
                "noteable_type": _KINDS[note.kind],
                "action": "create",
                **claims,
            },
            target: {"iid": note.iid},
        }
        headers = {
            "X-Gitlab-Event": "Note Hook",
            "X-Gitlab-Token": SECRET.encode().decode("latin-1"),
            "Idempotency-Key": f"delivery-{note.id}",
        }
        return json.dumps(payload).encode(), headers

    def note_json(self, note: Note) -> dict[str, Any]:
        return {
            "id": note.id,
            "body": note.body,
            "author": {"id": self.users[note.author], "username": note.author},
            "created_at": stamp(note.created_at),
            "updated_at": stamp(note.updated_at),
            "system": note.system,
            "noteable_type": _KINDS[note.kind],
            "noteable_iid": note.iid,
        }

    def take_fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.method in ("", method) and fault.path in path:
                fault.times -= 1
                if not fault.times:
                    self.faults.remove(fault)
                return fault
        return None

    def _set_status(self, sha: str, data: dict[str, Any]) -> tuple[int, Any]:
        said = (sha, data["state"], data["target_url"])
        if self.statuses and self.statuses[-1][:2] == said[:2]:
            return 400, {"message": "Cannot transition status via :enqueue from :pending"}
        self.statuses.append(said)
        return 201, {"status": data["state"]}

    def answer(  # noqa: PLR0911  one for each address
        self, method: str, path: str, query: dict[str, str], data: dict[str, Any]
    ) -> tuple[int, Any]:
        if path == "/user":
            return 200, {"id": 1, "username": LOGIN}
        if path == "/users":
            found = self.users.get(query["username"])
            return 200, [self._user(query["username"])] if found else []
        if named := re.fullmatch(r"/users/(\d+)", path):
            names = [name for name, number in self.users.items() if number == int(named[1])]
            return (200, self._user(names[0])) if names else (404, {"message": "404 Not found"})
        if member := re.fullmatch(r"/projects/([^/]+)/members/all/(\d+)", path):
            level = self.levels.get((unquote(member[1]).lower(), int(member[2])))
            return (200, {"access_level": level, "state": "active"}) if level else _GONE
        if project := re.fullmatch(r"/projects/([^/]+)/events", path):
            said = [n for n in self.notes.values() if n.repo.lower() == unquote(project[1]).lower()]
            said = [n for n in said if stamp(n.created_at)[:10] > query["after"]]
            events = [{"note": self.note_json(n), "action_name": "commented on"} for n in said]
            return 200, events[::-1]
        if issues := re.fullmatch(r"/projects/([^/]+)/issues", path):
            return 200, [
                self._thread_json(place)
                for place, there in self.threads.items()
                if place[:2] == (unquote(issues[1]).lower(), ISSUE)
                and query["labels"].lower() in map(str.lower, there["labels"])
            ]
        if status := re.fullmatch(r"/projects/([^/]+)/statuses/([0-9a-f]+)", path):
            return self._set_status(status[2], data)
        if thread := _THREAD.fullmatch(path):
            place = (unquote(thread["repo"]).lower(), thread["kind"], int(thread["iid"]))
            return self._on(method, place, thread[4], data) if place in self.threads else _GONE
        return _GONE

    def _user(self, login: str) -> dict[str, Any]:
        return {"id": self.users[login], "username": login, "bot": login in self.bots}

    def _on(
        self, method: str, place: tuple[str, str, int], rest: str, data: dict[str, Any]
    ) -> tuple[int, Any]:
        there, (_, kind, iid) = self.threads[place], place
        if not rest:
            if name := data.get("add_labels"):
                there["labels"] = [*there["labels"], name]
            there["labels"] = [n for n in there["labels"] if n != data.get("remove_labels")]
            return 200, self._thread_json(place)
        if rest == "/resource_label_events":
            return 200, there.get("events", [])
        if rest == "/notes" and method == "POST":
            return 201, self.note_json(self.say(there["repo"], iid, data["body"], LOGIN, kind))
        if rest == "/notes":
            said = [n for n in self.notes.values() if n.at == place]
            return 200, [self.note_json(note) for note in said]
        number = re.fullmatch(r"/notes/(\d+)(/award_emoji)?", rest)
        note = self.notes.get(int(number[1])) if number else None
        if note is None or number is None or note.at != place:
            return _GONE
        if number[2] and data["name"] in note.emoji:
            return 404, {"message": "404 Award Emoji Name has already been taken Not Found"}
        if number[2]:
            note.emoji.append(data["name"])
            return 201, {"name": data["name"]}
        if method == "PUT":
            note.body, note.updated_at = data["body"], datetime.now(UTC)
        return 200, self.note_json(note)

    def _thread_json(self, place: tuple[str, str, int]) -> dict[str, Any]:
        there = self.threads[place]
        return {
            "iid": place[2],
            "title": "A title",
            "description": "What is wrong.",
            "author": {"username": there["author"]},
            "labels": there["labels"],
            "state": "opened",
            "sha": there.get("sha", "c0ffee"),
            "web_url": f"{self.url}/{place[0]}/-/{place[1]}/{place[2]}",
        }


_GONE: tuple[int, Any] = (404, {"message": "404 Not found"})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def __init__(self, gitlab: FakeGitLab, *arguments: Any) -> None:
        self.gitlab = gitlab
        super().__init__(*arguments)

    def log_message(self, *_: object) -> None: ...

    def _serve(self) -> None:
        address = urlsplit(self.path)
        path = address.path.removeprefix("/api/v4")
        query = dict(parse_qsl(address.query))
        data = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        with self.gitlab.lock:
            self.gitlab.calls.append((self.command, path))
            fault = self.gitlab.take_fault(self.command, path)
            status, said = 401, {"message": "401 Unauthorized"}
            if self.headers["PRIVATE-TOKEN"] == TOKEN and (fault is None or fault.stores):
                status, said = self.gitlab.answer(self.command, path, query, data)
        if fault and not fault.status:
            self.close_connection = True
            return
        headers = fault.headers if fault else {}
        if fault:
            status, said = fault.status, {"message": "as ordered"}
        elif isinstance(said, list):
            said, headers = self._page(said, query)
        self._send(status, said, headers)

    def _page(self, rows: list[Any], query: dict[str, str]) -> tuple[list[Any], dict[str, str]]:
        size, page = min(int(query.get("per_page", 20)), 100), int(query.get("page", 1))
        more = len(rows) > page * size
        return rows[(page - 1) * size : page * size], {"X-Next-Page": str(page + 1) * more}

    def _send(self, status: int, said: object, headers: dict[str, str]) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = _serve  # noqa: N815  the server's own names


@pytest.fixture
def gitlab(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitLab]:
    """A running GitLab that the settings point to, with a token."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with FakeGitLab() as running:
        settings.FABER_GITLAB_URL = running.url
        settings.FABER_GITLAB_TOKEN = TOKEN
        settings.FABER_GITLAB_WEBHOOK_SECRET = SECRET
        yield running
