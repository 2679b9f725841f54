"""Sends a POST to an address that a program named, and to nothing it could mean besides."""

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from django.conf import settings

from feedback.channels.callbacks.addresses import Address, Target, as_addresses, check, read_target

# Each of these lasts at most so long, and the whole call at most so long.
CONNECT_SECONDS, READ_SECONDS, WHOLE_SECONDS = 5.0, 10.0, 20.0
MOST_ADDRESSES = 4


class CallFailed(Exception):
    """The call did not come through; it may next time."""


def checked(url: str) -> tuple[Target, list[Address]]:
    """The parts of an address and where it leads now; raises BadAddress when it must not."""
    target = read_target(url)
    try:
        addresses = as_addresses(resolve(target.host, target.port))
    except OSError as error:
        raise CallFailed(f"the host {target.host} was not found") from error
    check(target, addresses, settings.FABER_CALLBACK_ALLOW)
    return target, addresses


def post(url: str, headers: Mapping[str, str], body: bytes) -> int:
    """The status of the answer; what follows it is not read, and a redirect is only a status.

    The host is resolved once, and the connection goes to an address that was checked: a name
    that means something else a moment later changes nothing. Proxies of the environment, which
    would resolve it again, are not asked.
    """
    target, addresses = checked(url)
    try:
        with _connected(target, addresses) as connection:
            connection.request(
                "POST",
                target.path,
                body,
                {"Host": target.host_header, "Connection": "close", **headers},
            )
            return connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise CallFailed(_cause(error)) from error


def resolve(host: str, port: int) -> list[str]:
    """Every address of a host, the preferred first; the only place that asks for names."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


@contextmanager
def _connected(target: Target, addresses: list[Address]) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(target.host, target.port)
    connection.sock = sock = _socket(target, addresses)
    # A limit for each read alone would let a drip of bytes keep a worker for hours.
    watch = threading.Timer(WHOLE_SECONDS, _cut, [sock])
    watch.daemon = True
    watch.start()
    try:
        sock.settimeout(READ_SECONDS)
        if isinstance(sock, ssl.SSLSocket):
            sock.do_handshake()
        yield connection
    finally:
        watch.cancel()
        connection.close()
        sock.close()


def _socket(target: Target, addresses: list[Address]) -> socket.socket:
    plain = _first_that_answers(addresses[:MOST_ADDRESSES], target.port)
    if not target.is_secure:
        return plain
    # The certificate is held against the name, not against the address that was found for it.
    return ssl.create_default_context().wrap_socket(
        plain, server_hostname=target.host, do_handshake_on_connect=False
    )


def _first_that_answers(addresses: list[Address], port: int) -> socket.socket:
    problem: OSError = OSError("it has no address")
    for address in addresses:
        try:
            return socket.create_connection((str(address), port), timeout=CONNECT_SECONDS)
        except OSError as error:
            problem = error
    raise problem


def _cut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:  # it ended by itself in this moment
        return


def _cause(error: Exception) -> str:
    """In words, and without what the other side sent."""
    if isinstance(error, TimeoutError):
        return "it timed out"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {error.verify_message}"
    if isinstance(error, OSError):
        return f"the connection failed: {error.strerror or type(error).__name__}"
    return f"its response is not valid HTTP ({type(error).__name__})"
