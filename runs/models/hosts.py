"""The machines that work on one site, and what one of them does for all."""

from django.db import models
from django.db.models.functions import Now


class SiteHost(models.Model):
    """A machine as it told of itself, and when it last did."""

    identity = models.CharField(max_length=64)
    name = models.CharField(max_length=200)
    # Marks of its keys: equal for equal keys, and of no other use.
    secret_key = models.CharField(max_length=12, db_default="")
    audit_key = models.CharField(max_length=12, db_default="")
    queue = models.CharField(max_length=12, db_default="database")  # the engine of its jobs
    clock_ahead = models.FloatField(db_default=0.0)  # seconds, of the database's clock
    lacks = models.JSONField(default=list, db_default=[])  # folders that are not there
    labels = models.JSONField(default=list, db_default=[])  # what its workers are said to have
    began_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    worked_at = models.DateTimeField(null=True)  # when its workers were last there

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["identity", "name"], name="host_listed_once")
        ]

    def __str__(self) -> str:
        return self.name


class Upkeep(models.Model):
    """Something that is done now and then, by one process of all machines."""

    name = models.CharField(max_length=40, unique=True)
    done_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "upkeep"

    def __str__(self) -> str:
        return self.name
