"""Which round a request is, when changes can be requested for the last time, who made it."""

from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from pytest_django import Settings

from feedback.models import FeedbackRequest
from feedback.requests.answers import Words, respond
from feedback.requests.request_json import request_shape
from runs.domain.values.actors import Role
from runs.domain.values.errors import RoundLimit
from runs.models import Run
from tests import factories as f
from tests.fake_agents.programs import FakeAgents

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def reviewed(workspace: Path, **fields: object) -> Run:
    step = f.step(
        "write",
        "tests.steps:revise_list",
        artifact="list.md",
        requires_approval=True,
        approval_type="review",
        **fields,
    )
    return f.started(f.workflow({"architect": [step], "build": [f.step("make")]}), workspace)


def sent_back(run: Run, times: int) -> FeedbackRequest:
    for _ in range(times):
        run = f.answered(run, "request_changes", "more of it")
    return f.pending(run)


def test_each_answer_at_the_same_place_begins_a_round(tmp_path: Path) -> None:
    run = reviewed(tmp_path)
    assert f.pending(run).round == 1

    asked = sent_back(run, 2)

    assert (asked.round, asked.round_name) == (3, "Round 3")
    assert request_shape(asked)["round"] == 3


def test_what_is_asked_again_about_a_changed_file_is_the_same_round(tmp_path: Path) -> None:
    run = reviewed(tmp_path)
    (tmp_path / "list.md").write_text("Other words.\n")

    f.answer(run, "approve")

    assert f.pending(run).context["changed_files"]
    assert f.pending(run).round == 1


def test_the_request_of_the_last_round_is_the_last_that_takes_changes(tmp_path: Path) -> None:
    run = reviewed(tmp_path, max_rounds=2)
    assert f.pending(run).round_name == "Round 1 of 2"

    asked = sent_back(run, 2)

    assert asked.round_name == "Round 3, after 2 rounds of changes"
    with pytest.raises(RoundLimit, match="limit of 2 rounds of changes is reached") as refused:
        f.answer(run, "request_changes", "again")
    assert refused.value.code == "round_limit"
    assert refused.value.details["options"] == ["approve", "reject"]
    assert f.pending(run) == asked
    assert f.answered(run, "approve").status == "completed"


def test_an_option_of_the_workflows_own_that_sends_back_is_limited_too(tmp_path: Path) -> None:
    options = ["approve", {"value": "rework", "action": "revise"}]
    run = reviewed(tmp_path, max_rounds=1, options=options)
    run = f.answered(run, "rework", "more")

    with pytest.raises(RoundLimit):
        f.answer(run, "rework", "more")


def test_operators_may_request_changes_beyond_the_limit(tmp_path: Path) -> None:
    run = reviewed(tmp_path, max_rounds=1)
    asked = sent_back(run, 1)
    operator = f.person("Olga", groups=frozenset({Role.OPERATOR.value}))

    words = Words(comment="once more")
    respond(asked.request_id, "request_changes", actor=operator, words=words)

    assert f.work(run).requests.count() == 3


def test_a_failure_of_the_step_has_no_last_round() -> None:
    run = f.started(f.workflow({"build": [f.step("x", "tests.steps:fail", max_rounds=1)]}))

    assert f.pending(run).max_rounds is None
    assert f.pending(f.answered(run, "retry")).round_name == "Round 2"


def test_the_rounds_of_a_site_that_counted_none_are_counted(tmp_path: Path) -> None:
    run = reviewed(tmp_path)
    sent_back(run, 2)
    FeedbackRequest.objects.update(round=1)

    import_module("feedback.migrations.0010_named_requests").count_rounds(apps, None)

    assert list(run.requests.order_by("pk").values_list("round", flat=True)) == [1, 2, 3]


# Who made it


def by_agent(workspace: Path, agent: f.Json) -> Run:
    step: f.Json = {"id": "write", "prompt": "Write.", "agent": agent, "requires_approval": True}
    options = {"approval_type": "review"}
    return f.started(f.workflow({"build": [{**step, **options}]}), workspace)


DONE = {"status": "success", "message": "done"}


def test_a_request_names_the_agent_and_what_all_its_attempts_cost(
    agents: FakeAgents, tmp_path: Path
) -> None:
    agents.will_say(DONE, DONE)

    run = by_agent(tmp_path, {"kind": "claude"})
    once = request_shape(f.pending(run))
    twice = request_shape(f.pending(f.answered(run, "request_changes", "more")))

    assert (once["agent"], twice["agent"]) == ("claude", "claude")
    assert isinstance(once["cost_usd"], float)
    assert twice["cost_usd"] == pytest.approx(2 * once["cost_usd"])


def test_an_agent_of_no_known_kind_is_called_by_its_program(
    agents: FakeAgents, tmp_path: Path
) -> None:
    program = agents.install("scribe", f"print({str(DONE)!r}.replace(\"'\", '\"'))")

    run = by_agent(tmp_path, {"command": [str(program), "--quiet"]})

    shape = request_shape(f.pending(run))
    assert (shape["agent"], shape["cost_usd"]) == ("scribe", None)


def test_where_no_agent_worked_there_is_none(settings: Settings) -> None:
    shape = request_shape(f.pending(f.started(f.five_steps())))

    assert [shape[name] for name in ("agent", "cost_usd", "assignee", "due_at")] == [None] * 4
