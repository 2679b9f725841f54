"""A way to the database that can be frozen and cut."""

import contextlib
import socket
import threading
from pathlib import Path

_CHUNK = 1 << 16


class Proxy:
    """Forwards connections to a server's socket, for one host of a site."""

    def __init__(self, target: Path) -> None:
        self._target = str(target)
        self._flows = threading.Event()
        self._flows.set()
        self._is_cut = False
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        """Nothing comes through any more, and nobody is told."""
        self._flows.clear()

    def cut(self) -> None:
        """Everybody is told, and whoever comes back is turned away."""
        with self._lock:
            self._is_cut = True
            gone, self._open = self._open, set()
        for end in gone:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def heal(self) -> None:
        self._is_cut = False
        self._flows.set()

    def close(self) -> None:
        self._listener.close()
        self.cut()
        self._flows.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                end, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(end,), daemon=True).start()

    def _serve(self, end: socket.socket) -> None:
        self._flows.wait()
        other = socket.socket(socket.AF_UNIX)
        with end, other:
            try:
                other.connect(self._target)
            except OSError:  # the server is down
                return
            with self._lock:
                if self._is_cut:
                    return
                self._open |= {end, other}
            back = threading.Thread(target=self._pump, args=(other, end), daemon=True)
            back.start()
            self._pump(end, other)
            back.join()
            with self._lock:
                self._open -= {end, other}

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(_CHUNK):
                self._flows.wait()
                sink.sendall(chunk)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
