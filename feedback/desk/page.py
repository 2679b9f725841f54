"""What the request page shows, read in few queries and handed on as values."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import prefetch_related_objects

from feedback.desk import review, thread
from feedback.desk.begun import Begun, begun_in
from feedback.desk.forms import AnswerForm, RemarkChangeForm, RemarkForm
from feedback.inbox import open_requests
from feedback.inbox.filters import ALL_OPEN, Filters
from feedback.models import FeedbackRequest, FeedbackResponse, ReviewComment, WriteBack
from feedback.requests import shown
from feedback.requests.answers import counted, round_limit, standing
from feedback.requests.find import find_request
from feedback.requests.foresight import outlooks
from feedback.requests.handover import authority
from runs.accounts import permissions, users
from runs.domain.planning.preview import Outlook
from runs.domain.responses import usage
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Refused
from runs.domain.values.forms.questions import LONG_LIST
from runs.domain.values.questions import (
    Action,
    FeedbackType,
    ItemKind,
    Option,
    approves,
    begins_a_round,
    lets_go_on,
)
from runs.domain.values.status import RequestStatus
from runs.pages.run.page import LiveProgress, progress_of
from runs.workflow_files import ask_only

_PENDING = RequestStatus.PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    option: Option
    weight: str  # main, plain, or stop for what ends the run
    words: str  # what the author of the workflow says about it
    outlook: Outlook | None  # None when the run does not stand where it asked any more
    musts: int  # own comments that say otherwise, where it would go on
    takes_edits: bool  # own suggestions can be approved with it
    limit: str  # why it cannot be chosen any more
    needs_others: bool  # what it causes comes when as many have said so as must


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where an answer is given, and where it is seen afterwards."""

    asked: FeedbackRequest
    form: AnswerForm
    buttons: Sequence[Button]
    refusal: str
    answers: Sequence[FeedbackResponse]
    held: FeedbackResponse | None  # an answer of whoever looks, while it can be taken back
    remarks: Sequence[ReviewComment]
    begun: Sequence[Begun]  # line comments not added yet
    draft: str  # as the site has it, for the scripts
    question_begun: str  # to the agent, not sent yet
    progress: LiveProgress
    inbox: Filters  # the list this request was opened from
    following: FeedbackRequest | None  # the next one of it
    again: FeedbackRequest | None  # what is asked in its place, since a file had changed
    returning: Sequence[WriteBack]  # answers to a run that is executed elsewhere
    version: str
    may_override: bool
    may_operate: bool
    may_resume: bool  # the run, which is on hold

    @property
    def has_plan(self) -> bool:
        """Whether there is more to its run than the question."""
        return self.asked.run.plan_hash != ask_only.plan().digest

    @property
    def may_delegate(self) -> bool:
        return self.is_open and (not self.refusal or self.may_operate)

    @property
    def still_needed(self) -> str:
        return authority.still_needed(self.asked, self.answers)

    @property
    def accounts(self) -> Sequence[str]:
        return users.active_names() if self.may_delegate else ()

    @property
    def is_open(self) -> bool:
        return self.asked.status == _PENDING

    @property
    def offers_override(self) -> bool:
        """Whether it would change anything: others are asked, or more than one must agree."""
        return self.may_override and bool(self.refusal or self.asked.is_shared)

    @property
    def is_long(self) -> bool:
        """Whether typing finds an option sooner than reading all of them."""
        return len(self.buttons) >= LONG_LIST

    @property
    def common_outlook(self) -> Outlook | None:
        """What every option of a long list causes, if that is the same: then it is said once."""
        first = self.buttons[0].outlook if self.is_long else None
        return first if all(button.outlook == first for button in self.buttons) else None

    @property
    def new_remark(self) -> RemarkForm:
        """The field for a line comment, which the scripts put beside its line."""
        return RemarkForm(initial={"kind": ItemKind.MUST.value})

    @property
    def new_change(self) -> RemarkChangeForm:
        return RemarkChangeForm()

    @property
    def cost(self) -> str:
        return usage.spoken({usage.COST: self.asked.cost_usd})

    @property
    def has_news(self) -> bool:
        """Whether something can still change that nobody does on this page."""
        return self.is_open or any(row.is_due for row in self.returning)


