"""Tables in Markdown, and the sentences that stand below the fields of a class."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"|{'|'.join(_cell(cell) for cell in line)}|\n" for line in lines)


def code(text: object) -> str:
    return f"`{text}`"


def _cell(text: str) -> str:
    escaped = " ".join(text.replace("|", "\\|").split())
    return "---" if text == "---" else f" {escaped} " if escaped else " "


def sentences(cls: type) -> dict[str, str]:
    """What stands below each field; read from the source, so that nothing of it is loaded."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    [body] = [node.body for node in tree.body if isinstance(node, ast.ClassDef)]
    return dict(_documented(body))


def _documented(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, inspect.cleandoc(text)
