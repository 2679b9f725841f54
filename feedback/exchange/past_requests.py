"""Rebuilds what was asked and answered from what a run directory tells of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from feedback.exchange.run_directory import (
    Answered,
    EventFound,
    Json,
    RequestDocument,
    ResumePoint,
    entered_phase,
    of_type,
)
from runs.domain.planning import gates
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.events import EventType
from runs.domain.values.phases import Phase
from runs.domain.values.questions import (
    Action,
    FeedbackType,
    Gate,
    Option,
    Question,
    known_action,
    make_option,
)
from runs.domain.workflow.plan import Plan
from runs.domain.workflow.problems import Notes

_REMEMBERED = (Gate.PHASE, Gate.BEFORE_STEP)  # approvals that a later visit need not ask for again


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAnswer:
    response: str
    action: Action
    comment: str
    provided_by: Json
    received_at: datetime
    decides: bool

    @property
    def identity(self) -> str:
        return _identity(self.provided_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question that was put to people, with what was answered so far."""

    request_id: str
    question: Question
    gate_key: str
    point: ResumePoint | None
    requested_at: datetime
    answers: tuple[PastAnswer, ...] = ()
    is_pending: bool = False
    shown_on_cli: bool = False


def index_of(plan: Plan, point: ResumePoint) -> int | None:
    wanted = (point.phase, point.step)
    found = (at for at, unit in enumerate(plan.units) if (unit.phase, unit.step.id) == wanted)
    return next(found, None)


class Story:
    """The events, asked about one request at a time."""

    def __init__(
        self,
        plan: Plan,
        events: Sequence[EventFound],
        notes: Notes,
        *,
        is_executed_here: bool,
        is_whole_plan: bool,
    ) -> None:
        self._plan = plan
        self._events = events
        self._notes = notes
        self._is_executed_here = is_executed_here
        self._is_whole_plan = is_whole_plan

    def pending(self, asked: RequestDocument, at: int, point: ResumePoint | None) -> Request:
        told = self._told(asked.request_id)
        gate = _gate_of(told) or self._likely_gate(asked.type, at)
        question = gates.addressed(self._plan, at, _asked_again(self._plan, at, gate, asked))
        return Request(
            request_id=asked.request_id,
            question=Question(
                type=asked.type,
                gate=gate,
                prompt=asked.prompt,
                title=_title(gate, asked),
                options=self._options(question, asked),
                context=asked.context,
                reviewers=question.reviewers,
                quorum=question.quorum,
                quorum_groups=question.quorum_groups,
                max_rounds=question.max_rounds,
            ),
            gate_key=self._gate_key(question, at, told),
            point=asked.resume_point or point,
            requested_at=asked.requested_at,
            answers=self._answers_so_far(asked, question.quorum),
            is_pending=True,
            shown_on_cli=asked.notification_sent.get("cli") is True,
        )

    def answered(self, index: int, entry: Answered) -> Request:
        told = self._told(entry.request_id)
        point = _point_of(told)
        at = index_of(self._plan, point) if point else None
        question = Question(
            type=entry.request_type,
            gate=_gate_of(told) or Gate.AFTER_STEP,
            prompt=told.message if told else "",
            options=_known_options(entry.request_type, told),
            context=_object(told, "context"),
        )
        if not entry.provided_by.get("user"):
            place = f"state.json: feedback_history[{index}].provided_by"
            self._notes.refuse(place, "does not say which user")
        return Request(
            request_id=entry.request_id,
            question=question,
            gate_key="" if at is None else self._gate_key(question, at, told),
            point=point,
            requested_at=told.timestamp if told else entry.received_at,
            answers=self._answers(entry.request_id, _decision(entry)),
        )

    def _told(self, request_id: str) -> EventFound | None:
        asked = of_type(self._events, EventType.DECISION_POINT)
        return next((event for event in asked if event.request_id == request_id), None)

    def _answers(
        self, request_id: str, decision: PastAnswer | None = None
    ) -> tuple[PastAnswer, ...]:
        """The decision, and before it what others said while their quorum was not reached."""
        given = {decision.identity: decision} if decision else {}
        for event in of_type(self._events, EventType.FEEDBACK_RECEIVED):
            if event.request_id == request_id:
                answer = _answer_told(event)
                given.setdefault(answer.identity, answer)
        return tuple(sorted(given.values(), key=lambda answer: answer.decides))

    def _answers_so_far(self, asked: RequestDocument, quorum: int) -> tuple[PastAnswer, ...]:
        given = self._answers(asked.request_id)
        if given and quorum == 1:
            # Whoever wrote the event was interrupted before the state; nothing came of it.
            said = f"{asked.request_id} was answered, but is still open in state.json"
            self._notes.warn("events", said)
            return ()
        return given

    def _likely_gate(self, asked: FeedbackType, at: int) -> Gate:
        """Where a run stands that does not say at which gate it asks."""
        if asked is FeedbackType.ERROR_RESOLUTION:
            return Gate.FAILURE
        if asked.takes_text:
            return Gate.INPUT
        unit = self._plan.units[at]
        if any(e.key == unit.key for e in of_type(self._events, EventType.STEP_START)):
            return Gate.AFTER_STEP
        is_entered = entered_phase(self._events) == unit.phase
        return Gate.BEFORE_STEP if is_entered else Gate.PHASE

    def _gate_key(self, question: Question, at: int, told: EventFound | None) -> str:
        if question.gate not in _REMEMBERED:
            return ""
        before = takewhile(lambda event: event is not told, self._events)
        rounds = sum(1 for event in before if event.type == EventType.RETRY_LOOP_ENTER)
        return gates.gate_key(self._plan.units[at], question, round_number=rounds)

    def _options(self, question: Question, asked: RequestDocument) -> tuple[Option, ...]:
        # Of a run whose later steps nobody here knows, no option can say where it leads.
        known = question.options if self._is_executed_here or self._is_whole_plan else ()
        offered = {option.value: option for option in known}
        options = []
        for index, name in enumerate(asked.options):
            try:
                options.append(offered.get(name) or make_option(asked.type, name))
            except ValueError:
                if not self._is_executed_here:
                    # Whoever executes the run knows; to the original any other word goes on.
                    options.append(make_option(asked.type, name, action=Action.CONTINUE))
                    continue
                place = f"state.json: feedback_request.options[{index}]"
                self._notes.refuse(place, f"the action of {name!r} is unknown")
        return tuple(options)


