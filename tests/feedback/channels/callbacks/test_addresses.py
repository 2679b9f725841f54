from ipaddress import ip_address

import pytest

from feedback.channels.callbacks.addresses import (
    Allowed,
    BadAddress,
    check,
    read_allowed,
    read_target,
)


def verdict(url: str, *addresses: str, allow: str = "") -> str:
    """What is wrong with calling this address when its host has these addresses."""
    try:
        check(read_target(url), [ip_address(each) for each in addresses], read_allowed(allow))
    except BadAddress as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "header"),
    [
        ("https://Example.ORG", "example.org", 443, "/", "example.org"),
        ("https://example.org./a?b=c#d", "example.org", 443, "/a?b=c", "example.org"),
        ("http://example.org:8080/x", "example.org", 8080, "/x", "example.org:8080"),
        ("https://example.org:443/", "example.org", 443, "/", "example.org"),
        ("https://[2A00:1450::1]:8443/", "2a00:1450::1", 8443, "/", "[2a00:1450::1]:8443"),
        ("https://9.9.9.9/?q", "9.9.9.9", 443, "/?q", "9.9.9.9"),
    ],
)
def test_an_address_is_read_in_its_parts(
    url: str, host: str, port: int, path: str, header: str
) -> None:
    target = read_target(url)

    assert (target.host, target.port, target.path) == (host, port, path)
    assert target.host_header == header


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org/answered",
        "//example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_x",
        "https://",
        "https:///path",
        "https://:443/",
        "https://example.org:0/",
        "https://example.org:65536/",
        "https://example.org:http/",
        "https://me@example.org/",
        "https://me:secret@example.org/",
        "https://@example.org/",
        "https://example.org\\@127.0.0.1/",
        "https://exa mple.org/",
        "https://example.org/\r\nX-Evil: 1",
        "https://example.org/\x00",
        "https://exämple.org/",
        "https://①②⑦.0.0.1/",
        "https://example..org/",
        "https://-example.org/",
        "https://example.org%00.evil/",
        "https://[::1/",
        "https://[::1%25eth0]/",
        "https://[example.org]/",
        "https://[127.0.0.1]/",
        "https://" + "a" * 64 + ".org/",
        "https://example.org/" + "a" * 2000,
    ],
)
def test_what_is_no_plain_address_is_refused(url: str) -> None:
    with pytest.raises(BadAddress):
        read_target(url)


@pytest.mark.parametrize(
    "host",
    [
        *("2130706433", "0x7f000001", "0X7F000001", "017700000001", "127.1", "127.0.1"),
        *("0x7f.0.0.1", "0177.0.0.1", "127.0.0.01", "0", "0x", "127.0.0.0x1", "1.2.3.4.5"),
        *("256.1.1.1", "example.1", "4294967295"),
    ],
)
def test_an_ipv4_address_has_one_spelling(host: str) -> None:
    with pytest.raises(BadAddress, match="four decimal numbers"):
        read_target(f"https://{host}/")


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.9.10", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1"),  # noqa: S104
        *("172.31.255.255", "192.168.1.1", "169.254.169.254", "169.254.0.1", "100.64.0.1"),
        *("100.127.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "198.18.0.1"),
        *("198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1"),
        "255.255.255.255",
        *("::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"),
        *("::7f00:1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1"),
        *("fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1"),
        *("2001:db8::1", "2001::1", "2001:0:7f00:1::", "2002:7f00:1::1", "3fff::1", "5f00::1"),
    ],
)
def test_private_and_special_addresses_are_refused_however_they_are_found(address: str) -> None:
    assert "private or special" in verdict("https://example.org/", address)
    assert "private or special" in verdict("https://example.org/", "9.9.9.9", address)


@pytest.mark.parametrize("address", ["9.9.9.9", "172.32.0.1", "2a00:1450::1", "::ffff:9.9.9.9"])
def test_a_public_address_is_called_with_https_only(address: str) -> None:
    assert verdict("https://example.org/", address) == ""
    assert "https://" in verdict("http://example.org/", address)


@pytest.mark.parametrize(
    ("allow", "url", "address", "is_allowed"),
    [
        ("ci.internal", "http://CI.internal./x", "10.1.2.3", True),
        ("ci.internal", "http://other.internal/x", "10.1.2.3", False),
        ("ci.internal", "http://x.ci.internal/x", "10.1.2.3", False),
        ("10.1.0.0/16", "http://ci.internal/", "10.1.2.3", True),
        ("10.1.0.0/16", "http://ci.internal/", "10.2.0.1", False),
        ("10.1.0.0/16", "http://ci.internal/", "::ffff:10.1.0.1", True),
        ("127.0.0.1", "http://127.0.0.1:8000/", "127.0.0.1", True),
        ("127.0.0.1", "http://localhost/", "127.0.0.1", True),
        ("[::1]", "http://[::1]/", "::1", True),
        ("fd00::/8, a.b", "https://ci.internal/", "fd12::1", True),
        ("9.9.9.9", "http://9.9.9.9/", "9.9.9.9", True),
    ],
)
def test_an_operator_allows_hosts_addresses_and_networks(
    allow: str, url: str, address: str, is_allowed: bool
) -> None:
    assert (verdict(url, address, allow=allow) == "") is is_allowed


def test_one_allowed_address_does_not_allow_the_others_of_its_host() -> None:
    assert verdict("http://a.b/", "10.1.0.1", "10.2.0.1", allow="10.1.0.0/16")


def test_nothing_is_allowed_by_itself() -> None:
    assert read_allowed("") == read_allowed(" , ") == Allowed()


@pytest.mark.parametrize(
    "text", ["http://a.b", "10.0.0.1/8", "10.0.0.0/33", "a b", "*.internal", "a.b:80", "1.2.3"]
)
def test_what_cannot_be_allowed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_allowed(text)
