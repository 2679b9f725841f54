"""The default queue: django-q2 on the site's own database, where a job commits with its cause."""
