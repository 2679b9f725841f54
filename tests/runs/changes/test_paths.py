"""Files that a plan did not mean to touch are told by the globs its author wrote."""

import pytest

from runs.changes.paths import outside


@pytest.mark.parametrize(
    ("globs", "path", "is_outside"),
    [
        ((), "anything.py", False),
        (("src",), "src/deep/file.py", False),
        (("src/",), "srcs/file.py", True),
        (("src/*.py",), "src/file.py", False),
        (("src/*.py",), "src/deep/file.py", True),
        (("src/**/*.py",), "src/file.py", False),
        (("src/**/*.py",), "src/a/b/file.py", False),
        (("src/**",), "src/a/b.txt", False),
        (("**/test_?.py",), "a/test_1.py", False),
        (("**/test_?.py",), "a/test_12.py", True),
        (("a+b.py", "docs"), "docs/x.md", False),
        (("a+b.py",), "aab.py", True),
    ],
)
def test_a_path_is_outside_when_no_glob_takes_it_in(
    globs: tuple[str, ...], path: str, is_outside: bool
) -> None:
    assert (list(outside(globs, [path])) == [path]) is is_outside
