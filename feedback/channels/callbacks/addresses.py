"""Which addresses a program may have called: public ones, and those that the site allows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LONGEST = 2000
_PORTS = {"http": 80, "https": 443}
# Printable ASCII; a backslash is a slash to some readers and none to others.
_PLAIN = re.compile(r"[!-\[\]-~]+")
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
# Resolvers read these as an address too: 127.1, 0x7f000001, 017700000001, 2130706433.
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")

# What the world can be reached at. All else is somebody's own, or means something else inside.
_GLOBAL_IPV6 = ip_network("2000::/3")
_NEVER = tuple(
    ip_network(network)
    for network in (
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # relays of 6to4
        "2001::/23",  # Teredo and other protocols, which may hold a private IPv4 address
        "2002::/16",  # 6to4, which does too
        "3fff::/20",  # documentation
    )
)


class BadAddress(ValueError):
    """The address cannot be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What may be called although it is not public, and without https."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    def has(self, host: str, address: Address) -> bool:
        return host in self.hosts or any(
            address.version == network.version and address in network for network in self.networks
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A checked address in its parts."""

    scheme: str
    host: str  # in small letters, without brackets and without the dot at its end
    port: int
    path: str  # with the query

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def read_allowed(text: str) -> Allowed:
    """Hosts, addresses and networks, parted by commas; raises ValueError for anything else."""
    hosts, networks = set(), []
    for part in filter(None, (part.strip().lower() for part in text.split(","))):
        try:
            networks.append(ip_network(part.strip("[]")))
        except ValueError:
            hosts.add(_checked_name(part))
    return Allowed(hosts=frozenset(hosts), networks=tuple(networks))


def read_target(url: str) -> Target:
    """The parts of an address, as long as nobody can read it in two ways."""
    if len(url) > LONGEST:
        raise BadAddress(f"has more than {LONGEST} characters")
    if not _PLAIN.fullmatch(url):
        raise BadAddress("must be printable ASCII; encode everything else")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise BadAddress("is not a URL such as https://example.org/answered") from None
    if parts.scheme not in _PORTS or not host or port == 0:
        raise BadAddress("is not a URL such as https://example.org/answered")
    if "@" in parts.netloc:
        raise BadAddress("must not contain a user name or password")
    return Target(
        scheme=parts.scheme,
        host=_checked_host(host, is_bracketed="[" in parts.netloc),
        port=port or _PORTS[parts.scheme],
        path=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    )


def check(target: Target, addresses: Sequence[Address], allowed: Allowed) -> None:
    """Refuse the target unless every address of its host may be called."""
    for address in map(_unwrapped, addresses):
        if allowed.has(target.host, address):
            continue
        if not _is_public(address):
            raise BadAddress(
                f"leads to an address of a private or special network; an operator can allow "
                f"{target.host} with FABER_CALLBACK_ALLOW"
            )
        if not target.is_secure:
            raise BadAddress("must start with https://")


def is_allowed(address: Address, allowed: Allowed) -> bool:
    """Whether somebody's own address may lead there: it is public, or the site allows it."""
    plain = _unwrapped(address)
    return _is_public(plain) or allowed.has("", plain)


def _checked_host(host: str, *, is_bracketed: bool) -> str:
    if not is_bracketed:
        return _checked_name(host)
    try:
        return str(IPv6Address(host)) if "%" not in host else _checked_name(host)
    except ValueError:
        raise BadAddress(f"has an invalid host: {host}") from None


def _checked_name(host: str) -> str:
    name = host.removesuffix(".")
    if not _NAME.fullmatch(name) or len(name) > 253:
        raise BadAddress(f"has an invalid host: {host}")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return _checked_ipv4(name)
    return name


def _checked_ipv4(name: str) -> str:
    try:
        return str(IPv4Address(name))
    except ValueError:
        raise BadAddress(f"has an invalid host: write {name} as four decimal numbers") from None


def _unwrapped(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and address not in _GLOBAL_IPV6:
        return False
    special = any(address.version == known.version and address in known for known in _NEVER)
    return address.is_global and not (special or address.is_multicast or address.is_reserved)


def as_addresses(texts: Sequence[str]) -> list[Address]:
    return [ip_address(text) for text in texts]
