"""The job queue in the site's own database, its wake-up call and heartbeat; not what jobs do."""
