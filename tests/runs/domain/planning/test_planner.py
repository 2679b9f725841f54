"""Decisions without a database: facts in, a decision out."""

from collections.abc import Callable, Mapping
from itertools import product

import pytest

from runs.domain.planning import event_texts, gates, planner
from runs.domain.planning.planner import Ask, Cancel, Complete, Decision, Execute, Facts
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action, FeedbackType, Gate, Question
from runs.domain.workflow.merge import make_plan
from runs.domain.workflow.parse import read_workflow
from runs.domain.workflow.plan import Plan

SUCCESS = Result(status=ResultStatus.SUCCESS, message="done")
WARNING = Result(status=ResultStatus.WARNING, message="hm", warnings=("API is deprecated",))
FAILURE = Result(status=ResultStatus.FAILURE, message="broke", errors=("one", "two"))

Json = dict[str, object]


def step(step_id: str, **fields: object) -> Json:
    return {"id": step_id, "run": ["true"], **fields}


def plan_of(phases: Mapping[str, object], **fields: object) -> Plan:
    document = {
        "id": "w",
        "phases": {
            name: {"steps": phase} if isinstance(phase, list) else phase
            for name, phase in phases.items()
        },
        **fields,
    }
    return make_plan([read_workflow(document).workflow]).plan


def asked(decision: Decision) -> Ask:
    assert isinstance(decision.move, Ask)
    return decision.move


def passed(decision: Decision) -> list[str]:
    return [type(item).__name__ for item in decision.passed]


def in_phase(phase: str, **fields: object) -> Facts:
    return Facts(entered=Phase(phase), **fields)  # type: ignore[arg-type]


def test_a_run_begins_with_its_first_step_after_the_phases_left_out() -> None:
    plan = plan_of({"build": [step("make")]})

    decision = planner.begin(plan, Facts())

    assert decision.move == Execute(0, "start")
    assert passed(decision) == ["PhaseSkipped", "PhaseSkipped", "PhaseEntered"]


def test_success_goes_on_to_the_next_step_of_the_phase() -> None:
    plan = plan_of({"build": [step("a"), step("b")]})

    decision = planner.after_result(plan, 0, SUCCESS, in_phase("build"))

    assert decision.move == Execute(1, "continue")
    assert passed(decision) == ["StepCompleted"]


def test_the_last_step_of_a_phase_leads_over_disabled_phases_into_the_next() -> None:
    plan = plan_of({"build": [step("a")], "evaluate": {"enabled": False}, "release": [step("b")]})

    decision = planner.after_result(plan, 0, SUCCESS, in_phase("build"))

    assert decision.move == Execute(1, "continue")
    assert passed(decision) == ["StepCompleted", "PhaseLeft", "PhaseSkipped", "PhaseEntered"]


def test_after_the_last_step_the_run_is_complete() -> None:
    plan = plan_of({"build": [step("a")]})

    decision = planner.after_result(plan, 0, SUCCESS, in_phase("build"))

    assert decision.move == Complete(1)


@pytest.mark.parametrize(
    ("phase", "autonomy"),
    [
        ({"require_approval": True}, {}),
        ({}, {"require_approval_for": ["release"]}),
        ({}, {"pause_before_release": True}),
        ({}, {"level": "assist"}),
        ({}, {"level": "autonomous", "require_approval_for": ["release"]}),
    ],
)
def test_every_spelling_of_a_release_gate_asks_before_the_phase_starts(
    phase: Json, autonomy: Json
) -> None:
    plan = plan_of(
        {"build": [step("a")], "release": {"steps": [step("ship")], **phase}}, autonomy=autonomy
    )

    decision = planner.after_result(plan, 0, SUCCESS, in_phase("build"))

    assert asked(decision).question.type is FeedbackType.APPROVAL
    assert asked(decision).question.gate is Gate.PHASE
    assert asked(decision).at == 1
    assert "PhaseEntered" not in passed(decision)


