"""Known vulnerabilities fail `make check`; a service that does not answer is said aloud."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from check_dependencies import main, read

LOUD = "NOT CHECKED FOR KNOWN VULNERABILITIES: "
UNREACHED = "requests.exceptions.ProxyError: HTTPSConnectionPool(host='example.org', port=443)"
# As pip-audit prints them.
FOUND: dict[str, Any] = {
    "dependencies": [
        {
            "name": "django",
            "version": "3.2.0",
            "vulns": [
                {
                    "id": "PYSEC-2021-98",
                    "fix_versions": ["2.2.24", "3.2.4"],
                    "aliases": ["CVE-2021-33203"],
                    "description": "…",
                },
                {"id": "PYSEC-0", "fix_versions": [], "aliases": [], "description": "…"},
            ],
        },
        {"name": "rich", "version": "15.0.0", "vulns": []},
    ],
    "fixes": [],
}
SKIPPED = {"name": "anyio", "skip_reason": "Dependency not found on PyPI and could not be audited"}


def test_what_is_known_is_named_with_its_fix() -> None:
    verdict = read(json.dumps(FOUND), "Found 2 known vulnerabilities in 1 package")

    assert verdict.vulnerable == (
        "django 3.2.0: PYSEC-2021-98, fixed in 2.2.24, 3.2.4",
        "django 3.2.0: PYSEC-0, not fixed yet",
    )
    assert (verdict.checked, verdict.no_answer) == (2, "")


@pytest.mark.parametrize("output", ["", "[]", "{}", "null", "Traceback"])
def test_without_a_report_nothing_was_looked_at(output: str) -> None:
    verdict = read(output, f"Traceback (most recent call last):\n{UNREACHED}\n")

    assert verdict.no_answer == UNREACHED
    assert read(output, "").no_answer


def test_an_index_that_knows_no_package_was_not_asked() -> None:
    verdict = read(json.dumps({"dependencies": [SKIPPED]}), "No known vulnerabilities found")

    assert verdict.no_answer == "the package index knows none of the packages"


def test_a_package_that_is_unknown_hides_nothing() -> None:
    verdict = read(json.dumps({"dependencies": [*FOUND["dependencies"], SKIPPED]}), "")

    assert verdict.unknown == ("anyio",)
    assert len(verdict.vulnerable) == 2


# pip-audit itself, against a service of ours


KNOWN = {
    "id": "PYSEC-2021-98",
    "affected": [
        {
            "package": {"name": "django", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "3"}, {"fixed": "3.2.4"}]}],
        }
    ],
}


class Service(BaseHTTPRequestHandler):
    """Knows of one vulnerability, in Django 3.2."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_old = (asked["package"]["name"], asked["version"]) == ("django", "3.2")
        body = json.dumps({"vulns": [KNOWN]} if is_old else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server.server_port
        server.shutdown()


def asking(port: int) -> list[str]:
    return ["--vulnerability-service", "osv", "--osv-url", f"http://127.0.0.1:{port}/v1/query"]


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "requirements.lock"


def pin(lock: Path, *pins: str) -> None:
    lock.write_text("".join(f"{each} --hash=sha256:{'0' * 64}\n" for each in pins))


@pytest.mark.slow
def test_an_old_package_fails_and_a_newer_one_does_not(
    lock: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    pin(lock, "django==3.2", "rich==15.0.0")
    assert main(asking(port), lock=lock) == 1
    assert "django 3.2: PYSEC-2021-98, fixed in 3.2.4" in capsys.readouterr().err

    assert main([*asking(port), "--ignore-vuln", "PYSEC-2021-98"], lock=lock) == 0
    pin(lock, "django==3.2.4", "rich==15.0.0")
    assert main(asking(port), lock=lock) == 0
    told = capsys.readouterr()
    assert "2 packages of requirements.lock checked, known vulnerabilities: 0." in told.out
    assert LOUD not in told.err


@pytest.mark.slow
def test_a_service_that_cannot_be_reached_is_said_aloud(
    lock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pin(lock, "django==3.2")
    with socket.socket() as nobody:  # has the port and does not listen
        nobody.bind(("127.0.0.1", 0))
        assert main(asking(nobody.getsockname()[1]), lock=lock) == 0

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{LOUD}requirements.lock (")
    assert "Connection refused" in line


@pytest.mark.slow
def test_a_service_that_never_answers_is_not_waited_for(
    lock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pin(lock, "django==3.2")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert main(asking(silent.getsockname()[1]), lock=lock, seconds=2) == 0

    assert capsys.readouterr().err == f"{LOUD}requirements.lock (no answer within 2 seconds).\n"


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_no_excuse(
    lock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock.write_text("django==3.2\n")

    assert main([], lock=lock) == 1
    assert "does not contain a hash" in capsys.readouterr().err
