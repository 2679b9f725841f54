"""The process that serves the site, which ends with whoever started it."""

import os
import signal
import socket
import sys

from faber_site.runtime import processes


def main() -> None:
    processes.begin_child()
    from faber_site.runtime import http_server  # noqa: PLC0415  needs the settings
    from faber_site.wsgi import application  # noqa: PLC0415

    http_server.allow_many_files()
    server = http_server.Server(application, socket.socket(fileno=int(sys.argv[2])))
    signal.signal(signal.SIGTERM, lambda _number, _frame: server.end())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; the supervisor hears it too
    server.serve()
    sys.stderr.flush()
    os._exit(0)  # a thread that still computes must not hold up the end


if __name__ == "__main__":
    main()
