"""The same trouble is recognised, other trouble is not."""

import pytest

from feedback.requests.fingerprint import fingerprint


def of(*errors: str, step: str = "evaluate:test") -> str:
    return fingerprint("default", step, errors)


@pytest.mark.parametrize(
    ("once", "again"),
    [
        ("3 failed, 12 passed in 0.21s", "4 failed, 11 passed in 1.07s"),
        ("/home/a1/app/test_x.py:12: AssertionError", "/srv/b7/w/test_x.py:14: AssertionError"),
        ("commit 3f2a9c1d is not merged", "commit 99ffee012 is not merged"),
        (
            "run 1b4e28ba-2fa1-11d2-883f-0016d3cca427 died",
            "run 6fa459ea-ee8a-3ca4-894e-db77e160355e died",
        ),
        ("Timeout  after 30 s", "timeout after 31 s"),
    ],
)
def test_numbers_times_paths_and_hashes_do_not_matter(once: str, again: str) -> None:
    assert of(once) == of(again)


def test_other_words_or_another_step_are_another_failure() -> None:
    assert of("connection refused") != of("permission denied")
    assert of("connection refused") != of("connection refused", step="build:make")
    assert fingerprint("a", "x", ["no"]) != fingerprint("b", "x", ["no"])


def test_the_order_of_errors_and_a_flood_of_the_same_do_not_matter() -> None:
    assert of("one broke", "two broke") == of("two broke", "one broke")
    assert of(*["worker 1 died"] * 500) == of("worker 2 died")
