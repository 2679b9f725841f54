"""The processes of `up`, `web` and `work`: started, watched, replaced; not what a job does."""