@pytest.mark.parametrize("named", ["ship", "release:ship"])
def test_an_approval_asked_for_a_step_is_a_gate_before_it(named: str) -> None:
    plan = plan_of({"release": [step("ship")]}, autonomy={"require_approval_for": [named]})

    decision = planner.begin(plan, Facts())

    assert asked(decision).question.gate is Gate.BEFORE_STEP
    assert asked(decision).question.type is FeedbackType.APPROVAL


def test_a_gate_that_was_approved_is_not_asked_again() -> None:
    plan = plan_of({"release": {"steps": [step("ship")], "require_approval": True}})
    gate = asked(planner.begin(plan, Facts())).gate_key

    decision = planner.begin(plan, Facts(approved=frozenset({gate})))

    assert decision.move == Execute(0, "start")


def test_a_gate_is_checked_on_a_resumed_run_as_on_a_new_one() -> None:
    plan = plan_of(
        {"build": [step("a")], "release": {"steps": [step("ship")], "require_approval": True}}
    )

    resumed = planner.arrive(plan, 1, in_phase("build"), action="retry")

    assert asked(resumed).question.gate is Gate.PHASE


def test_confirm_asks_before_the_step_and_a_new_round_asks_again() -> None:
    plan = plan_of({"build": [step("drop-tables", confirm=True)]})
    first = asked(planner.begin(plan, Facts()))

    again = planner.arrive(
        plan,
        0,
        in_phase("build", approved=frozenset({first.gate_key}), retry_count=1),
        action="retry",
    )

    assert first.question.type is FeedbackType.CONFIRMATION
    assert asked(again).gate_key != first.gate_key


def test_requires_approval_asks_after_the_step_and_shows_what_it_made() -> None:
    plan = plan_of({"architect": [step("spec", requires_approval=True, approval_type="review")]})

    decision = planner.after_result(plan, 0, SUCCESS, in_phase("architect"))

    question = asked(decision).question
    assert (question.type, question.gate) == (FeedbackType.REVIEW, Gate.AFTER_STEP)
    assert question.context["summary"] == "done"
    assert [option.value for option in question.options] == [
        "approve",
        "request_changes",
        "reject",
    ]
    assert "StepCompleted" not in passed(decision)


def test_the_option_that_goes_on_says_where_to() -> None:
    plan = plan_of({"architect": [step("spec", requires_approval=True)], "build": [step("make")]})

    question = asked(planner.after_result(plan, 0, SUCCESS, in_phase("architect"))).question

    assert question.options[0].description == "Continue to Build phase"


def test_a_failed_step_always_stops() -> None:
    handling = {"on_failure": "continue"}
    plan = plan_of({"build": [step("a", result_handling=handling)]}, result_handling=handling)

    decision = planner.after_result(plan, 0, FAILURE, in_phase("build"))

    question = asked(decision).question
    assert question.type is FeedbackType.ERROR_RESOLUTION
    assert question.context["errors"] == ["one", "two"]


def test_a_hook_may_go_on_after_its_failure() -> None:
    hooks = {
        "pre_build": [
            {"type": "script", "name": "notify", "path": "./n.sh", "on_failure": "continue"},
            {"type": "script", "name": "guard", "path": "./g.sh"},
        ]
    }
    plan = plan_of({"build": [step("a")]}, hooks=hooks)

    goes_on = planner.after_result(plan, 0, FAILURE, in_phase("build"))
    stops = planner.after_result(plan, 1, FAILURE, in_phase("build"))

    assert goes_on.move == Execute(1, "continue")
    assert asked(stops).question.type is FeedbackType.ERROR_RESOLUTION


@pytest.mark.parametrize("handling", ["stop", "prompt"])
def test_a_warning_asks_where_the_author_wants_it(handling: str) -> None:
    plan = plan_of({"build": [step("a", result_handling={"on_warning": handling})]})

    question = asked(planner.after_result(plan, 0, WARNING, in_phase("build"))).question

    assert question.type is FeedbackType.SELECTION
    assert {o.value: o.action.value for o in question.options} == {
        "continue": "continue",
        "fix": "revise",
        "stop": "abort",
    }


