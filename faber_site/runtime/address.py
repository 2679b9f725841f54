"""The address the site listens on."""

import errno
import http.client
import socket
from urllib.parse import urlsplit

from django.conf import settings

from faber_site.configuration import values

BACKLOG = 2048


class AddressError(Exception):
    """A sentence for whoever chose the address."""


def listen() -> socket.socket:
    host, port = settings.FABER_HOST, settings.FABER_PORT
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise AddressError(
                f"Port {port} on {host} is in use. Stop the other program or set FABER_PORT."
            ) from error
        reason = error.strerror or error
        raise AddressError(f"FABER can't listen on {host} port {port}: {reason}.") from error


def answers(path: str) -> bool:
    """Whether the site answers this path with 200, asked as the proxy in front of it would."""
    public = urlsplit(settings.FABER_BASE_URL)
    asking = http.client.HTTPConnection(
        values.reachable(settings.FABER_HOST), settings.FABER_PORT, timeout=2
    )
    try:
        asking.request(
            "GET", path, headers={"Host": public.netloc, "X-Forwarded-Proto": public.scheme}
        )
        return asking.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asking.close()
