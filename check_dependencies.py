"""Fails when a package in requirements.lock has a known vulnerability; `make check` calls it.

pip-audit exits with 1 when it found something, when nobody answered and when it cannot read the
file, and with 0 when the index knew none of the packages. What it printed tells these apart.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LOCK = Path(__file__).parent / "requirements.lock"
SECONDS = 20
_PIP_AUDIT = (
    *(sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip"),
    *("--progress-spinner", "off", "--format", "json", "--timeout", "10", "--requirement"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was found, and of what nothing is known."""

    checked: int = 0
    vulnerable: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    no_answer: str = ""  # why nobody could be asked


def read(output: str, errors: str) -> Verdict:
    """What pip-audit printed; without a report nothing was looked at."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Verdict(no_answer=(errors.strip().splitlines() or ["pip-audit said nothing"])[-1])
    unknown = tuple(each["name"] for each in packages if "skip_reason" in each)
    if len(unknown) == len(packages):
        return Verdict(no_answer="the package index knows none of the packages")
    return Verdict(
        checked=len(packages) - len(unknown),
        vulnerable=tuple(
            _told(each, known) for each in packages for known in each.get("vulns", ())
        ),
        unknown=unknown,
    )


def _told(package: dict[str, str], known: dict[str, list[str]]) -> str:
    fixed = ", ".join(known["fix_versions"])
    what = f"{package['name']} {package['version']}: {known['id']}"
    return f"{what}, fixed in {fixed}" if fixed else f"{what}, not fixed yet"


def main(arguments: Sequence[str], *, lock: Path = LOCK, seconds: float = SECONDS) -> int:
    """More arguments are pip-audit's, such as `--ignore-vuln ID`."""
    command = [*_PIP_AUDIT, str(lock), *arguments]
    # Nobody is asked yet: what goes wrong here is wrong with the file or with pip-audit.
    readable = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=False)
    if readable.returncode:
        print(readable.stderr, file=sys.stderr)
        return 1
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
        verdict = read(done.stdout, done.stderr)
    except subprocess.TimeoutExpired:
        verdict = Verdict(no_answer=f"no answer within {seconds} seconds")
    return _tell(verdict, lock.name)


def _tell(verdict: Verdict, name: str) -> int:
    if verdict.no_answer:
        reason = verdict.no_answer[:300]
        print(f"NOT CHECKED FOR KNOWN VULNERABILITIES: {name} ({reason}).", file=sys.stderr)
        return 0
    if verdict.unknown:
        names = ", ".join(verdict.unknown)
        print(f"NOT CHECKED FOR KNOWN VULNERABILITIES: {names}.", file=sys.stderr)
    for each in verdict.vulnerable:
        print(each, file=sys.stderr)
    found = len(verdict.vulnerable)
    print(f"{verdict.checked} packages of {name} checked, known vulnerabilities: {found}.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