def test_a_warning_goes_on_by_default() -> None:
    plan = plan_of({"build": [step("a")]})

    assert planner.after_result(plan, 0, WARNING, in_phase("build")).move == Complete(1)


def test_going_on_after_a_warning_still_meets_the_gate_of_the_step() -> None:
    plan = plan_of(
        {"build": [step("a", requires_approval=True, result_handling={"on_warning": "stop"})]}
    )

    decision = planner.after_answer(
        plan, 0, Gate.WARNING, Action.CONTINUE, WARNING, in_phase("build")
    )

    assert asked(decision).question.gate is Gate.AFTER_STEP


def test_warnings_beyond_the_tolerance_ask() -> None:
    plan = plan_of(
        {"build": [step("a")]}, autonomy={"level": "guarded", "warning_tolerance": "low"}
    )

    assert asked(planner.after_result(plan, 0, WARNING, in_phase("build"))).question.gate is (
        Gate.WARNING
    )


def test_the_fiftieth_warning_reaches_a_limit_of_fifty() -> None:
    plan = plan_of(
        {"build": [step("a")]},
        autonomy={"level": "guarded", "limits": {"max_total_warnings": 50}},
    )

    below = planner.after_result(plan, 0, WARNING, in_phase("build", warnings_total=48))
    reached = planner.after_result(plan, 0, WARNING, in_phase("build", warnings_total=49))

    assert below.move == Complete(1)
    assert asked(reached).question.gate is Gate.WARNING


def test_pending_input_asks_its_questions_and_is_answered_by_the_same_step() -> None:
    plan = plan_of({"architect": [step("refine")]})
    pending = Result(
        status=ResultStatus.PENDING_INPUT,
        message="need input",
        details={"input_type": "clarification"},
        pending_input={
            "reason": "Which database?",
            "questions": ["Which database?", {"id": "v", "question": "Version?", "options": ["1"]}],
            "can_proceed_without": True,
        },
    )

    question = asked(planner.after_result(plan, 0, pending, in_phase("architect"))).question
    answered = planner.after_answer(
        plan, 0, Gate.INPUT, Action.ANSWER, pending, in_phase("architect")
    )

    assert question.type is FeedbackType.CLARIFICATION
    assert question.prompt == "Which database?"
    assert question.context["questions"] == [
        {"id": "q1", "question": "Which database?", "options": []},
        {"id": "v", "question": "Version?", "options": ["1"]},
    ]
    assert [option.value for option in question.options] == ["skip"]
    assert answered.move == Execute(0, "answer")


@pytest.mark.parametrize(
    ("gate", "action", "move"),
    [
        (Gate.AFTER_STEP, Action.CONTINUE, Execute(1, "continue")),
        (Gate.AFTER_STEP, Action.REVISE, Execute(0, "revise")),
        (Gate.AFTER_STEP, Action.RETRY, Execute(0, "retry")),
        (Gate.AFTER_STEP, Action.SKIP, Execute(1, "continue")),
        (Gate.AFTER_STEP, Action.ABORT, Cancel()),
        (Gate.AFTER_STEP, Action.ANSWER, Execute(1, "continue")),
        (Gate.CHECK_IN, Action.CONTINUE, Execute(1, "continue")),
        (Gate.WARNING, Action.REVISE, Execute(0, "revise")),
        (Gate.WARNING, Action.ABORT, Cancel()),
        (Gate.FAILURE, Action.RETRY, Execute(0, "retry")),
        (Gate.FAILURE, Action.SKIP, Execute(1, "continue")),
        (Gate.FAILURE, Action.ABORT, Cancel()),
        (Gate.INPUT, Action.CONTINUE, Execute(0, "answer")),
        (Gate.INPUT, Action.ABORT, Cancel()),
        (Gate.BEFORE_STEP, Action.ABORT, Cancel()),
        (Gate.BEFORE_STEP, Action.SKIP, Execute(1, "continue")),
        (Gate.PHASE, Action.ABORT, Cancel()),
    ],
)
def test_an_answer_goes_where_gate_and_action_say(
    gate: Gate, action: Action, move: planner.Move
) -> None:
    plan = plan_of({"build": [step("a"), step("b")]})

    assert planner.after_answer(plan, 0, gate, action, SUCCESS, in_phase("build")).move == move


