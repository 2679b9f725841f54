import pytest

from runs.domain.values.nearest import likeness, nearest


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("rtia", ["rene", "rita"], "rita"),
        ("rti", ["rene", "rita"], "rita"),
        ("RITTA", ["rene", "rita"], "rita"),
        ("FABER_PROT", ["FABER_PROMPT", "FABER_PORT"], "FABER_PORT"),
        ("requires_aproval", ["requires_approval", "approval_type"], "requires_approval"),
        ("stauts", ["state", "status"], "status"),
        ("aa", ["aab", "aac"], "aab"),
    ],
)
def test_the_nearest_word_is_meant(word: str, known: list[str], meant: str) -> None:
    assert nearest(word, known) == meant


@pytest.mark.parametrize("word", ["", "zed", "olga", "r"])
def test_where_no_word_is_near_none_is_meant(word: str) -> None:
    assert nearest(word, ["rita", "rene"]) == ""


@pytest.mark.timeout(5)
def test_a_text_that_is_no_word_is_not_compared_with_any() -> None:
    assert nearest("rita" * 1_000_000, ["rita", "rene"]) == ""


@pytest.mark.parametrize(
    ("one", "other", "degree"),
    [
        ("", "", 1.0),
        ("rita", "rita", 1.0),
        ("rita", "irta", 1 - 1 / 8),  # swapped
        ("rita", "ria", 1 - 1 / 7),  # left out
        ("rita", "rixa", 1 - 2 / 8),  # another letter
        ("rita", "", 0.0),
    ],
)
def test_words_are_as_like_as_what_they_share(one: str, other: str, degree: float) -> None:
    assert likeness(one, other) == pytest.approx(degree)
    assert likeness(other, one) == pytest.approx(degree)
