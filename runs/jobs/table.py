"""Every job there is: the function that a worker calls, by its dotted path, and who calls it."""

from enum import StrEnum

from django.conf import settings

# Short jobs mostly wait for the database or for GitHub: two seldom keep a third waiting.
SHORT_WORKERS = 2
JOB_FAILED = "the job %s%s failed"  # the same whichever engine called it


class Job(StrEnum):
    """Queued in the transaction that makes it necessary; its arguments are keys of rows."""

    BEAT = "runs.jobs.heartbeat.record"
    SHORT_BEAT = "runs.jobs.heartbeat.record_short"
    ADVANCE_RUN = "runs.worker.advance.advance_run"
    GIVE_TURNS = "runs.engine.turns.give"
    TIDY_WORKTREE = "runs.workspaces.worktrees.tidy"
    TAKE_EFFECT = "feedback.requests.answers.take_effect"
    ANSWER_INQUIRY = "feedback.requests.inquiries.answering.answer"
    KEEP_TIME = "feedback.requests.deadlines.acting.act"
    DELIVER = "feedback.channels.trackers.delivery.deliver"
    READ_WEBHOOKS = "feedback.channels.trackers.webhooks.read_new"
    ACT_ON_COMMENT = "feedback.channels.trackers.inbound.act_on"
    POLL = "feedback.channels.trackers.polling.poll"
    CALL_BACK = "feedback.channels.callbacks.calls.call"
    SEND_WEBHOOKS = "feedback.channels.webhooks.sending.send_due"
    ADDRESS_NOTICES = "feedback.channels.notices.addressing.address"
    SEND_NOTICE = "feedback.channels.notices.sending.hand_over"
    CLEAN_UP = "feedback.upkeep.nightly.clean_up"
    TELL_BATCH = "feedback.batches.comment.tell"

    @property
    def module(self) -> str:
        return self.rpartition(".")[0]

    @property
    def function(self) -> str:
        return self.rpartition(".")[2]

    @property
    def queue(self) -> "Queue":
        return _QUEUES[self]

    @property
    def lane(self) -> "Lane":
        return self.queue.lane


class Queue(StrEnum):
    """What jobs wait in; of one lane, the queue whose name sorts later is emptied first."""

    STEPS = "faber"  # the versions before had only this one, so all that they left is here
    ERRANDS = "faber.short"
    PEOPLE = "faber.short.people"

    @property
    def lane(self) -> "Lane":
        return Lane.STEPS if self is Queue.STEPS else Lane.SHORT


class Lane(StrEnum):
    """Workers of their own: what may last an hour never fills those for what takes seconds."""

    STEPS = "faber"
    SHORT = "faber.short"

    @property
    def queues(self) -> tuple[Queue, ...]:
        return tuple(queue for queue in Queue if queue.lane is self)

    @property
    def what(self) -> str:
        """What its workers do, for people."""
        return "steps" if self is Lane.STEPS else "answers, comments and deliveries"

    @property
    def workers(self) -> int:
        """How many processes of a cluster take its jobs."""
        steps: int = settings.FABER_WORKERS
        return steps if self is Lane.STEPS else SHORT_WORKERS

    @property
    def beat(self) -> Job:
        """The job that shows that this lane takes jobs."""
        return Job.BEAT if self is Lane.STEPS else Job.SHORT_BEAT


_QUEUES = {
    Job.BEAT: Queue.STEPS,
    Job.ADVANCE_RUN: Queue.STEPS,
    Job.ANSWER_INQUIRY: Queue.STEPS,
    Job.TIDY_WORKTREE: Queue.STEPS,  # a large folder takes long, and nobody waits for it
    Job.CLEAN_UP: Queue.STEPS,
    # What somebody has said takes effect before anything is told or looked for outside.
    Job.GIVE_TURNS: Queue.PEOPLE,
    Job.TAKE_EFFECT: Queue.PEOPLE,
    Job.READ_WEBHOOKS: Queue.PEOPLE,
    Job.ACT_ON_COMMENT: Queue.PEOPLE,
    Job.SHORT_BEAT: Queue.ERRANDS,
    Job.KEEP_TIME: Queue.ERRANDS,
    Job.DELIVER: Queue.ERRANDS,
    Job.POLL: Queue.ERRANDS,
    Job.CALL_BACK: Queue.ERRANDS,
    Job.SEND_WEBHOOKS: Queue.ERRANDS,
    Job.ADDRESS_NOTICES: Queue.ERRANDS,
    Job.SEND_NOTICE: Queue.ERRANDS,
    Job.TELL_BATCH: Queue.ERRANDS,
}
