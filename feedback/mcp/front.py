"""Greets an MCP client at once, while the server behind it is still loading.

An agent begins its first turn with the tools that are there by then. What they are called and take
is known beforehand (`greeting.json`); everything else goes to the server, a process of its own.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn, cast

Json = dict[str, Any]

GREETING = Path(__file__).with_name("greeting.json")
# The server is greeted too, as it has to know its client; that answer is nobody's.
_OWN_ID = "faber-front"
_OWN_MARK = json.dumps(_OWN_ID).encode()
_VERSION = "io.modelcontextprotocol/protocolVersion"


def serve(words: Sequence[str]) -> NoReturn:
    """Serve the client of this process until the server behind ends, with its exit code."""
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "faber_site.commands", "mcp", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    # Whatever ends this process, the server's input ends with it, and so does the server.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    client = _Visitor(server)
    if "--relayed" in words:
        client.hand_on(sys.stdin.buffer.readline())
    threading.Thread(target=client.listen, daemon=True).start()
    client.hand_back()
    os._exit(server.wait())  # the other thread may still wait for its client


@cache
def greeting() -> Json:
    told: Json = json.loads(GREETING.read_bytes())
    return told


class _Visitor:
    """Whoever started this process, between them and the server."""

    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        self._to_server = cast("IO[bytes]", server.stdin)
        self._from_server = cast("IO[bytes]", server.stdout)
        self._writing = threading.Lock()

    def listen(self) -> None:
        """Answer what can be answered, hand on the rest until the client goes."""
        while line := sys.stdin.buffer.readline():
            asked = _read(line)
            if asked is None or (result := answer(asked)) is None:
                self.hand_on(line)
                continue
            self._say({"jsonrpc": "2.0", "id": asked["id"], "result": result})
            if asked["method"] == "initialize":
                self.hand_on(json.dumps({**asked, "id": _OWN_ID}).encode() + b"\n")
        self._to_server.close()

    def hand_on(self, line: bytes) -> None:
        try:
            self._to_server.write(line)
            self._to_server.flush()
        except BrokenPipeError:
            return  # it has ended, and so does this process

    def hand_back(self) -> None:
        """Everything the server says, until it ends."""
        for line in self._from_server:
            if _OWN_MARK not in line or (_read(line) or {}).get("id") != _OWN_ID:
                self._write(line)

    def _say(self, message: Json) -> None:
        self._write(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        with self._writing:
            while line:
                line = line[os.write(sys.stdout.fileno(), line) :]


def answer(asked: Json) -> Json | None:
    """What the server would say to this request; None when only the server can."""
    match asked:
        case {"id": int() | str(), "method": "initialize", "params": {"protocolVersion": version}}:
            known = greeting()["versions"]
            return {
                **greeting()["initialize"],
                "protocolVersion": version if version in known else known[-1],
            }
        case {"id": int() | str(), "method": "server/discover"}:
            # Asked before a greeting, by who may still decide for one: the server serves its
            # client to the end in the protocol of the first request it gets.
            return {**greeting()["discover"], **greeting()["around"]}
        case {"id": int() | str(), "method": "tools/list", "params": {"_meta": dict() as meta}}:
            is_known = meta.get(_VERSION) in greeting()["discover"]["supportedVersions"]
            return {"tools": greeting()["tools"], **greeting()["around"]} if is_known else None
        case {"id": int() | str(), "method": "tools/list"}:
            return {"tools": greeting()["tools"]}
        case {"id": int() | str(), "method": "ping"}:
            return {}
    return None


def _read(line: bytes) -> Json | None:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None
