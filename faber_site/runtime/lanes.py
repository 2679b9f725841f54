"""The processes of one cluster: workers for steps, and workers that only short jobs can have.

Both lanes share everything but the queue that a worker waits at. A second cluster would keep them
apart as well, for four more processes. Reserving some of the workers of one queue would need a
count of the steps under way that stays right when somebody who is counted is killed.
"""

import threading
from multiprocessing import Value
from typing import Any

from django_q.cluster import Sentinel
from django_q.conf import Conf
from django_q.pusher import pusher
from django_q.queues import Queue
from django_q.worker import worker

from faber_site.runtime import processes
from runs.jobs.queue import WokenBroker
from runs.jobs.table import Lane


class Lanes(Sentinel):  # type: ignore[misc]  # django-q2 has no types
    """django-q2's sentinel, with a queue of its own for the workers of each lane."""

    def __init__(self, *args: Any) -> None:
        self._short_queue = Queue(maxsize=Conf.QUEUE_LIMIT)
        super().__init__(*args)

    def spawn_cluster(self) -> None:
        self.pool_size = sum(lane.workers for lane in Lane)
        super().spawn_cluster()

    def spawn_worker(self) -> None:
        lane = Lane.SHORT if len(self._short()) < Lane.SHORT.workers else Lane.STEPS
        queue = self._short_queue if lane is Lane.SHORT else self.task_queue
        processes.be_of(lane)  # the fork takes it along
        self.spawn_process(worker, queue, self.result_queue, Value("f", -1), self.timeout)
        self.pool[-1].lane = lane

    def spawn_pusher(self) -> Any:
        return self.spawn_process(_push, self.task_queue, self._short_queue, self.event_out)

    def stop(self) -> None:
        self.event_out.set()
        self.pusher.join()
        for _ in range(Lane.SHORT.workers):
            self._short_queue.put("STOP")
        for process in self._short():
            process.join()
            self.pool.remove(process)
        super().stop()

    def _short(self) -> list[Any]:
        return [process for process in self.pool if process.lane is Lane.SHORT]


def _push(steps: Queue, short: Queue, end: Any) -> None:
    """Hand out the jobs of both lanes; a full one keeps its own thread waiting and no other."""
    threading.Thread(
        target=pusher, args=(short, end, WokenBroker(Lane.SHORT.value)), daemon=True, name="short"
    ).start()
    pusher(steps, end, WokenBroker(Lane.STEPS.value))
