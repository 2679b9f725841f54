"""What the site has on record, one line after another."""

from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone


class AuditKind(models.TextChoices):
    DECISION = "decision"
    REFUSAL = "refusal"
    SIGN_IN = "sign_in"
    RULE = "rule"
    INQUIRY = "inquiry"  # a reviewer asked the agent
    REPLY = "reply"  # what the agent said
    # What decisions rest on; nobody lists these, `audit verify` reads them.
    RUN = "run"
    QUESTION = "question"
    RETRACTION = "retraction"
    END = "end"  # of a run


# Few beside the lines that every run and decision has; the record is searched for these alone.
RARE = (
    *(AuditKind.REFUSAL, AuditKind.SIGN_IN, AuditKind.RULE),
    *(AuditKind.INQUIRY, AuditKind.REPLY, AuditKind.RETRACTION),
)


class AuditEntry(models.Model):
    """One line of the record: written once with its code, linked to the line before soon after."""

    number = models.PositiveBigIntegerField(null=True, blank=True, unique=True)
    kind = models.CharField(max_length=12, choices=AuditKind.choices)
    at = models.DateTimeField(default=timezone.now, db_index=True)
    who = models.CharField(max_length=200, blank=True)
    account = models.CharField(max_length=200, blank=True)
    channel = models.CharField(max_length=30, blank=True)
    what = models.TextField(blank=True)
    comment = models.TextField(blank=True)
    reason = models.TextField(blank=True)
    project = models.CharField(max_length=200, blank=True)
    run_id = models.CharField(max_length=250, blank=True, db_index=True)
    request_id = models.CharField(max_length=40, blank=True, db_index=True)
    marks = models.JSONField(default=dict, blank=True)  # imported, override, timed_out
    # The row it vouches for, and the last event its run had then.
    subject = models.CharField(max_length=60, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    event_number = models.PositiveIntegerField(default=0)
    event_hash = models.CharField(max_length=64, blank=True)

    form = models.PositiveSmallIntegerField(default=1)  # which columns the digests are made of
    key = models.CharField(max_length=12)
    code = models.CharField(max_length=64)
    link = models.CharField(max_length=64, blank=True)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["id"], condition=Q(number=None), name="entries_to_link"),
            models.Index(
                fields=["kind", "at", "id"],
                condition=Q(kind__in=[kind.value for kind in RARE]),
                name="rare_entries",
            ),
            models.Index(
                fields=["subject"],
                condition=Q(kind=AuditKind.RETRACTION.value),
                name="entries_taken_back",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.what}".strip()


# SQLite uses an index of some kinds only where these are part of the statement, as the index has
# them. The column is that of the innermost statement.
def of_rare(found: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
    """The same, found by the index of rare lines."""
    kinds = ", ".join(f"'{kind.value}'" for kind in RARE)
    return found.extra(where=[f"kind IN ({kinds})"])  # noqa: S610  ours


def retractions(found: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
    return found.extra(where=[f"kind = '{AuditKind.RETRACTION.value}'"])  # noqa: S610  ours
