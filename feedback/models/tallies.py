"""What was counted of tables that only grow."""

from django.db import models


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
