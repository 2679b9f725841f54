"""What an agent prints that tells every message as JSON: prose, calls of tools, files it read."""

import json
import random
from pathlib import Path
from uuid import UUID

ROOT = Path(__file__).parents[1]
_FILES = 60  # some are read again
_LINES = 200


def agent_output(size: int) -> str:
    """The same at every call; at least so many characters."""
    draw = random.Random(7)  # noqa: S311
    files = sorted((ROOT / "runs").rglob("*.py"))[:_FILES]
    prose = (ROOT / "docs" / "architecture.md").read_text().split()
    session = _name(draw)
    lines: list[str] = []
    while sum(map(len, lines)) < size:
        file, call = draw.choice(files), f"toolu_{_name(draw)}"
        text = "\n".join(file.read_text().splitlines()[:_LINES])
        said = {"type": "text", "text": " ".join(draw.choices(prose, k=40))}
        read = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": str(file)}}
        told = {"type": "tool_result", "tool_use_id": call, "content": _numbered(text)}
        result = {"type": "text", "file": {"filePath": str(file), "content": text}}
        lines += [
            _line("assistant", said, session, draw),
            _line("assistant", read, session, draw),
            _line("user", told, session, draw, tool_use_result=result),
        ]
    return "".join(lines)


def _line(role: str, content: object, session: str, draw: random.Random, **more: object) -> str:
    usage = {"input_tokens": draw.randrange(9_999), "output_tokens": draw.randrange(999)}
    message = {"role": role, "content": [content], "usage": usage}
    told = {"type": role, "message": message, "session_id": session, "uuid": _name(draw), **more}
    return json.dumps(told) + "\n"


def _numbered(text: str) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(), 1))


def _name(draw: random.Random) -> str:
    return str(UUID(int=draw.getrandbits(128)))
