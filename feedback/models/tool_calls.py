"""Calls of an agent's tools that people are asked about, and the rules that answer for people."""

from django.db import models
from django.utils import timezone

from feedback.models.requests import FeedbackRequest
from runs.domain.values.standing.calls import Subject, SubjectKind
from runs.domain.values.standing.rules import Effect, Mode, Rule
from runs.models import Project, choices


class ToolCall(models.Model):
    """One call that waits for leave; found again by its key when whoever waited is gone."""

    key = models.CharField(max_length=64, db_index=True)  # of asker, session, tool and input
    asker = models.CharField(max_length=250)
    session = models.CharField(max_length=200)
    tool = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=choices(SubjectKind))
    subject = models.TextField()
    request = models.OneToOneField(
        FeedbackRequest, on_delete=models.CASCADE, related_name="tool_call"
    )
    waiter = models.CharField(max_length=64, blank=True)  # the process that waits; empty: none
    event = models.CharField(max_length=200, blank=True, default="", db_default="")  # it waits at
    polled_at = models.DateTimeField(default=timezone.now)
    heard = models.JSONField(default=list, blank=True)  # events that were told the outcome

    class Meta:
        indexes = [models.Index(fields=["asker", "session"], name="tool_calls_by_session")]

    def __str__(self) -> str:
        return f"{self.tool}: {self.subject[:80]}"

    @property
    def about(self) -> Subject:
        return Subject(kind=SubjectKind(self.kind), text=self.subject)


class StandingRule(models.Model):
    """What a person decided once for every call like this; a change is a new version."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="rules")
    tool = models.CharField(max_length=200)
    pattern = models.TextField()
    effect = models.CharField(max_length=10, choices=choices(Effect))
    mode = models.CharField(max_length=10, choices=choices(Mode))
    version = models.PositiveIntegerField(default=1)
    expires_at = models.DateTimeField(null=True, blank=True)
    made_by = models.CharField(max_length=200)
    made_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.name} {self.effect} {self.tool} {self.pattern}"

    @property
    def name(self) -> str:
        return f"rule-{self.pk}"

    @property
    def value(self) -> Rule:
        return Rule(
            name=self.name,
            version=self.version,
            effect=Effect(self.effect),
            mode=Mode(self.mode),
            tool=self.tool,
            pattern=self.pattern,
        )

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()


class RuleTrial(models.Model):
    """A call that a rule in shadow would have decided; what people said is with the call."""

    rule = models.ForeignKey(StandingRule, on_delete=models.CASCADE, related_name="trials")
    version = models.PositiveIntegerField()
    call = models.ForeignKey(ToolCall, on_delete=models.CASCADE, related_name="trials")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rule", "call"], name="one_trial_per_call")]

    def __str__(self) -> str:
        return f"{self.rule_id}@{self.version}: {self.call_id}"


class RuleSwitch(models.Model):
    """Whether rules decide at all; a single row, and none means they do."""

    is_on = models.BooleanField(default=True)
    changed_by = models.CharField(max_length=200)
    changed_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return "on" if self.is_on else "off"
