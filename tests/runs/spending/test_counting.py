"""What agents cost, on real rows: added up, held to budgets, raised by people."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from feedback.audit import integrity
from feedback.models import FeedbackRequest
from runs import engine
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.workflow.definition import Budget
from runs.executors import Outcome
from runs.models import Event, Run
from runs.record import run_json
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]

THREE: f.Json = f.workflow({"build": [f.step("a"), f.step("b"), f.step("c")]})


def cost(run: Run, usd: float | None, *, tokens: int = 1000, result: Result | None = None) -> Run:
    """Be the worker of one step that an agent did for so much."""
    claim = engine.claim(run.pk, "w")
    assert claim
    told = {"agent": "claude", "input_tokens": tokens, "output_tokens": 100}
    done = result or Result(status=ResultStatus.SUCCESS, message="done")
    used = told if usd is None else {**told, "cost_usd": usd}
    engine.put_on_record(
        claim, engine.settlement(claim, Outcome(result=done, usage=used)), goes_on=False
    )
    return f.fresh(run)


def limited(whole: f.Json, **step: object) -> Run:
    steps = [{**f.step("a"), **step}, f.step("b"), f.step("c")]
    return f.start(f.workflow({"build": steps}, **({"budget": whole} if whole else {})))


def test_what_attempts_cost_is_summed_with_their_run() -> None:
    run = cost(cost(f.start(THREE), 0.25), None)

    assert (run.cost_usd, run.input_tokens, run.output_tokens) == (0.25, 2000, 200)
    assert list(run.attempts.values_list("cost_usd", "output_tokens"))[:2] == [
        (0.25, 100),
        (None, 100),
    ]
    shape = run_json.run_shape(run)
    assert (shape["cost_usd"], shape["output_tokens"], shape["budget"]) == (0.25, 200, None)


def test_a_run_asks_before_it_goes_on_when_its_budget_is_used_up() -> None:
    run = cost(limited({"usd": 5}), 3)
    assert run.status == "in_progress"

    run = cost(run, 2.4)

    asked = f.pending(run)
    assert (asked.gate, asked.step, asked.type) == ("budget", "b", "selection")
    assert asked.title == "This run has used $5.40 of its budget of $5.00. Continue?"
    assert not run.attempts.filter(step="c").exists()


def test_continuing_raises_the_budget_and_the_run_goes_on_where_it_was() -> None:
    run = cost(limited({"usd": 5}), 6)

    f.answer(run, "continue")

    run = f.fresh(run)
    assert (run.status, run.unit and run.unit.step.id) == ("in_progress", "b")
    assert run.budget == Budget(usd=10)
    assert run_json.run_shape(run)["budget"] == {"usd": 10, "tokens": None}
    (told,) = Event.objects.filter(run=run, type="feedback_received")
    assert told.document["metadata"]["budget"]["raised"] == {"usd": 10}
    assert integrity.faults() == []
    assert cost(run, 3).status == "in_progress"


def test_stopping_ends_the_run() -> None:
    run = cost(limited({"usd": 5}), 6)

    f.answer(run, "stop")

    assert f.fresh(run).status == "cancelled"


def test_the_review_of_the_step_comes_after_the_question_about_money() -> None:
    run = cost(limited({"usd": 5}, requires_approval=True, approval_type="review"), 6)
    assert f.pending(run).gate == "budget"

    f.answer(run, "continue")

    assert (f.pending(run).gate, f.pending(run).type) == ("after_step", "review")


def test_a_step_has_a_budget_of_its_own_over_all_its_rounds() -> None:
    run = limited({}, requires_approval=True, approval_type="review", budget={"usd": 2})
    run = cost(run, 1.5)
    f.answer(run, "request_changes", "Shorter.")
    assert f.fresh(run).unit.step.id == "a"  # type: ignore[union-attr]

    run = cost(run, 1.5)

    asked = f.pending(run)
    assert asked.prompt == "“a” has used $3.00 of its budget of $2.00. Continue?"
    assert asked.context["budget"]["scope"] == "build:a"
    f.answer(run, "continue")
    assert f.fresh(run).budgets == {"build:a": {"usd": 4.0}}
    assert f.pending(run).type == "review"


def test_tokens_count_where_no_dollars_are_told() -> None:
    run = cost(limited({"tokens": 2000}), None, tokens=2000)

    assert f.pending(run).prompt == (
        "This run has used 2,100 tokens of its budget of 2,000 tokens. Continue?"
    )


def test_both_budgets_are_asked_about_one_after_the_other() -> None:
    run = cost(limited({"usd": 5}, budget={"usd": 1}), 6)
    f.answer(run, "continue")

    assert f.pending(run).context["budget"]["scope"] == "build:a"


def test_a_failure_is_decided_about_after_the_money() -> None:
    broke = Result(status=ResultStatus.FAILURE, message="broke", errors=("x",))
    run = cost(limited({"usd": 5}), 6, result=broke)
    assert f.pending(run).gate == "budget"

    f.answer(run, "continue")

    assert f.pending(run).type == "error_resolution"
    assert f.pending(run).attempt_id is not None


def test_a_question_of_a_program_cannot_raise_a_budget() -> None:
    run = cost(limited({"usd": 5}, requires_approval=True), 1)
    forged = {"scope": "run", "raised": {"usd": 1000}}
    FeedbackRequest.objects.filter(run=run).update(context={"budget": forged})

    f.answer(run, "approve")

    assert f.fresh(run).budget == Budget(usd=5)


def test_a_run_without_a_budget_sums_nothing_up() -> None:
    run = f.start(THREE)
    claim = engine.claim(run.pk, "w")
    assert claim
    used = {"agent": "claude", "cost_usd": 1.0}
    done = Outcome(result=Result(status=ResultStatus.SUCCESS, message="done"), usage=used)
    what = engine.settlement(claim, done)

    with CaptureQueriesContext(connection) as seen:
        engine.put_on_record(claim, what)

    assert [query["sql"] for query in seen if "SUM(" in query["sql"]] == []
    run.refresh_from_db()
    assert run.cost_usd == 1.0


def test_what_agents_told_before_there_were_columns_is_copied() -> None:
    run = cost(cost(f.start(THREE), 0.25), None)
    run.attempts.filter(step="c").update(usage={"cost_usd": "a lot", "input_tokens": True})
    columns = ("cost_usd", "input_tokens", "output_tokens")
    told = list(run.attempts.values_list(*columns))
    run.attempts.update(**dict.fromkeys(columns))
    Run.objects.update(**dict.fromkeys(columns))

    import_module("runs.migrations.0022_costs").note_those_told(apps, None)

    assert list(run.attempts.values_list(*columns)) == told
    assert Run.objects.values_list(*columns).get(pk=run.pk) == (0.25, 2000, 200)
