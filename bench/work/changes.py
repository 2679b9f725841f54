"""A large change: how long it takes to be kept, to open, and to open one more file."""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from tests.repositories import Repository

FILES, LINES = 5_000, 40  # together 200,000 lines
TIMES = 5


def main() -> None:
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415  after the settings

    call_command("migrate", verbosity=0)
    with tempfile.TemporaryDirectory() as folder:
        from tests.repositories import Repository  # noqa: PLC0415

        print(json.dumps(_measured(Repository(Path(folder) / "app"))))


def _measured(repository: "Repository") -> dict[str, object]:
    from django.test import Client  # noqa: PLC0415

    from runs.accounts import users  # noqa: PLC0415
    from runs.domain.values.actors import Role  # noqa: PLC0415
    from tests import factories as f  # noqa: PLC0415
    from tests.repositories import reviewed  # noqa: PLC0415

    for number in range(FILES):
        lines = (f"value_{line} = {number + line}  # of file {number}\n" for line in range(LINES))
        repository.write(f"src/part_{number % 50}/file_{number}.py", "".join(lines))
    began = time.perf_counter()
    asked = f.pending(reviewed(repository))
    kept = time.perf_counter() - began
    client = Client(SERVER_NAME="localhost")
    client.force_login(users.create("rita", role=Role.REVIEWER))
    address = f"/requests/{asked.request_id}/?tab=changes"
    one = f"{address}&path=src/part_7/file_1007.py"
    headers = {"HX-Request": "true", "HX-Target": "change-body-1"}
    client.get(address)  # warm: templates and lexers
    return {
        "files": FILES,
        "lines": FILES * LINES,
        "kept_ms": round(kept * 1000),
        "page_ms": _fastest(lambda: client.get(address)),
        "page_kb": len(client.get(address).content) // 1024,
        "file_ms": _fastest(lambda: client.get(one, headers=headers)),
    }


def _fastest(work: Callable[[], object]) -> int:
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return round(min(times) * 1000)


if __name__ == "__main__":
    main()