def _title(gate: Gate, asked: RequestDocument) -> str:
    """The question, where a step asks one itself."""
    form = gates.questions_in(asked.context)
    return gates.title_of(asked.type, asked.prompt, form) if gate is Gate.INPUT else ""


def _asked_again(plan: Plan, at: int, gate: Gate, asked: RequestDocument) -> Question:
    """The plan's own question at this gate: it knows the options' actions and who may answer."""
    result = Result(
        status=ResultStatus.SUCCESS,
        message=asked.prompt,
        details={"input_type": asked.type.value},
        pending_input={"can_proceed_without": "skip" in asked.options},
    )
    match gate:
        case Gate.PHASE:
            return gates.before_phase(plan, at)
        case Gate.BEFORE_STEP:
            return gates.before_step(plan, at)
        case Gate.AFTER_STEP if plan.units[at].step.requires_approval:
            return gates.after_step(plan, at, result)
        case Gate.AFTER_STEP:
            return gates.after_success(plan, at, result)
        case Gate.WARNING | Gate.BUDGET:
            return gates.on_warning(plan, at, result)
        case Gate.FAILURE:
            return gates.on_failure(plan, at, result)
        case Gate.INPUT:
            return gates.on_pending_input(plan, at, result)
        case Gate.CHECK_IN:
            return gates.check_in(plan, at, result)


def _decision(entry: Answered) -> PastAnswer:
    return PastAnswer(
        response=entry.response,
        action=entry.action or _action_of(entry.request_type, entry.response),
        comment=entry.comment or "",
        # The time has a place of its own.
        provided_by={k: v for k, v in entry.provided_by.items() if k != "timestamp"},
        received_at=entry.received_at,
        decides=True,
    )


def _answer_told(event: EventFound) -> PastAnswer:
    said = event.metadata
    response = str(said.get("response", ""))
    provided_by = said.get("provided_by")
    flat: Json = {key: said.get(key) for key in ("user", "source")}
    return PastAnswer(
        response=response,
        action=known_action(response) or Action.CONTINUE,
        comment="",
        provided_by=provided_by if isinstance(provided_by, dict) else flat,
        received_at=event.timestamp,
        decides=False,
    )


def _action_of(asked: FeedbackType, response: str) -> Action:
    if asked.takes_text:
        return Action.ANSWER
    return known_action(response) or Action.CONTINUE


def _known_options(asked: FeedbackType, told: EventFound | None) -> tuple[Option, ...]:
    """What was offered once; an option nobody can choose any more needs no action of its own."""
    names = told.metadata.get("options") if told else None
    return tuple(
        make_option(asked, str(name), action=known_action(str(name)) or Action.CONTINUE)
        for name in (names if isinstance(names, list) else ())
    )


def _gate_of(told: EventFound | None) -> Gate | None:
    named = told.metadata.get("gate") if told else None
    return Gate(str(named)) if named in list(Gate) else None


def _point_of(told: EventFound | None) -> ResumePoint | None:
    if told is None or told.phase not in list(Phase) or not told.step:
        return None
    index = _object(told, "resume_point").get("step_index")
    return ResumePoint(
        phase=Phase(told.phase),
        step=told.step,
        step_index=index if isinstance(index, int) else None,
    )


def _object(told: EventFound | None, key: str) -> Json:
    value = told.metadata.get(key) if told else None
    return value if isinstance(value, dict) else {}


def _identity(provided_by: Json) -> str:
    return (
        f"{provided_by.get('source', '')}:{provided_by.get('account') or provided_by.get('user')}"
    )
