"""Be the worker for queued jobs: what is due is done, in order, in this process."""

from datetime import timedelta
from importlib import import_module

from django.utils import timezone
from django_q.models import OrmQ


def work_off(most: int = 200) -> int:
    """Do every job that is due, also those that come up meanwhile; gives their number."""
    done = 0
    while done < most:
        job = OrmQ.objects.filter(lock__lte=timezone.now()).order_by("id").first()
        if job is None:
            return done
        task = job.task
        job.delete()
        module, _, name = task["func"].rpartition(".")
        getattr(import_module(module), name)(*task["args"])
        done += 1
    raise AssertionError("the jobs do not come to an end")


def later(seconds: float) -> None:
    """Let the jobs' time come that was put off by at most so long."""
    OrmQ.objects.filter(lock__lte=timezone.now() + timedelta(seconds=seconds)).update(
        lock=timezone.now()
    )
