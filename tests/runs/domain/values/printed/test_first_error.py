import pytest

from runs.domain.values.printed.first_error import MOST_LINES, error_in, first_error

PRINTED = {
    "pytest": """collected 2 items
____ test_total ____
    def test_total():
>       assert total([]) == 1
E       assert 0 == 1
E        +  where 0 = total([])

test_invoices.py:12: AssertionError
E       assert False
""",
    "Python": """Loading error: 3 of 4 (tried again)
Traceback (most recent call last):
  File "/w/run.py", line 4, in <module>
    main()
ValueError: no amount
done
""",
    "npm": "> build\n> tsc\n\nnpm ERR! code ELIFECYCLE\nnpm ERR! errno 2\nbye\n",
    "cargo": """   Compiling shop v0.1.0
error[E0425]: cannot find value `till` in this scope
 --> src/main.rs:2:5
  |
2 |     till

error: could not compile `shop`
""",
    "go": "# shop\n./till.go:7:2: undefined: amount\nFAIL shop [build failed]\n",
    "gcc": """cc -c till.c
till.c: In function 'main':
till.c:3:5: error: 'amount' undeclared
    3 |     amount = 1;
      |     ^~~~~~
make: *** [Makefile:2: till.o] Error 1
""",
    "make": "echo hi\nhi\nmake[1]: *** No rule to make target 'till'.  Stop.\n",
    "": "connecting\nerror: the till is closed\n",
}
FOUND = {
    "pytest": (5, "E       assert 0 == 1\nE        +  where 0 = total([])"),
    "Python": (
        2,
        'Traceback (most recent call last):\n  File "/w/run.py", line 4, in <module>\n'
        "    main()\nValueError: no amount",
    ),
    "npm": (4, "npm ERR! code ELIFECYCLE\nnpm ERR! errno 2"),
    "cargo": (
        2,
        "error[E0425]: cannot find value `till` in this scope\n --> src/main.rs:2:5\n"
        "  |\n2 |     till",
    ),
    "go": (2, "./till.go:7:2: undefined: amount"),
    "gcc": (
        3,
        "till.c:3:5: error: 'amount' undeclared\n    3 |     amount = 1;\n      |     ^~~~~~",
    ),
    "make": (3, "make[1]: *** No rule to make target 'till'.  Stop."),
    "": (2, "error: the till is closed"),
}


@pytest.mark.parametrize("tool", PRINTED)
def test_the_first_error_of_each_tool_is_found(tool: str) -> None:
    found = first_error(PRINTED[tool])

    assert found is not None
    assert (found.tool, found.line, found.text) == (tool, *FOUND[tool])
    assert found.last_line == found.line + found.text.count("\n")


@pytest.mark.parametrize("text", ["", "all 12 tests pass\n0 errors, 0 failed\n", "mirror: done"])
def test_where_nothing_went_wrong_nothing_is_found(text: str) -> None:
    assert first_error(text) is None


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ("FAILED tests/test_till.py::test_total - assert 0 == 1", "pytest"),
        ("ERROR tests/test_till.py - no module", "pytest"),
        ("FAILED: the till is closed", ""),
        ("FAIL src/till.test.js", ""),
    ],
)
def test_a_line_that_names_what_failed_is_an_error(line: str, tool: str) -> None:
    found = first_error(f"collected 4 items\n{line}\nbye\n")

    assert found is not None
    assert (found.tool, found.line, found.text) == (tool, 2, line)


def test_of_two_streams_the_one_whose_tool_is_known_tells_the_error() -> None:
    printed = {"stdout": "error: tried again\n", "stderr": "ok\n\x1b[31mpanic: no amount\x1b[0m\n"}
    found = error_in(printed)

    assert found is not None
    assert (found.where, found.error.text) == ("standard error, line 2", "panic: no amount")
    assert error_in({"stdout": "", "stderr": "fine"}) is None


def test_of_a_long_traceback_the_end_is_kept() -> None:
    frames = '  File "x.py", line 1, in x\n    x()\n' * 50
    found = first_error(f"Traceback (most recent call last):\n{frames}RecursionError: too deep\n")

    assert found is not None
    assert found.text.endswith("RecursionError: too deep")
    assert found.text.count("\n") == MOST_LINES - 1