@pytest.mark.parametrize(("gate", "action"), list(product(Gate, Action)))
def test_only_continue_skip_and_an_answer_ever_pass_a_step(gate: Gate, action: Action) -> None:
    plan = plan_of({"build": [step("a"), step("b")]})

    move = planner.after_answer(plan, 0, gate, action, SUCCESS, in_phase("build")).move

    if move == Execute(1, "continue"):
        assert action in (Action.CONTINUE, Action.SKIP, Action.ANSWER)
        assert planner.relies_on_what_was_shown(gate, action)


@pytest.mark.parametrize("action", [Action.REVISE, Action.RETRY, Action.ABORT])
def test_an_answer_that_does_not_go_on_does_not_rely_on_what_was_shown(action: Action) -> None:
    assert not any(planner.relies_on_what_was_shown(gate, action) for gate in Gate)


def test_a_confirmation_that_is_cancelled_never_executes_the_step() -> None:
    plan = plan_of({"build": [step("drop-tables", confirm=True)]})

    decision = planner.after_answer(
        plan, 0, Gate.BEFORE_STEP, Action.ABORT, None, in_phase("build")
    )

    assert decision.move == Cancel()


def evaluating(retry_count: int = 0) -> tuple[Plan, Facts]:
    plan = plan_of(
        {"build": [step("make")], "evaluate": {"steps": [step("test")], "max_retries": 3}}
    )
    return plan, in_phase("evaluate", retry_count=retry_count)


def test_a_failing_evaluation_sends_the_run_back_to_build() -> None:
    plan, facts = evaluating()

    decision = planner.after_result(plan, 1, FAILURE, facts)

    assert decision.move == Execute(0, "retry")
    assert decision.passed == (planner.LoopEntered(1, 3), planner.PhaseEntered(Phase.BUILD))


def test_fail_fail_pass_goes_on_after_two_rounds() -> None:
    plan, facts = evaluating(retry_count=2)

    decision = planner.after_result(plan, 1, SUCCESS, facts)

    assert decision.move == Complete(2)
    assert planner.LoopLeft(successful=True, used=2) in decision.passed


def test_when_the_rounds_are_used_up_a_person_is_asked() -> None:
    plan, facts = evaluating(retry_count=3)

    decision = planner.after_result(plan, 1, FAILURE, facts)

    assert asked(decision).question.type is FeedbackType.ERROR_RESOLUTION
    assert decision.passed == (planner.LoopLeft(successful=False, used=3),)


def test_without_max_retries_evaluate_asks_at_once() -> None:
    plan = plan_of({"build": [step("make")], "evaluate": [step("test")]})

    decision = planner.after_result(plan, 1, FAILURE, in_phase("evaluate"))

    assert asked(decision).question.type is FeedbackType.ERROR_RESOLUTION


def test_a_dry_run_executes_nothing_and_ends_completed() -> None:
    plan = plan_of(
        {
            "build": [step("a", confirm=True)],
            "release": {"steps": [step("b")], "require_approval": True},
        },
        autonomy={"level": "dry-run"},
    )

    decision = planner.begin(plan, Facts())

    assert decision.move == Complete(2)
    assert passed(decision).count("StepSkipped") == 2


def test_an_autonomous_run_that_may_destroy_is_approved_by_policy() -> None:
    plan = plan_of(
        {"release": {"steps": [step("ship")], "require_approval": True}},
        autonomy={"level": "autonomous", "allow_destructive_auto": True},
    )

    assert asked(planner.begin(plan, Facts())).by_policy


