"""FABER itself: runs started and answered here, steps executed by two workers beside."""

import django

from bench.peers.talk import serve
from bench.work import workload


class Faber:
    def __init__(self) -> None:
        self._waiting: list[int] = []

    def pause(self, count: int) -> None:
        self._waiting = [workload.start() for _ in range(count)]
        workload.wait_until(self._are("awaiting_feedback"))

    def finish(self) -> None:
        for run in self._waiting:
            workload.answer(workload.asked(run))
        workload.wait_until(self._are("completed"))

    def delay(self) -> float:
        return workload.one_delay()

    def _are(self, status: str) -> workload.Condition:
        return lambda: workload.states(self._waiting, status) == len(self._waiting)


def main() -> None:
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415  after the settings

    from faber_site.runtime import memory  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    with workload.worker():
        memory.keep_what_is_loaded()  # as the site does, where people answer
        serve(Faber(), "Django")


if __name__ == "__main__":
    main()
