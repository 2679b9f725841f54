from importlib import import_module
from inspect import signature

import pytest

from runs.jobs.table import Job, Lane

ARGUMENTS = {
    Job.BEAT: 0,
    Job.SHORT_BEAT: 0,
    Job.READ_WEBHOOKS: 0,
    Job.SEND_WEBHOOKS: 0,
    Job.CLEAN_UP: 0,
}


@pytest.mark.parametrize("job", Job)
def test_every_job_names_a_function_that_takes_the_key_of_a_row(job: Job) -> None:
    function = getattr(import_module(job.module), job.rpartition(".")[2])

    assert len(signature(function).parameters) == ARGUMENTS.get(job, 1)


def test_only_what_may_last_long_is_in_the_lane_of_steps() -> None:
    long = {job for job in Job if job.lane is Lane.STEPS}

    agents = {Job.ADVANCE_RUN, Job.ANSWER_INQUIRY}
    assert long == {Job.BEAT, *agents, Job.TIDY_WORKTREE, Job.CLEAN_UP}


@pytest.mark.parametrize("lane", Lane)
def test_each_lane_has_a_beat_of_its_own(lane: Lane) -> None:
    assert lane.beat.lane is lane
