"""What is wrong between the machines of a site: they disagree, or one is missing."""

from collections import defaultdict
from collections.abc import Iterator

from feedback.doctor.finding import Finding
from runs.domain.values.numbers import number_of
from runs.jobs import agreement, register
from runs.models import StepAttempt, machine


def findings() -> Iterator[Finding]:
    for found in agreement.disagreements():
        yield Finding(what=found.what, cause=found.cause, since=None, repair=found.repair)
    yield from _missing_machines()


def _missing_machines() -> Iterator[Finding]:
    """Steps that wait for a machine without workers; after a while somebody is asked instead."""
    if not machine.is_one_of_many():
        return
    waiting = defaultdict(list)
    queued = StepAttempt.objects.filter(status=StepAttempt.Status.QUEUED, is_remote=False)
    for attempt in queued.exclude(host="").select_related("run").order_by("queued_at"):
        waiting[attempt.host].append(attempt)
    there = {host.name for host in register.others() if register.has_workers(host)}
    for host in sorted(waiting.keys() - there - {machine.name()}):
        first, many = waiting[host][0], len(waiting[host])
        yield Finding(
            what=f"{number_of(many, 'step')} {'is' if many == 1 else 'are'} waiting for {host}, "
            f"such as {first.key} of {first.run.run_id}",
            cause=f"their folders are on {host}, which has no worker",
            since=register.last_worked(host),
            repair=f"Start `faber work` on {host}.",
        )
