"""`faber` inside an isolated step: hands everything on to `faber mcp` outside.

The first line says what for: how long to wait for people, before the protocol begins, or an errand
as a JSON object, which is answered with another and ends the connection.
"""

import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

from runs.domain.values.errors import Refused
from runs.isolation.door import knock

CHUNK = 1 << 16
LONGEST_LINE = 1 << 17

Json = dict[str, Any]


def serve(door: Path, *, patience: float) -> NoReturn:
    outside = _knocked(door, f"{patience}\n")
    threading.Thread(target=_hand_out, args=[outside], daemon=True).start()
    while chunk := outside.recv(CHUNK):
        _write(chunk)
    os._exit(0)  # the other thread may still wait for its client


def run_errand(door: Path, errand: Json) -> Json:
    """Have one thing done outside; gives what came of it, or the shape of an error."""
    with _knocked(door, f"{json.dumps(errand)}\n") as outside:
        answer = b"".join(iter(lambda: outside.recv(CHUNK), b""))
    try:
        document: Json = json.loads(answer)
    except ValueError:
        raise Refused("FABER did not respond to this step.") from None
    return document


def first_line() -> float | Json:
    """What the one inside wants; nothing after its line is read."""
    said = bytearray()
    while not said.endswith(b"\n") and len(said) < LONGEST_LINE:
        if not (byte := os.read(sys.stdin.fileno(), 1)):
            break
        said += byte
    try:
        wanted = json.loads(said)
    except ValueError:
        return 0.0
    return wanted if isinstance(wanted, dict | int | float) else 0.0


def _knocked(door: Path, line: str) -> socket.socket:
    try:
        outside = knock(door)
        outside.sendall(line.encode())
    except OSError as error:
        raise Refused(f"Could not reach FABER from inside this step: {error}.") from error
    return outside


def _hand_out(outside: socket.socket) -> None:
    client = sys.stdin.fileno()
    while chunk := os.read(client, CHUNK):
        outside.sendall(chunk)
    outside.shutdown(socket.SHUT_WR)


def _write(chunk: bytes) -> None:
    client = sys.stdout.fileno()
    while chunk:
        chunk = chunk[os.write(client, chunk) :]
