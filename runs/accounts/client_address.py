"""Where a request comes from; what a proxy says of it counts only when the proxy is trusted."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def of(request: HttpRequest) -> str:
    """The last address on the way here that is not a trusted proxy."""
    came_from = _parsed(str(request.META.get("REMOTE_ADDR", "")))
    # What stands further left was written by whoever stands further right.
    hops = request.headers.get("X-Forwarded-For", "").split(",")
    while came_from is not None and hops and _is_trusted(came_from):
        before = _parsed(hops.pop())
        if before is None:
            break
        came_from = before
    return "" if came_from is None else str(came_from)


def place_of(request: HttpRequest) -> str:
    """What counts as one place: an address, with IPv6 the network that one visitor has."""
    address = of(request)
    if ":" not in address:
        return address
    return str(ipaddress.ip_network(f"{address.partition('%')[0]}/64", strict=False))


def is_trusted(address: str) -> bool:
    """Whether this is one of the proxies in front."""
    parsed = _parsed(address)
    return parsed is not None and _is_trusted(parsed)


def _is_trusted(address: _Address) -> bool:
    return any(address in network for network in settings.FABER_TRUSTED_PROXIES)


def _parsed(text: str) -> _Address | None:
    """An address, also with the port that some proxies add."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
