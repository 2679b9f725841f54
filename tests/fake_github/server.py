"""The fake GitHub as a real HTTP server on this machine."""

import functools
import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from tests.fake_github import apps, webhooks
from tests.fake_github.answers import answer
from tests.fake_github.faults import Fault
from tests.fake_github.replies import Reply, Request
from tests.fake_github.state import (
    LOGIN,
    SECRET,
    TOKEN,
    State,
    StoredComment,
    StoredEvent,
    user_json,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request that came, and what was sent back; status 0: the connection was dropped."""

    method: str
    path: str
    query: dict[str, str]
    status: int
    fault: str


@dataclass(slots=True, kw_only=True)
class _Order:
    fault: Fault
    method: str
    path: str
    times: int


class FakeGitHub(State):
    """Runs inside `with`; `prefix` is /api/v3 for an Enterprise Server."""

    def __init__(self, *, prefix: str = "") -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.prefix = prefix
        self._orders: list[_Order] = []
        self.stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{prefix}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def login(self) -> str:
        """Who the site is here."""
        return f"{self.app_slug}[bot]" if self.app_id else LOGIN

    def settings(self) -> dict[str, str]:
        """Settings, or the environment of a process, that point here."""
        app = {"FABER_GITHUB_APP_ID": "", "FABER_GITHUB_APP_KEY": ""}
        if self.app_id:
            app = {"FABER_GITHUB_APP_ID": self.app_id, "FABER_GITHUB_APP_KEY": apps.keys()[0]}
        return {
            "FABER_GITHUB_API_URL": self.url,
            "FABER_GITHUB_TOKEN": "" if self.app_id else TOKEN,
            "FABER_GITHUB_WEBHOOK_SECRET": SECRET,
            **app,
        }

    def install_app(self, *repos: str) -> None:
        """From now on the site is an App, installed on these repositories, not a token."""
        self.app_id = "4711"
        self.app_public_key = apps.keys()[1]
        number = max(self.installations.values(), default=70) + 1
        for repo in repos:
            self.add_repository(repo)
            self.installations[repo.lower()] = number

    def fail(self, fault: Fault, *, method: str = "", path: str = "", times: int = 1) -> None:
        """The next calls with that method and that part of a path; a GET is made twice."""
        with self.lock:
            self._orders.append(_Order(fault=fault, method=method, path=path, times=times))

    def calls_of(self, method: str, path: str = "") -> list[Call]:
        return [call for call in self.calls if call.method == method and path in call.path]

    def webhook(
        self,
        comment: StoredComment,
        action: str = "created",
        *,
        secret: str = SECRET,
        claims: Mapping[str, object] | None = None,
    ) -> webhooks.Delivery:
        """What GitHub would send when someone comments, edits (`edited`) or deletes.

        Whoever has the secret may send something else: claims take the place of comment fields.
        """
        sender = user_json(comment.author, comment.author_id)
        owner, _, name = comment.repo.partition("/")
        payload = {
            "action": action,
            "issue": self.issue(comment.repo, comment.issue).as_json(self.url),
            "comment": {**comment.as_json(self.url), **(claims or {})},
            "repository": {"name": name, "full_name": comment.repo, "owner": {"login": owner}},
            "sender": sender,
        }
        if action == "edited":
            payload["changes"] = {"body": {"from": "what it said before"}}
        return webhooks.signed("issue_comment", payload, secret)

    def signal(
        self,
        event: StoredEvent,
        *,
        secret: str = SECRET,
        claims: Mapping[str, object] | None = None,
    ) -> webhooks.Delivery:
        """What GitHub would send when someone labels or assigns an issue."""
        told = event.as_json(self.url)
        payload: dict[str, Any] = {
            "action": event.event,
            "issue": self.issue(event.repo, event.issue).as_json(self.url),
            "repository": {"full_name": event.repo},
            "sender": user_json(event.author, event.author_id),
            **{key: told[key] for key in ("label", "assignee") if key in told},
            **(claims or {}),
        }
        return webhooks.signed("issues", payload, SECRET)

    def signed(self, body: bytes, *, secret: str = SECRET) -> webhooks.Delivery:
        """Any bytes, as somebody with the secret could send them."""
        return webhooks.signed("issue_comment", body, secret)

    def ping(self, *, secret: str = SECRET) -> webhooks.Delivery:
        return webhooks.signed("ping", {"zen": "Keep it logically awesome.", "hook_id": 1}, secret)

    def take_fault(self, request: Request) -> Fault | None:
        with self.lock:
            for order in self._orders:
                if order.method in ("", request.method) and order.path in request.path:
                    order.times -= 1
                    if not order.times:
                        self._orders.remove(order)
                    return order.fault
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet per answer, or the next request waits for an acknowledgement

    def __init__(self, github: FakeGitHub, *arguments: Any) -> None:
        self.github = github
        super().__init__(*arguments)

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # the client did not wait
            self.close_connection = True

    def log_message(self, *_: object) -> None: ...

    def _serve(self) -> None:
        request = self._read()
        fault = self.github.take_fault(request)
        reply = None
        if fault is None or fault.stores:
            reply = self._unless_known(answer(self.github, request, self.github.url))
        reply = _faulty(fault, reply)
        self.github.calls.append(
            Call(
                method=request.method,
                path=request.path,
                query=request.query,
                status=reply.status if reply else 0,
                fault=fault.name if fault else "",
            )
        )
        if fault and fault.delay:
            self.github.stopping.wait(fault.delay)
        if reply:
            self._send(reply)
        else:
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815  the server's own names

    def _read(self) -> Request:
        address = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        inside = address.path.startswith(self.github.prefix)
        return Request(
            method=self.command,
            path=address.path.removeprefix(self.github.prefix) if inside else "/not/the/api",
            query=dict(parse_qsl(address.query)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
        )

    def _unless_known(self, reply: Reply) -> Reply:
        if self.command != "GET" or reply.status != 200:
            return reply
        etag = f'W/"{hashlib.sha256(json.dumps(reply.data).encode()).hexdigest()}"'
        if self.headers.get("If-None-Match") == etag:
            return Reply(status=304, headers={"ETag": etag})
        return replace(reply, headers={**reply.headers, "ETag": etag})

    def _send(self, reply: Reply) -> None:
        kind, body = "application/json; charset=utf-8", json.dumps(reply.data).encode()
        if reply.data is None:  # from a proxy on the way, or no news
            kind, body = "text/html", b"" if reply.status == 304 else b"<h1>Unicorn!</h1>"
        self.send_response(reply.status)
        for name, value in {"Content-Type": kind, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


def _faulty(fault: Fault | None, reply: Reply | None) -> Reply | None:
    """What is sent in the end; nothing means that the connection is dropped."""
    if fault is None or not (fault.drops or fault.status):
        return reply
    if fault.drops:
        return None
    data = {"message": fault.message} if fault.message else None
    return Reply(status=fault.status, data=data, headers=fault.said_headers())
