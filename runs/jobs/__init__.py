"""The job queue, what is asked of its engine, the machines that take from it; not what jobs do."""
