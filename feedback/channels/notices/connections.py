"""Holds the connections of one sending to a time limit, and a person's own to public addresses.

An audit hook sees every connection of this thread before it is made, with the address that its
name was resolved to: no service, redirect or name that changes its meaning gets around it.
"""

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings

from feedback.channels.callbacks import addresses, outbound

WHOLE_SECONDS = 20.0
_CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_PROGRAMS = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"})
_mine = threading.local()


class Forbidden(OSError):
    """A person's own address leads somewhere that only the site may reach."""


class _Watch:
    """The connections that were made, so that they can be ended."""

    def __init__(self, *, only_public: bool, allowed: frozenset[str]) -> None:
        self._only_public = only_public
        self._allowed = allowed  # addresses of a host that the site allows by name
        self._copies: list[int] = []
        self._lock = threading.Lock()
        self.refusal = ""
        self.is_over = False

    def check(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in _PROGRAMS and self._only_public:
            raise self._forbidden("it would start a program")
        if event not in _CONNECTS:
            return
        sock, place = arguments[0], arguments[1]
        if self._only_public and isinstance(sock, socket.socket):
            self._check_place(sock, place)
        if event == "socket.connect" and isinstance(sock, socket.socket):
            self._remember(sock)

    def _check_place(self, sock: socket.socket, place: object) -> None:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(place, tuple):
            raise self._forbidden("it would speak to this machine")
        host = str(place[0]).partition("%")[0]
        try:
            address = ip_address(host)
        except ValueError:
            return  # a name: Python resolves it and asks again with an address
        if host in self._allowed or addresses.is_allowed(address, settings.FABER_CALLBACK_ALLOW):
            return
        raise self._forbidden("it leads to an address of a private or special network")

    def _forbidden(self, why: str) -> Forbidden:
        self.refusal = why
        return Forbidden(why)

    def _remember(self, sock: socket.socket) -> None:
        # A copy, because TLS takes the socket itself away from whoever made it.
        with self._lock, contextlib.suppress(OSError):
            self._copies.append(os.dup(sock.fileno()))

    def end(self) -> None:
        self.is_over = True
        with self._lock:
            for copy in self._copies:
                with contextlib.suppress(OSError), socket.socket(fileno=os.dup(copy)) as sock:
                    sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            for copy in self._copies:
                os.close(copy)
            self._copies.clear()


@contextlib.contextmanager
def limited(url: str = "", *, only_public: bool) -> Iterator[_Watch]:
    """Let what is done inside connect, for so long and to where it may."""
    _install()
    watch = _Watch(only_public=only_public, allowed=_named(url) if only_public else frozenset())
    timer = threading.Timer(WHOLE_SECONDS, watch.end)
    timer.daemon = True
    timer.start()
    _mine.watch = watch
    try:
        yield watch
    finally:
        _mine.watch = None
        timer.cancel()
        watch.close()


def _named(url: str) -> frozenset[str]:
    """The addresses of the host in it, when the site allows that host by name."""
    try:
        host = (urlsplit(url).hostname or "").casefold()
    except ValueError:
        return frozenset()
    if host not in settings.FABER_CALLBACK_ALLOW.hosts:
        return frozenset()
    with contextlib.suppress(OSError):
        return frozenset(outbound.resolve(host, 0))
    return frozenset()


_installed = threading.Lock()
_is_installed = False


def _install() -> None:
    global _is_installed  # noqa: PLW0603  a hook is for good, so there is one
    with _installed:
        if not _is_installed:
            sys.addaudithook(_hook)
            _is_installed = True


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event in _CONNECTS or event in _PROGRAMS:
        watch: _Watch | None = getattr(_mine, "watch", None)
        if watch is not None:
            watch.check(event, arguments)
