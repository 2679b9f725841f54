"""How long the request page takes: with nothing to read, and with a megabyte and 200 remarks."""

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import django

LARGE = 1_000_000
REMARKS = 200
ROUNDS = 20

SECTION = """## Section {n}

The *quick* fox jumps over `lazy_dog({n})`, and **nobody** looks at [the fence](#section-{n}).

- first item
- [ ] second item

| a | b |
|---|---|
| {n} | two |

```python
def jump_{n}(height: int) -> int:
    return height + {n}
```

"""


def main() -> None:
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415  after the settings
    from django.test import Client  # noqa: PLC0415

    from runs.accounts import users  # noqa: PLC0415
    from runs.domain.values.actors import Role  # noqa: PLC0415
    from tests import factories  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    rita = users.create("rita", role=Role.REVIEWER)
    client = Client(SERVER_NAME="localhost")
    client.force_login(rita)
    empty = factories.pending(factories.started(factories.five_steps()))
    with tempfile.TemporaryDirectory() as folder:
        large = factories.reviewed_list(Path(folder))
        _fill(large, rita)
    pages = {
        "empty": f"/requests/{empty.request_id}/",
        "large": f"/requests/{large.request_id}/",
        "large, rendered": f"/requests/{large.request_id}/?view=document",
    }
    print(json.dumps({name: _measured(client, address) for name, address in pages.items()}))


def _fill(asked: Any, author: Any) -> None:
    from feedback.desk import review  # noqa: PLC0415
    from feedback.desk.review import LinePlace  # noqa: PLC0415

    sections = (SECTION.format(n=number) for number in range(LARGE // 200))
    text = "".join(sections)[:LARGE]
    artifact = asked.artifacts.get()
    artifact.content, artifact.size = text.encode(), len(text)
    artifact.save()
    step = len(artifact.lines) // REMARKS
    for number in range(REMARKS):
        line = 1 + number * step
        place = LinePlace(path=artifact.path, revision=1, line=line, end_line=line)
        review.remark(asked, author, place, body=f"Remark {number} on this.", kind="must")


def _measured(client: Any, address: str) -> dict[str, float]:
    times = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        response = client.get(address)
        times.append((time.perf_counter() - began) * 1000)
        if response.status_code != 200:
            raise RuntimeError(f"{address} gave {response.status_code}")
    return {
        "first_ms": round(times[0]),
        "p50_ms": round(statistics.median(times[1:]), 1),
        "kilobytes": round(len(response.content) / 1000),
    }


if __name__ == "__main__":
    main()
