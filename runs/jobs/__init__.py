"""The job queue in the site's database, and the machines that take from it; not what jobs do."""
