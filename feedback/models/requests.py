"""Questions put to people, and the answers on record; one of each is a constraint."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Func, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Coalesce, Lower, Substr
from django.utils import timezone

from runs.domain.planning import titles
from runs.domain.values.actors import TIMEOUT, Actor, Source
from runs.domain.values.background import Background
from runs.domain.values.forms.filling import Value
from runs.domain.values.forms.questions import FormQuestion, read_form
from runs.domain.values.forms.texts import values_in
from runs.domain.values.numbers import number_of
from runs.domain.values.questions import Action, FeedbackType, Gate, Option
from runs.domain.values.status import RequestStatus
from runs.models import Artifact, CodeSnapshot, Project, Run, StepAttempt, choices


class FeedbackRequest(models.Model):
    """A question put to people; it stays open until somebody answers or the run ends."""

    request_id = models.CharField(max_length=40, unique=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="requests")
    # The run's, which never changes: so that the open ones of one project are found by an index.
    project = models.ForeignKey(
        Project, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    attempt = models.ForeignKey(
        StepAttempt, null=True, blank=True, on_delete=models.SET_NULL, related_name="requests"
    )  # whose result is asked about
    status = models.CharField(
        max_length=20,
        choices=[(status.value, status.value.capitalize()) for status in RequestStatus],
        default=RequestStatus.PENDING.value,
    )
    type = models.CharField(max_length=20, choices=choices(FeedbackType))
    gate = models.CharField(max_length=20, choices=choices(Gate))
    gate_key = models.CharField(max_length=300, blank=True)
    prompt = models.TextField()
    own_title = models.CharField(
        max_length=titles.LONGEST, blank=True, default="", db_default=""
    )  # where the question names what is asked; empty: the run does
    round = models.PositiveIntegerField(default=1, db_default=1)
    max_rounds = models.PositiveIntegerField(null=True, blank=True)
    # Who made what is asked about, and what they say it cost, over every round of the step.
    agent = models.CharField(max_length=100, blank=True, default="", db_default="")
    cost_usd = models.FloatField(null=True, blank=True)
    options = models.JSONField(default=list)
    context = models.JSONField(default=dict, blank=True)
    phase = models.CharField(max_length=20)
    step = models.CharField(max_length=150)
    step_index = models.PositiveIntegerField(null=True, blank=True)
    reviewers = models.JSONField(default=list, blank=True)
    quorum = models.PositiveIntegerField(default=1)
    quorum_groups = models.JSONField(default=dict, blank=True, db_default={})  # so many of each
    artifacts = models.ManyToManyField(Artifact, blank=True, related_name="requests")
    snapshot = models.ForeignKey(
        CodeSnapshot, null=True, blank=True, on_delete=models.SET_NULL, related_name="requests"
    )  # what the run had changed when it asked
    seal = models.CharField(max_length=64)
    shown_on_cli = models.BooleanField(default=False)
    steps_behind = models.PositiveIntegerField(default=0)  # of the plan, from the one it is about
    fingerprint = models.CharField(max_length=64, blank=True, db_index=True)  # of a failure
    requested_at = models.DateTimeField(default=timezone.now)
    ranked_at = models.DateTimeField(default=timezone.now)  # its place among the open ones
    closed_at = models.DateTimeField(null=True, blank=True)

    # What time asks for while it is open; `requests.deadlines` does it.
    due_at = models.DateTimeField(null=True, blank=True)
    on_timeout = models.CharField(max_length=100, blank=True, default="", db_default="")
    remind_every = models.CharField(max_length=10, blank=True, default="", db_default="")
    remind_at = models.DateTimeField(null=True, blank=True)
    reminded = models.PositiveIntegerField(default=0, db_default=0)  # how often
    escalate_to = models.JSONField(default=list, blank=True, db_default=[])
    escalate_at = models.DateTimeField(null=True, blank=True)
    escalated_at = models.DateTimeField(null=True, blank=True)
    acts_at = models.DateTimeField(null=True, blank=True)  # when something of this is to be done

    # The token that asked it, where a program did, and the same question that somebody refused.
    asked_by = models.CharField(max_length=100, blank=True, default="", db_default="")
    repeats = models.CharField(max_length=40, blank=True, default="", db_default="")

    # Who is to look at it first, and who handed it to whom.
    assignee = models.CharField(max_length=150, blank=True, default="", db_default="")
    delegated = models.JSONField(default=list, blank=True, db_default=[])
    dealt_to = models.CharField(max_length=150, blank=True, default="", db_default="")

    # What it is sorted by while it is open, in small letters; triggers keep it: `search.sort_keys`.
    # Nothing before, so that SQLite needs not make the table anew to have them.
    title_key = models.CharField(max_length=500, null=True, editable=False)  # noqa: DJ001
    project_key = models.CharField(max_length=200, null=True, editable=False)  # noqa: DJ001

    # Set where the answer is given, so that nobody who hears of it then has to look for it.
    decided_by: "FeedbackResponse | None" = None

    class Meta:
        ordering = ["requested_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run"], condition=Q(status="pending"), name="one_pending_request"
            )
        ]
        indexes = [
            models.Index(fields=["status", "requested_at"], name="requests_by_status"),
            models.Index(fields=["requested_at", "id"], name="requests_by_age"),
            models.Index(fields=["status", "ranked_at"], name="requests_by_rank"),
            # The order of the inbox.
            models.Index(fields=["status", "due_at", "ranked_at", "id"], name="requests_by_due"),
            # The same of one project, and what is counted of it. The status is always the same
            # there; with it they are what SQLite takes.
            models.Index(
                fields=["project", "status", "due_at", "ranked_at", "id"],
                condition=Q(status="pending"),
                name="requests_of_project",
            ),
            models.Index(
                fields=["project", "status", "type"],
                condition=Q(status="pending"),
                name="types_of_project",
            ),
            models.Index(
                F("status"),
                F("steps_behind").desc(),
                F("requested_at"),
                condition=Q(status="pending"),
                name="requests_that_block",
            ),
            # The other orders of the inbox; what cost nothing stands last.
            models.Index(
                fields=["status", "title_key", "ranked_at", "id"],
                condition=Q(status="pending"),
                name="requests_by_title",
            ),
            models.Index(
                fields=["status", "project_key", "ranked_at", "id"],
                condition=Q(status="pending"),
                name="requests_by_project",
            ),
            models.Index(
                F("status"),
                Coalesce("cost_usd", models.Value(-1.0)).desc(),
                F("ranked_at"),
                F("id"),
                condition=Q(status="pending"),
                name="requests_by_cost",
            ),
            models.Index(
                F("status"),
                F("round").desc(),
                F("ranked_at"),
                F("id"),
                condition=Q(status="pending"),
                name="requests_by_round",
            ),
            # What was decided of what had a date, and whether by then.
            models.Index(
                fields=["status", "closed_at", "due_at"],
                condition=Q(due_at__isnull=False),
                name="requests_with_date",
            ),
            models.Index(fields=["status", "type"], name="requests_by_type"),
            models.Index(
                fields=["acts_at"], condition=Q(status="pending"), name="requests_by_time"
            ),
        ]

    def __str__(self) -> str:
        return self.request_id

    @property
    def title(self) -> str:
        """What it is about, on every list and page."""
        return self.own_title or self.run.title

    @property
    def subtitle(self) -> str:
        """What is asked; beside a title that asks it already, what the run is called, if it is."""
        names = (self.prompt.strip(), self.run.title)
        return next((name for name in names if name != self.title), "")

    @property
    def round_name(self) -> str:
        """Which round it is; nothing for the first, unless there is a last."""
        if self.max_rounds is None:
            return f"Round {self.round}" if self.round > 1 else ""
        if self.takes_changes:
            return f"Round {self.round} of {self.max_rounds}"
        return f"Round {self.round}, after {number_of(self.max_rounds, 'round')} of changes"

    @property
    def takes_changes(self) -> bool:
        """Whether it may be sent back once more by anybody who may answer."""
        return self.max_rounds is None or self.round <= self.max_rounds

    @property
    def round_limit(self) -> str:
        """Why only operators may request changes; nothing while others may too."""
        if self.takes_changes:
            return ""
        times = number_of(self.max_rounds or 0, "round")
        return f"The limit of {times} of changes is reached; only operators can request more."

    @property
    def is_late(self) -> bool:
        """Whether its decision came, or is still to come, after it was due."""
        return self.due_at is not None and (self.closed_at or timezone.now()) > self.due_at

    @property
    def escalated_to(self) -> list[str]:
        """Who is asked too, because nobody had decided."""
        return list(self.escalate_to) if self.escalated_at else []

    @property
    def is_shared(self) -> bool:
        """Whether several must agree, or somebody of certain groups."""
        return self.quorum > 1 or bool(self.quorum_groups)

    @property
    def deciders(self) -> list[str]:
        """Who may answer: those it is for, and those it was handed to; empty: anybody."""
        handed = [str(each["to"]) for each in self.delegated]
        return list(dict.fromkeys([*self.reviewers, *handed])) if self.reviewers else []

    @property
    def audience(self) -> list[str]:
        """Whom to tell: whoever it is assigned to, else everybody it is for."""
        return [self.assignee] if self.assignee else list(self.reviewers)

    @property
    def feedback_type(self) -> FeedbackType:
        return FeedbackType(self.type)

    @property
    def choices(self) -> tuple[Option, ...]:
        return tuple(
            Option(
                value=option["value"],
                action=Action(option["action"]),
                description=option.get("description", ""),
                needs_words=option.get("needs_words", False),
            )
            for option in self.options
        )

    @property
    def background(self) -> Background:
        return Background.read(self.context, prompt=self.prompt)

    @property
    def form(self) -> tuple[FormQuestion, ...]:
        """The questions that the words of an answer are held to."""
        return read_form(self.context.get("questions"))

    @property
    def decision(self) -> "FeedbackResponse | None":
        """The response that decided, if one has."""
        return self.decided_by or next(
            (r for r in self.responses.all() if r.decides and not r.is_retracted), None
        )

    @property
    def resume_point(self) -> dict[str, object]:
        return {"phase": self.phase, "step": self.step, "step_index": self.step_index}


def of_open(found: QuerySet[FeedbackRequest]) -> QuerySet[FeedbackRequest]:
    """The same, found by an index that holds open requests only.

    SQLite uses one only for a status that is part of the statement.
    """
    literally = f"{FeedbackRequest._meta.db_table}.status = '{RequestStatus.PENDING.value}'"
    return found.extra(where=[literally])  # noqa: S610  ours


def open_of_run() -> QuerySet[FeedbackRequest]:
    """The open request of an outer run, read from that index alone: a bound status is compared."""
    found = FeedbackRequest.objects.filter(run=OuterRef("pk"))
    return found.extra(where=[f"status = '{RequestStatus.PENDING.value}'"])  # noqa: S610  ours


# Of a name: what is longer fits no index of PostgreSQL.
_COMPARED = 200


class Provider(Func):
    """A name of whoever answered, as it is compared; with nothing bound, as an index has it.

    A migration has it too: another form needs another class.
    """

    output_field = TextField()
    template = f"LOWER(SUBSTR(JSON_EXTRACT(%(expressions)s, '$.%(key)s'), 1, {_COMPARED}))"

    def __init__(self, key: str) -> None:
        super().__init__("provided_by", key=key)

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        name = f"LOWER(SUBSTR(%(expressions)s ->> '%(key)s', 1, {_COMPARED}))"
        return self.as_sql(compiler, connection, template=name)

    @staticmethod
    def of(name: str) -> Lower:
        """What to compare it with."""
        return Lower(Substr(models.Value(name), 1, _COMPARED))


class FeedbackResponse(models.Model):
    """An answer on record: who, what, where, when. Rows are only added."""

    class State(models.TextChoices):
        HELD = "held"  # recorded, and its author may still take it back
        TAKEN = "taken"  # it took effect
        RETRACTED = "retracted"

    request = models.ForeignKey(FeedbackRequest, on_delete=models.CASCADE, related_name="responses")
    # The run's, so that the decisions of one project are found by an index.
    project = models.ForeignKey(
        Project, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    response = models.TextField()
    action = models.CharField(max_length=20, choices=choices(Action))
    comment = models.TextField(blank=True)
    items = models.JSONField(default=list, blank=True)
    edits = models.JSONField(default=list, blank=True, db_default=[])  # of files, by an approval
    # The standing rule that is to come of it, as it was asked for; empty: none.
    rule = models.JSONField(default=dict, blank=True, db_default={})
    skipped = models.BooleanField(default=False)
    decides = models.BooleanField(default=True)  # False while a quorum is not reached
    state = models.CharField(max_length=10, choices=State.choices, default=State.TAKEN)
    held_until = models.DateTimeField(null=True, blank=True)
    imported = models.BooleanField(default=False, db_default=False)  # told by a directory
    # Why an operator decided in others' place, and which rule that set aside.
    override = models.JSONField(default=dict, blank=True, db_default={})

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    identity = models.CharField(max_length=250)
    provided_by = models.JSONField()
    seal = models.CharField(max_length=64)
    received_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        ordering = ["received_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["request"],
                condition=Q(decides=True) & ~Q(state="retracted"),
                name="one_deciding_response",
            ),
            models.UniqueConstraint(
                fields=["request", "identity"],
                condition=~Q(state="retracted") & Q(imported=False),
                name="one_response_per_person",
            ),
            models.CheckConstraint(
                condition=~Q(state="held") | Q(held_until__isnull=False),
                name="held_response_has_an_end",
            ),
        ]
        indexes = [
            models.Index(fields=["state", "held_until"], name="held_responses"),
            # The order of the audit, of one project and of one person by each of their names.
            models.Index(fields=["project", "received_at", "id"], name="responses_of_project"),
            models.Index(fields=["user", "received_at", "id"], name="responses_of_user"),
            models.Index(Provider("user"), F("received_at"), F("id"), name="responses_by_name"),
            models.Index(
                Provider("account"), F("received_at"), F("id"), name="responses_by_account"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.response} by {self.who}"

    @property
    def is_text(self) -> bool:
        """Whether it is somebody's own words, and not an option that was chosen."""
        return self.request.feedback_type.takes_text and not self.skipped

    @property
    def values(self) -> Mapping[str, Value]:
        """The answers to typed questions, by their ids."""
        return values_in(self.request.form, self.response) if self.is_text else {}

    @property
    def is_held(self) -> bool:
        return self.state == self.State.HELD

    @property
    def is_retracted(self) -> bool:
        return self.state == self.State.RETRACTED

    @property
    def who(self) -> str:
        """Whoever answered; with whom they answered for, if that is somebody else."""
        other = self.on_behalf_of
        return f"{self.name} for {other}" if other else self.name

    @property
    def name(self) -> str:
        return str(self.provided_by.get("user", ""))

    @property
    def on_behalf_of(self) -> str:
        return str(self.provided_by.get("on_behalf_of", ""))

    @property
    def account(self) -> str:
        """The account behind the name, when that is another: git's name is what somebody set."""
        account = str(self.provided_by.get("account", ""))
        return "" if account.casefold() == self.name.casefold() else account

    @property
    def source(self) -> str:
        return str(self.provided_by.get("source", ""))

    @property
    def timed_out(self) -> bool:
        """Whether nobody decided in time, and this is what the workflow says for that."""
        return (self.source, self.provided_by.get("method")) == (TIMEOUT.source, TIMEOUT.method)

    @property
    def marks(self) -> list[str]:
        """What sets it apart from a decision that somebody simply took."""
        known = {"timed out": self.timed_out, "override": bool(self.override)}
        return [mark for mark, is_set in known.items() if is_set]

    @property
    def author(self) -> Actor:
        """Whoever gave the answer, as it is on record."""
        by = self.provided_by
        return Actor(
            name=self.name,
            source=Source(self.source),
            method=str(by.get("method", "")),
            email=str(by.get("email", "")),
            account=str(by.get("account", "")),
            user_id=self.user_id,
        )
