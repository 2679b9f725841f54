"""Every job there is: the function that a worker calls, by its dotted path."""

from enum import StrEnum


class Job(StrEnum):
    """Queued in the transaction that makes it necessary; its arguments are keys of rows."""

    BEAT = "runs.jobs.heartbeat.record"
    ADVANCE_RUN = "runs.worker.advance.advance_run"
    GIVE_TURNS = "runs.engine.turns.give"
    TIDY_WORKTREE = "runs.workspaces.worktrees.tidy"
    TAKE_EFFECT = "feedback.requests.answers.take_effect"
    DELIVER = "feedback.channels.github.delivery.deliver"
    READ_WEBHOOKS = "feedback.channels.github.webhook.read_new"
    ACT_ON_COMMENT = "feedback.channels.github.inbound.act_on"
    POLL = "feedback.channels.github.polling.poll"
    CALL_BACK = "feedback.channels.callbacks.calls.call"
    TELL_BATCH = "feedback.batches.comment.tell"

    @property
    def module(self) -> str:
        return self.rpartition(".")[0]