def find(request_id: str, *, seen_by: Actor | None) -> FeedbackRequest:
    asked = find_request(request_id, seen_by=seen_by)
    prefetch_related_objects([asked], "responses", "inquiries")
    return asked


def version_of(asked: FeedbackRequest) -> str:
    states = "".join(response.state[0] for response in asked.responses.all())
    due = sum(row.is_due for row in _returning(asked)) if asked.run.is_foreign else 0
    handed = len(asked.delegated)
    told = ("-due" if due else "", f"-to{handed}" if handed else "", thread.version_of(asked))
    return f"{asked.status}-{states or 0}{''.join(told)}"


def desk_of(
    asked: FeedbackRequest,
    user: AbstractBaseUser,
    actor: Actor,
    form: AnswerForm | None = None,
    *,
    inbox: Filters = ALL_OPEN,
) -> Desk:
    is_open = asked.status == _PENDING
    given = standing(asked)
    kept = review.draft_of(asked, user)
    remarks = list(review.remarks_of(asked, user)) if is_open else []
    return Desk(
        asked=asked,
        form=form or AnswerForm(asked, draft=kept),
        buttons=_buttons(asked, remarks, round_limit(asked, actor)) if is_open else (),
        refusal=_refusal(asked, actor) if is_open else "",
        answers=given,
        held=next((r for r in given if r.is_held and r.identity == actor.identity), None),
        remarks=remarks,
        begun=begun_in(kept) if is_open else (),
        draft=json.dumps(kept),
        question_begun=kept.get(thread.FIELD, ""),
        progress=progress_of(asked.run),
        inbox=inbox,
        following=None if is_open else open_requests.following(asked, actor, inbox),
        again=shown.newer(asked),
        returning=_returning(asked) if asked.run.is_foreign else (),
        version=version_of(asked),
        may_override=is_open and permissions.may_override(actor, asked.run),
        may_operate=permissions.may_operate(actor, asked.run.project),
        may_resume=asked.run.on_hold and permissions.may_steer(actor, asked.run),
    )


def _returning(asked: FeedbackRequest) -> list[WriteBack]:
    rows = WriteBack.objects.filter(response__request=asked).select_related("response")
    return list(rows.order_by("pk"))


def _refusal(asked: FeedbackRequest, actor: Actor) -> str:
    already = {response.identity for response in counted(asked)}
    try:
        permissions.check_may_answer(actor, asked.run, reviewers=asked.deciders, already=already)
    except Refused as error:
        return str(error)
    return ""


def _buttons(asked: FeedbackRequest, remarks: Sequence[ReviewComment], limit: str) -> list[Button]:
    """One button stands out, unless several options would go on: then none is suggested.

    Who wrote that something must change is not told to approve.
    """
    is_suggested = [option.weight for option in asked.choices].count("main") == 1
    musts = sum(remark.kind == ItemKind.MUST for remark in remarks)
    revises = any(option.action is Action.REVISE for option in asked.choices)
    here = outlooks.standing_of(asked)
    return [
        Button(
            option=option,
            weight=_weight(option, is_suggested=is_suggested, must_change=bool(musts and revises)),
            musts=musts if option.action is Action.CONTINUE else 0,
            takes_edits=approves(option.value)
            and not asked.is_shared
            and any(remark.is_edit for remark in remarks),
            words=_own_words(asked, option) if here else option.description,
            outlook=outlooks.foreseen(asked, here, option.action),
            limit=limit if begins_a_round(option) else "",
            needs_others=asked.is_shared and lets_go_on(option),
        )
        for option in asked.choices
    ]


def _weight(option: Option, *, is_suggested: bool, must_change: bool) -> str:
    if must_change and option.weight != "stop":
        return "main" if option.action is Action.REVISE else "plain"
    return "plain" if option.weight == "main" and not is_suggested else option.weight


def _own_words(asked: FeedbackRequest, option: Option) -> str:
    """A description that says more than what the option causes, which is shown anyway."""
    is_told = option.action is Action.CONTINUE and asked.feedback_type is not FeedbackType.SELECTION
    return "" if is_told or option.has_plain_words else option.description


def answer_outlook(asked: FeedbackRequest) -> Outlook | None:
    """What sending words causes, where words are the answer."""
    return outlooks.foreseen(asked, outlooks.standing_of(asked), Action.ANSWER)
