"""What a command prints is shown without secrets, however its output is cut."""

import pytest

from runs.domain.values.secrets.redaction import REDACTED
from runs.executors.output import HEAD, LINE, TAIL, Capture, Lines
from tests.sample_secrets import PRIVATE_KEY, TOKENS, tail

TOKEN = TOKENS["GitHub ghp"]


def shown(*chunks: str, most: int = 10_000) -> list[str]:
    seen: list[str] = []
    left = iter([True] * most)
    lines = Lines(seen.append, lambda: next(left, False))
    for chunk in chunks:
        lines.feed(chunk.encode())
    lines.finish()
    return seen


@pytest.mark.parametrize("at", [1, 3, 5, 20, len(TOKEN) - 1])
def test_a_token_in_two_chunks_is_not_shown(at: int) -> None:
    assert shown(f"using {TOKEN[:at]}", f"{TOKEN[at:]} now\n") == [f"using {REDACTED} now"]


def test_the_lines_of_a_private_key_are_not_shown() -> None:
    seen = shown(*(f"{line}\n" for line in f"before\n{PRIVATE_KEY}\nafter".splitlines()))

    assert seen[0] == "before"
    assert seen[-1] == "after"
    assert not any(line in "".join(seen) for line in PRIVATE_KEY.splitlines())


def test_a_key_that_begins_in_a_flood_is_not_shown_behind_it() -> None:
    head, _, rest = PRIVATE_KEY.partition("\n")
    seen: list[str] = []
    may = [False, True]
    lines = Lines(seen.append, lambda: may[0])
    lines.feed(f"flood\n{head}\n".encode())
    may[0] = True
    lines.feed(f"{rest}\nafter\n".encode())

    assert seen[-1] == "after"
    assert not any(line in "".join(seen) for line in rest.splitlines())


@pytest.mark.parametrize("before", [LINE - 10, LINE - 1, 4 * LINE - 20, 4 * LINE])
def test_a_line_that_is_cut_ends_in_no_half_of_a_token(before: int) -> None:
    (line,) = shown("word " * (before // 5) + f"{TOKEN} " + "word " * LINE + "\n")

    assert "ghp" not in line
    assert line.endswith("…")
    assert len(line) == LINE + 1


def test_tokens_that_are_taken_out_show_no_half_of_the_one_at_the_cut() -> None:
    # So many of them that what was behind the cut moves into what is shown.
    (line,) = shown(" ".join([TOKEN] * (4 * LINE // len(TOKEN) + 9)) + "\n")

    assert line.startswith(f"{REDACTED} {REDACTED} ")
    assert "ghp" not in line
    assert not any(TOKEN[at : at + 6] in line for at in range(len(TOKEN) - 6))


@pytest.mark.parametrize("shift", range(0, len(TOKEN), 7))
def test_what_is_left_out_of_a_long_output_leaves_no_half_of_a_token(shift: int) -> None:
    capture = Capture()
    capture.feed(b"x\n" * ((HEAD - shift) // 2) + b"y" * (shift % 2) + f" {TOKEN} ".encode())
    capture.feed(b"z\n" * (TAIL // 2 - 40 + shift))
    capture.feed(b"w\n" * TAIL)

    text = capture.printed().text

    assert "left out" in text
    assert not any(TOKEN[at : at + 6] in text for at in range(len(TOKEN) - 6))


def test_the_last_part_of_a_long_output_begins_with_a_whole_word() -> None:
    capture = Capture()
    capture.feed(b"x\n" * HEAD)
    capture.feed(f" {TOKEN} ".encode() + b"z\n" * ((TAIL - 12) // 2))

    text = capture.printed().text

    assert TOKEN[-10:] not in text


def test_a_blob_without_an_end_is_kept_as_far_as_it_goes() -> None:
    capture = Capture()
    capture.feed(tail(2_000).encode() * ((HEAD + TAIL) // 2_000 + 100))

    assert len(capture.printed().text) > HEAD + TAIL - 100
