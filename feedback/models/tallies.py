"""What was counted of tables that only grow."""

from django.db import models

from runs.models import Project


class KeptTotal(models.Model):
    """The sums over a table up to one of its rows, so that nobody reads all of it to count."""

    name = models.CharField(max_length=40, unique=True)
    up_to = models.BigIntegerField(default=0)  # the last row that was looked at
    unfinished = models.JSONField(default=list)  # rows up to there that are not in the sums yet
    sums = models.JSONField(default=list)
    # The next row to count up to; what had begun when it was seen is written by now.
    seen = models.BigIntegerField(default=0)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class DailyTotal(models.Model):
    """What the rows of one project and day come to, as far as a `KeptTotal` of that name counts."""

    name = models.CharField(max_length=40)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    counted = models.BigIntegerField(default=0)
    usd = models.FloatField(default=0.0)
    tokens_in = models.BigIntegerField(default=0)
    tokens_out = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "day", "project"], name="one_total_a_day")
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.day}"
