"""Hands a command to the site that runs on this data directory; without Django, which is slow."""

import json
import os
import socket
import sys

from faber_site.command_socket import agreement

# Somebody who is there takes a moment to fork; then the command is executed here.
PATIENCE = 0.5
LOST = (
    "The FABER site stopped while it executed this command. "
    "Check with `faber status` whether it took effect.\n"
)


def call(argv: list[str]) -> int | None:
    """What the command ended with; None when nobody executes it for us."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        try:
            connection.settimeout(PATIENCE)
            connection.connect(str(agreement.socket_path()))
            if connection.recv(1) != agreement.READY:
                return None
            connection.settimeout(None)
            socket.send_fds(connection, [_order(argv)], [0, 1, 2])
        except (OSError, ValueError):  # nobody there, no such socket here, more than it can carry
            return None
        return _outcome(connection)


def _order(argv: list[str]) -> bytes:
    order = {
        "words": argv,
        "environment": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109
        "encodings": [stream.encoding for stream in (sys.stdin, sys.stdout, sys.stderr)],
        "code": agreement.code(),
    }
    return json.dumps(order).encode()


def _outcome(connection: socket.socket) -> int | None:
    try:
        answer = connection.recv(16)
    except KeyboardInterrupt:
        return 130
    except OSError:
        answer = b""
    if not answer:
        sys.stderr.write(LOST)
        return 1
    return None if answer == agreement.REFUSED else int(answer)
