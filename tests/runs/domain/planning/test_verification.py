from hypothesis import given
from hypothesis import strategies as st

from runs.domain.planning.verification import Trace, verify, verify_so_far

PLANNED = ("frame:a", "build:b", "evaluate:c")


def traces(*told: str) -> list[Trace]:
    """`start build:b` and so on."""
    kinds = {
        "start": "step_start",
        "end": "step_complete",
        "skip": "step_skip",
        "error": "step_error",
        "loop": "retry_loop_enter",
    }
    return [
        Trace(type=kinds[word.split()[0]], key=[*word.split(), "evaluate:"][1]) for word in told
    ]


def whole() -> list[str]:
    return [f"{word} {key}" for key in PLANNED for word in ("start", "end")]


def test_a_run_that_did_what_was_planned_conforms() -> None:
    verdict = verify(PLANNED, traces(*whole()))

    assert verdict.conforms
    assert verdict.matched == PLANNED


def test_a_step_that_was_not_executed_is_missing() -> None:
    verdict = verify(PLANNED, traces(*whole()[:4]))

    assert verdict.missing == ("evaluate:c",)
    assert not verdict.conforms


def test_a_skipped_step_is_accounted_for() -> None:
    assert verify(PLANNED, traces(*whole()[:4], "skip evaluate:c")).conforms


def test_a_step_outside_the_plan_is_extra() -> None:
    verdict = verify(PLANNED, traces(*whole(), "start build:improvised"))

    assert verdict.extra == ("build:improvised",)


def test_a_step_executed_too_early_is_reordered() -> None:
    verdict = verify(
        PLANNED,
        traces("start build:b", "end build:b", "start frame:a", "end frame:a", *whole()[4:]),
    )

    assert verdict.reordered == ("build:b",)


def test_an_end_without_a_start_is_fabricated() -> None:
    verdict = verify(PLANNED, traces("start frame:a", "end frame:a", "end build:b", *whole()[4:]))

    assert verdict.fabricated == ("build:b",)


def test_two_ends_of_one_start_are_fabricated() -> None:
    verdict = verify(PLANNED, traces(*whole(), "end evaluate:c"))

    assert verdict.fabricated == ("evaluate:c",)


def test_retries_and_the_evaluate_loop_conform() -> None:
    told = [
        "start frame:a", "error frame:a", "start frame:a", "end frame:a",
        "start build:b", "end build:b", "start evaluate:c", "error evaluate:c",
        "loop", "start build:b", "end build:b", "start evaluate:c", "end evaluate:c",
    ]  # fmt: skip

    assert verify(PLANNED, traces(*told)).conforms


def test_after_the_loop_a_step_that_was_not_done_anew_is_missing() -> None:
    told = [*whole()[:5], "error evaluate:c", "loop", "start evaluate:c", "end evaluate:c"]

    verdict = verify(PLANNED, traces(*told))

    assert verdict.missing == ("build:b",)
    assert verdict.reordered == ("evaluate:c",)


def test_at_a_gate_only_what_lies_before_it_can_be_missing() -> None:
    told = traces("start frame:a", "end frame:a")

    assert verify_so_far(PLANNED, told, reached=1).conforms
    assert not verify_so_far(PLANNED, told, reached=2).conforms


@given(st.lists(st.sampled_from([f"{w} {k}" for w in ("start", "end", "skip") for k in PLANNED])))
def test_no_history_makes_a_step_both_matched_and_missing(told: list[str]) -> None:
    verdict = verify(PLANNED, traces(*told))

    assert set(verdict.matched) | set(verdict.missing) == set(PLANNED)
    assert not set(verdict.matched) & set(verdict.missing)
