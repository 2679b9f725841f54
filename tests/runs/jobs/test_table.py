from importlib import import_module
from inspect import signature

import pytest

from runs.jobs.table import Job

ARGUMENTS = {Job.BEAT: 0, Job.READ_WEBHOOKS: 0}


@pytest.mark.parametrize("job", Job)
def test_every_job_names_a_function_that_takes_the_key_of_a_row(job: Job) -> None:
    function = getattr(import_module(job.module), job.rpartition(".")[2])

    assert len(signature(function).parameters) == ARGUMENTS.get(job, 1)
