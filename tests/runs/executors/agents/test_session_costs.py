"""What a call cost, from agents that tell it of the call and from those that tell the session's."""

import json

import pytest

from runs.executors.agents.claude import Claude
from runs.executors.agents.codex import Codex

SESSION = "b168dc1d-9e10-4d9c-b140-bff31d86d727"

Numbers = dict[str, float]


def claude(
    cost: float, tokens: tuple[int, int], *models: tuple[int, int], **before: float
) -> float:
    """What is counted for a call that used these tokens, and told these of its models."""
    envelope = {
        "type": "result",
        "session_id": SESSION,
        "total_cost_usd": cost,
        "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
        "modelUsage": {
            f"model-{number}": {"inputTokens": read, "outputTokens": written}
            for number, (read, written) in enumerate(models)
        },
    }
    used = Claude().said(json.dumps(envelope), {SESSION: before}).usage or {}
    assert (used["input_tokens"], used["output_tokens"]) == tokens
    return float(str(used["cost_usd"]))


def codex(read: int, written: int, **before: float) -> Numbers:
    events = (
        {"type": "thread.started", "thread_id": SESSION},
        {"type": "turn.completed", "usage": {"input_tokens": read, "output_tokens": written}},
    )
    used = Codex().said("\n".join(map(json.dumps, events)), {SESSION: before}).usage or {}
    return {name: float(str(number)) for name, number in used.items() if name != "agent"}


def told(cost: float, read: int, written: int) -> Numbers:
    return {"cost_usd": cost, "input_tokens": read, "output_tokens": written}


def test_of_the_total_of_a_session_only_what_is_new_is_counted() -> None:
    assert claude(0.00014, (10, 5), (10, 5)) == 0.00014
    assert claude(0.00028, (10, 5), (20, 10), **told(0.00014, 10, 5)) == pytest.approx(0.00014)
    assert claude(0.00042, (10, 5), (30, 15), **told(0.00028, 20, 10)) == pytest.approx(0.00014)


def test_the_cost_of_a_call_is_counted_whole() -> None:
    assert claude(0.000175, (10, 5), (10, 5), **told(0.000175, 10, 5)) == 0.000175
    assert claude(0.0007, (40, 20), (40, 20), **told(0.000175, 10, 5)) == 0.0007


def test_helpers_and_other_models_are_part_of_the_total() -> None:
    before = told(0.001015, 70, 35)
    assert claude(0.001295, (20, 10), (50, 25), (60, 30), **before) == pytest.approx(0.00028)


def test_a_call_that_the_model_refused_adds_nothing_to_the_total() -> None:
    assert claude(0.001015, (0, 0), (70, 35), **told(0.001015, 70, 35)) == 0
    assert claude(0, (0, 0), **told(0.001015, 70, 35)) == 0


def test_what_was_never_counted_is_counted_with_the_next_call() -> None:
    """One that was stopped told nothing; the session's total has it."""
    assert claude(0.00042, (10, 5), (30, 15), **told(0.00014, 10, 5)) == pytest.approx(0.00028)


def test_another_session_was_not_counted_yet() -> None:
    models = {"model": {"inputTokens": 100, "outputTokens": 50}}
    envelope = {"type": "result", "total_cost_usd": 0.5, "modelUsage": models}
    printed = json.dumps({**envelope, "session_id": "another"})
    said = Claude().said(printed, {SESSION: told(0.4, 10, 5)})
    assert (said.usage or {})["cost_usd"] == 0.5


def test_codex_tells_the_tokens_of_its_whole_thread() -> None:
    assert codex(10, 5) == {"input_tokens": 10, "output_tokens": 5}
    assert codex(30, 15, input_tokens=20, output_tokens=10) == codex(10, 5)


def test_fewer_tokens_than_before_are_those_of_the_call() -> None:
    assert codex(10, 5, input_tokens=20, output_tokens=10) == codex(10, 5)