@pytest.mark.parametrize(
    ("frequency", "level", "asks"),
    [
        ("per-step", "guarded", [True, True]),
        ("per-phase", "guarded", [False, True]),
        ("end-only", "guarded", [False, True]),
        ("per-step", "autonomous", [False, False]),
        (None, "guarded", [False, False]),
    ],
)
def test_a_check_in_is_asked_where_its_frequency_says(
    frequency: str | None, level: str, asks: list[bool]
) -> None:
    autonomy: Json = {"level": level}
    if frequency:
        autonomy["check_in_frequency"] = frequency
    plan = plan_of({"build": [step("a"), step("b")]}, autonomy=autonomy)

    decisions = [planner.after_result(plan, at, SUCCESS, in_phase("build")) for at in (0, 1)]

    assert [isinstance(decision.move, Ask) for decision in decisions] == asks


def test_skipping_a_failed_step_still_asks_its_gate() -> None:
    plan = plan_of({"build": [step("make", requires_approval=True), step("check")]})

    decision = planner.after_answer(plan, 0, Gate.FAILURE, Action.SKIP, FAILURE, in_phase("build"))

    assert asked(decision).question.gate is Gate.AFTER_STEP
    assert "without it" in asked(decision).question.prompt
    assert passed(decision) == []


def test_a_skip_that_its_gate_approved_is_told_as_a_skip() -> None:
    plan = plan_of({"build": [step("make", requires_approval=True), step("check")]})

    decision = planner.after_answer(
        plan, 0, Gate.AFTER_STEP, Action.CONTINUE, FAILURE, in_phase("build")
    )

    assert decision.move == Execute(1, "continue")
    assert passed(decision) == ["StepSkipped"]


def test_skipping_a_step_without_a_gate_goes_on() -> None:
    plan = plan_of({"build": [step("make"), step("check")]})

    decision = planner.after_answer(plan, 0, Gate.FAILURE, Action.SKIP, FAILURE, in_phase("build"))

    assert decision.move == Execute(1, "continue")


def test_a_hook_is_asked_about_like_the_first_step_of_its_phase() -> None:
    hook = {"type": "script", "name": "prepare", "path": "./prepare"}
    plan = plan_of(
        {"build": [step("make", reviewers=["rita", "olga"], quorum=2), step("check")]},
        hooks={"pre_build": [hook]},
    )
    assert plan.units[0].is_hook

    question = gates.addressed(plan, 0, gates.on_failure(plan, 0, FAILURE))

    assert (question.reviewers, question.quorum) == (("rita", "olga"), 2)


def test_words_are_asked_of_one_reviewer_whatever_the_quorum() -> None:
    plan = plan_of({"build": [step("make", reviewers=["rita", "olga"], quorum=2)]})
    pending = Result(status=ResultStatus.PENDING_INPUT, message="Which one?")

    question = gates.addressed(plan, 0, gates.on_pending_input(plan, 0, pending))

    assert (question.reviewers, question.quorum) == (("rita", "olga"), 1)


LONG = "It broke. " + "word " * 1000 + "END."


@pytest.mark.parametrize("ask", [gates.on_failure, gates.on_warning, gates.on_pending_input])
def test_a_question_begins_a_long_message_and_has_all_of_it_beside_it(
    ask: Callable[[Plan, int, Result], Question],
) -> None:
    plan = plan_of({"build": [step("make")]})

    question = ask(plan, 0, Result(status=ResultStatus.FAILURE, message=LONG))

    assert "It broke. word" in question.prompt
    assert len(question.prompt) < 550
    assert question.context["summary"] == LONG


def test_an_event_cuts_a_long_message_and_has_all_of_it_in_its_metadata() -> None:
    plan = plan_of({"build": [step("make")]})
    unit = plan.units[0]
    executed = event_texts.Executed(
        key=unit.key, number=1, duration_ms=1, message=LONG, result="success"
    )
    told = (
        event_texts.step_failed(
            unit, Result(status=ResultStatus.FAILURE, message=LONG), attempt=1, duration_ms=1
        ),
        event_texts.hook_executed(
            unit, Result(status=ResultStatus.SUCCESS, message=LONG), duration_ms=1
        ),
        event_texts.passed(planner.StepCompleted(unit), plan, retries=0, executed=executed),
    )

    for entry in told:
        assert entry
        assert len(entry.message) == 500
        assert entry.metadata["message"] == LONG
