"""What the request page shows, read in few queries and handed on as values."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import prefetch_related_objects

from feedback.desk import review
from feedback.desk.forms import AnswerForm
from feedback.inbox import open_requests
from feedback.models import FeedbackRequest, FeedbackResponse, ReviewComment, WriteBack
from feedback.requests.answers import standing
from feedback.requests.find import find_request
from runs.accounts import permissions
from runs.domain.planning.preview import Outlook, Standing, foresee
from runs.domain.responses.results import read_response
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Refused
from runs.domain.values.questions import Action, FeedbackType, Gate, Option
from runs.domain.values.status import RequestStatus, RunStatus
from runs.pages.run.page import LiveProgress, progress_of

_PENDING = RequestStatus.PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    option: Option
    weight: str  # main, plain, or stop for what ends the run
    words: str  # what the author of the workflow says about it
    outlook: Outlook | None  # None when the run does not stand where it asked any more


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
    progress: LiveProgress
    following: FeedbackRequest | None
    returning: Sequence[WriteBack]  # answers to a run that is executed elsewhere
    version: str

    @property
    def is_open(self) -> bool:
        return self.asked.status == _PENDING

    @property
    def has_news(self) -> bool:
        """Whether something can still change that nobody does on this page."""
        return self.is_open or any(row.is_due for row in self.returning)


def find(request_id: str) -> FeedbackRequest:
    asked = find_request(request_id)
    prefetch_related_objects([asked], "run__project", "responses")
    return asked


def version_of(asked: FeedbackRequest) -> str:
    states = "".join(response.state[0] for response in asked.responses.all())
    due = sum(row.is_due for row in _returning(asked)) if asked.run.is_foreign else 0
    return f"{asked.status}-{states or 0}{'-due' if due else ''}"


def desk_of(
    asked: FeedbackRequest,
    user: AbstractBaseUser,
    actor: Actor,
    form: AnswerForm | None = None,
) -> Desk:
    is_open = asked.status == _PENDING
    counted = standing(asked)
    return Desk(
        asked=asked,
        form=form or AnswerForm(asked, draft=review.draft_of(asked, user)),
        buttons=_buttons(asked) if is_open else (),
        refusal=_refusal(asked, actor) if is_open else "",
        answers=counted,
        held=next((r for r in counted if r.is_held and r.identity == actor.identity), None),
        remarks=list(review.remarks_of(asked, user)) if is_open else (),
        progress=progress_of(asked.run),
        following=None if is_open else open_requests.following(asked, actor),
        returning=_returning(asked) if asked.run.is_foreign else (),
        version=version_of(asked),
    )


def _returning(asked: FeedbackRequest) -> list[WriteBack]:
    rows = WriteBack.objects.filter(response__request=asked).select_related("response")
    return list(rows.order_by("pk"))


def _refusal(asked: FeedbackRequest, actor: Actor) -> str:
    already = {response.identity for response in standing(asked)}
    try:
        permissions.check_may_answer(actor, asked.run, reviewers=asked.reviewers, already=already)
    except Refused as error:
        return str(error)
    return ""


def _buttons(asked: FeedbackRequest) -> list[Button]:
    """One button stands out, unless several options would go on: then none is suggested."""
    is_suggested = [option.weight for option in asked.choices].count("main") == 1
    here = _standing(asked)
    return [
        Button(
            option=option,
            weight="plain" if option.weight == "main" and not is_suggested else option.weight,
            words=_own_words(asked, option) if here else option.description,
            outlook=foresee(here, option.action) if here else None,
        )
        for option in asked.choices
    ]


def _own_words(asked: FeedbackRequest, option: Option) -> str:
    """A description that says more than what the option causes, which is shown anyway."""
    is_told = option.action is Action.CONTINUE and asked.feedback_type is not FeedbackType.SELECTION
    return "" if is_told or option.has_plain_words else option.description


def answer_outlook(asked: FeedbackRequest) -> Outlook | None:
    """What sending words causes, where words are the answer."""
    here = _standing(asked)
    return foresee(here, Action.ANSWER) if here else None


def _standing(asked: FeedbackRequest) -> Standing | None:
    run, attempt = asked.run, asked.attempt
    if run.state is not RunStatus.AWAITING_FEEDBACK or run.unit is None or run.is_foreign:
        return None  # what follows is known only to whoever executes it
    response = attempt.response if attempt else None
    return Standing(
        plan=run.frozen_plan,
        at=run.position,
        gate=Gate(asked.gate),
        gate_key=asked.gate_key,
        facts=run.facts,
        result=read_response(response, step=attempt.key) if attempt and response else None,
    )
