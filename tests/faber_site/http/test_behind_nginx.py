"""A real site behind a real nginx with TLS, as the example in `deploy/` sets it up."""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests

from bench.ground.scratch_site import ROOT, Site, scratch_site
from tests import certificates
from tests.chaos.scratch import Scratch
from tests.commands import CHECKOUT
from tests.faber_site.sign_in.test_github import press, signed_in_as
from tests.sites import seed

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")

pytestmark = [
    pytest.mark.chaos,  # starts real processes, once for all of them
    pytest.mark.xdist_group("nginx"),
    pytest.mark.timeout(120),
    pytest.mark.skipif(NGINX is None, reason="NO NGINX: run tests/install_nginx.sh as root"),
]

# What a proxy can forget, by the port that it then listens at.
FORGOTTEN = ("", "X-Forwarded-Proto", "X-Forwarded-For", "Host")
WHOLE = """
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{}}
http {{
    access_log off;
    {temporary}
    {servers}
}}
"""
# It passes by a site for a second after the one in which that failed, in whole seconds.
NGINX_FORGETS = 2.2
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Proxy:
    def __init__(self, site: Site, ports: dict[str, int], plain: int, certificate: Path) -> None:
        self.site = site
        self.plain = plain
        self._ports = ports
        self.certificate = str(certificate)

    def url(self, forgets: str = "") -> str:
        return f"https://localhost:{self._ports[forgets]}"

    def browser(self) -> requests.Session:
        browser = requests.Session()
        browser.trust_env = False
        browser.verify = self.certificate
        return browser

    def doctor(self, forgets: str = "", **changed: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "manage.py", "doctor", "--json"],
            cwd=ROOT,
            env={**self.site.environment, "FABER_BASE_URL": self.url(forgets), **changed},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def problems(self, forgets: str = "", **changed: str) -> list[str]:
        found = self.doctor(forgets, **changed)["findings"]
        return [each["what"] for each in found if "proxy" in each["what"] or "lead" in each["what"]]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("nginx")
    certificate = certificates.write(folder / "certificate.pem", "localhost", "127.0.0.1")
    plain, *secure = (free_port() for _ in range(1 + len(FORGOTTEN)))
    ports = dict(zip(FORGOTTEN, secure, strict=True))
    with (
        scratch_site(
            FABER_BASE_URL=f"https://localhost:{ports['']}",
            FABER_TRUSTED_PROXIES="127.0.0.1",
            FABER_HSTS_SECONDS="3600",
            NO_PROXY="localhost,127.0.0.1",
        ) as site,
        nginx(
            folder,
            configuration(folder, [site.environment["FABER_PORT"]], certificate, plain, ports),
            plain,
        ),
    ):
        yield Proxy(site, ports, plain, certificate)


def configuration(
    folder: Path, sites: Sequence[str], certificate: Path, plain: int, ports: dict[str, int]
) -> str:
    """The example, at free ports, and once more for each header that it forgets."""
    first, *others = sites
    example = (CHECKOUT / "deploy" / "nginx.conf").read_text()
    example = example.replace("faber.example.org;", "localhost;")
    example = re.sub(r"/etc/ssl/\S+(?=;)", str(certificate), example)
    example = example.replace("127.0.0.1:8000", f"127.0.0.1:{first}")
    for other in others:
        example = example.replace("# server 10.0.0.2:8000", f"server 127.0.0.1:{other}")
    example = example.replace("listen 80;", f"listen 127.0.0.1:{plain};")
    end = example.rindex("server {")
    servers = [example[:end]]
    for forgets, port in ports.items():
        kept = [line for line in example[end:].splitlines() if f" {forgets} $" not in line]
        servers.append("\n".join(kept).replace("listen 443", f"listen 127.0.0.1:{port}"))
    temporary = " ".join(f"{name}_temp_path {folder}/{name};" for name in TEMPORARY)
    return WHOLE.format(folder=folder, temporary=temporary, servers="\n".join(servers))


