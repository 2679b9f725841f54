"""Claude Code as `claude --help` and the documented result message describe it."""

import argparse
import json
import sys
import uuid
from pathlib import Path

from tests.fake_agents.memory import keep, next_answer, refuse, sessions, tells_totals, turns_in


def main() -> int:
    asked = arguments()
    prompt = sys.stdin.read()
    known = sessions()
    if asked.session_id and asked.resume:
        return refuse("Error: --session-id cannot be used with --continue or --resume.")
    if asked.session_id in known:
        return refuse(f"Error: Session ID {asked.session_id} is already in use.")
    if asked.resume and asked.resume not in known:
        message = f"No conversation found with session ID: {asked.resume}"
        finish(asked, asked.resume, {**failed("error_during_execution"), "errors": [message]})
        return refuse(message)
    session = asked.resume or asked.session_id or str(uuid.uuid4())
    keep(session, prompt)
    said = next_answer()
    for path, text in said.pop("writes", {}).items() if isinstance(said, dict) else ():
        write(Path(path), text)
    if isinstance(said, dict) and "envelope" in said:
        finish(asked, session, said["envelope"])
        return 1 if said["envelope"].get("is_error") else 0
    answer(asked, session, said)
    return 0


def write(file: Path, text: str) -> None:
    """What its Write tool does in the folder it was started in."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("-p", "--print", action="store_true", required=True)
    parser.add_argument("--output-format", choices=["text", "json", "stream-json"], default="text")
    parser.add_argument("--session-id", type=lambda text: str(uuid.UUID(text)))
    parser.add_argument("--resume", "-r", type=lambda text: str(uuid.UUID(text)))
    parser.add_argument("--append-system-prompt")
    parser.add_argument("--json-schema", type=json.loads)
    parser.add_argument("--permission-mode", choices=["default", "acceptEdits", "dontAsk", "plan"])
    parser.add_argument("--allowedTools", nargs="+")
    parser.add_argument("--mcp-config", nargs="+")
    parser.add_argument("--strict-mcp-config", action="store_true")
    parser.add_argument("--tools", nargs="+")
    parser.add_argument("--dangerously-skip-permissions", action="store_true")
    parser.add_argument("--permission-prompt-tool")
    parser.add_argument("--model")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def answer(asked: argparse.Namespace, session: str, said: object) -> None:
    words = said if isinstance(said, str) else f"Here it is.\n\n```json\n{json.dumps(said)}\n```"
    structured = isinstance(said, dict) and asked.json_schema is not None
    finish(
        asked,
        session,
        {
            "subtype": "success",
            "is_error": False,
            "result": words,
            **({"structured_output": said} if structured else {}),
        },
    )


def failed(subtype: str) -> dict[str, object]:
    return {"subtype": subtype, "is_error": True}


def finish(asked: argparse.Namespace, session: str, fields: dict[str, object]) -> None:
    if asked.output_format == "text":
        print(fields.get("result", ""))
        return
    if asked.output_format == "stream-json":
        print(json.dumps({"type": "system", "subtype": "init", "session_id": session}))
        print(json.dumps({"type": "assistant", "message": {"content": [{"text": "Working."}]}}))
    turns = turns_in(session) if tells_totals() else 1
    envelope = {
        "type": "result",
        "duration_ms": 1200,
        "duration_api_ms": 1100,
        "num_turns": 3,
        "session_id": session,
        "total_cost_usd": turns * 0.0421,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 200,
            "cache_read_input_tokens": 3000,
            "output_tokens": 45,
        },
        "modelUsage": {
            "a-model": {
                "inputTokens": turns * 10,
                "outputTokens": turns * 45,
                "cacheReadInputTokens": turns * 3000,
                "cacheCreationInputTokens": turns * 200,
                "costUSD": turns * 0.0421,
            }
        },
        "permission_denials": [],
        **fields,
    }
    print(json.dumps(envelope))


if __name__ == "__main__":
    sys.exit(main())
