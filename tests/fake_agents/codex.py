"""`codex exec` with the events that its documentation lists."""

import argparse
import json
import sys
import uuid

from tests.fake_agents.memory import keep, next_answer, refuse, sessions, turns_in


def main() -> int:
    asked = arguments()
    if asked.prompt != "-":
        return refuse("this stand-in reads its prompt from standard input")
    prompt = sys.stdin.read()
    known = sessions()
    if asked.session and asked.session not in known:
        told = f"thread/resume failed: no rollout found for thread id {asked.session}"
        return refuse(f"Error: thread/resume: {told} (code -32600)")
    thread = asked.session or str(uuid.uuid4())
    keep(thread, prompt)
    return answer(thread, next_answer())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    # As a group of commands would take them: its own flags stand before `resume`.
    parser.add_argument("command", choices=["exec"])
    parser.add_argument("--json", action="store_true", required=True)
    parser.add_argument("--sandbox", choices=["read-only", "workspace-write"])
    parser.add_argument("--model")
    parser.add_argument("-c", "--config", action="append")
    parser.add_argument("--dangerously-bypass-approvals-and-sandbox", action="store_true")
    parser.add_argument("--skip-git-repo-check", action="store_true")
    words = sys.argv[1:]
    at = words.index("resume") if "resume" in words else len(words) - 1
    asked = parser.parse_args(words[:at])
    *resume, asked.prompt = words[at:]
    asked.session = resume[1] if resume else ""
    if len(resume) > 2:
        parser.error(f"unexpected argument {resume[2]}")
    return asked


def answer(thread: str, said: object) -> int:
    tell({"type": "thread.started", "thread_id": thread})
    tell({"type": "turn.started"})
    if isinstance(said, dict) and "events" in said:
        for event in said["events"]:
            tell(event)
        return 1
    words = said if isinstance(said, str) else f"Here it is.\n{json.dumps(said)}"
    thought = '**Looking** {"status": "failure"}'
    items = [
        {"id": "item_0", "type": "reasoning", "text": thought},
        {"id": "item_1", "type": "agent_message", "text": "I begin."},
        {"id": "item_2", "type": "agent_message", "text": words},
    ]
    for item in items:
        tell({"type": "item.completed", "item": item})
    usage = {"input_tokens": 24763, "cached_input_tokens": 24448, "output_tokens": 122}
    of_thread = {name: turns_in(thread) * tokens for name, tokens in usage.items()}
    tell({"type": "turn.completed", "usage": of_thread})
    return 0


def tell(event: object) -> None:
    print(json.dumps(event))


if __name__ == "__main__":
    sys.exit(main())