@contextmanager
def nginx(folder: Path, text: str, port: int) -> Iterator[None]:
    file = folder / "nginx.conf"
    file.write_text(text)
    command = [str(NGINX), "-e", f"{folder}/error.log", "-c", str(file), "-g", "daemon off;"]
    with subprocess.Popen(command) as process:
        try:
            while not answers(port):
                assert process.poll() is None, (folder / "error.log").read_text()
                time.sleep(0.05)
            yield
        finally:
            process.terminate()


def answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """One that no connection gets by chance before nginx listens there."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(20_000, 32_000)))  # noqa: S311
            return int(probe.getsockname()[1])


def test_somebody_signs_in_and_works_through_the_example(proxy: Proxy) -> None:
    browser = proxy.browser()
    link = proxy.site.login_link()
    assert link.startswith(proxy.url())

    signed_in = press(browser, link, link)

    assert signed_in.ok
    assert signed_in_as(browser, replace(proxy.site, url=proxy.url())) == "admin"
    assert {cookie.name: cookie.secure for cookie in browser.cookies}["sessionid"]
    answer = browser.get(f"{proxy.url()}/account/sessions/", timeout=20)
    assert answer.headers["Strict-Transport-Security"] == "max-age=3600"
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["X-Request-ID"])
    assert "127.0.0.1" in answer.text


def test_plain_http_is_sent_to_https(proxy: Proxy) -> None:
    address = f"http://127.0.0.1:{proxy.plain}/login/"
    answer = requests.get(address, headers={"Host": "localhost"}, allow_redirects=False, timeout=20)

    assert (answer.status_code, answer.headers["Location"]) == (301, "https://localhost/login/")


def test_without_the_header_a_sentence_is_answered_and_no_redirect(proxy: Proxy) -> None:
    answer = proxy.browser().get(f"{proxy.url('X-Forwarded-Proto')}/login/", timeout=20)

    assert answer.status_code == 400
    assert "let the proxy set the header X-Forwarded-Proto: https" in answer.text
    assert answer.history == []


def test_the_doctor_finds_nothing_at_the_example(proxy: Proxy) -> None:
    assert proxy.problems() == []


@pytest.mark.parametrize(
    ("forgets", "problem"),
    [
        ("X-Forwarded-Proto", "The proxy does not say that requests come over https"),
        ("X-Forwarded-For", "The proxy does not say who asks"),
        ("Host", "The proxy does not pass on the host"),
    ],
)
def test_the_doctor_names_the_header_that_a_proxy_forgets(
    proxy: Proxy, forgets: str, problem: str
) -> None:
    assert proxy.problems(forgets) == [problem]


def asks_until(over: threading.Event, url: str, certificate: Path) -> Counter[int]:
    """What came of asking one time after another, every other time with a POST."""
    told: Counter[int] = Counter()
    with requests.Session() as asking:
        asking.trust_env, asking.verify = False, str(certificate)
        while not over.wait(0.01):
            told[asking.get(f"{url}/healthz", timeout=20).status_code] += 1
            told[asking.post(f"{url}/api/v1/runs", json={}, timeout=20).status_code] += 1
    return told


def test_two_sites_restart_in_turn_without_a_failed_request(tmp_path: Path) -> None:
    certificate = certificates.write(tmp_path / "certificate.pem", "localhost", "127.0.0.1")
    plain, secure = free_port(), free_port()
    url = f"https://localhost:{secure}"
    settings = {"FABER_BASE_URL": url, "FABER_TRUSTED_PROXIES": "127.0.0.1"}
    data, over = seed(tmp_path / "data"), threading.Event()
    with closing(Scratch(data, settings)) as first, closing(Scratch(data, settings)) as second:
        sites = (first, second)
        for site in sites:
            site.start("web")
        ports = [str(site.port) for site in sites]
        text = configuration(tmp_path, ports, certificate, plain, {"": secure})
        with nginx(tmp_path, text, plain), ThreadPoolExecutor(4) as clients:
            asking = [clients.submit(asks_until, over, url, certificate) for _ in range(4)]
            try:
                for site in sites:
                    time.sleep(NGINX_FORGETS)
                    site.ask_to_end(signal.SIGTERM)
                    site.start("web")
            finally:
                over.set()
            told = sum((each.result() for each in asking), Counter())

    assert set(told) == {200, 401}
