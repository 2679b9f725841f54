"""As much of GitHub's `gh` as workflows use, on the fake GitHub that FAKE_GITHUB names."""

import argparse
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any


def main() -> int:
    match sys.argv[1:]:
        case ["auth", "token"]:
            print(os.environ["GH_TOKEN"])
        case ["issue", "view", number]:
            issue = call("GET", f"/issues/{number}")
            print(f"title:\t{issue['title']}\n--\n{issue['body']}")
        case ["pr", "view", branch, "--json", "url", "--jq", ".url"]:
            found = call("GET", f"/pulls?head=acme:{branch}")
            if not found:
                print(f'no pull requests found for branch "{branch}"', file=sys.stderr)
                return 1
            print(found[0]["html_url"])
        case ["pr", "create", *words]:
            print(create(words)["html_url"])
        case unknown:
            print(f"unknown command {unknown}", file=sys.stderr)
            return 1
    return 0


def create(words: list[str]) -> Any:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--head", "--title", "--body-file"):
        parser.add_argument(name, required=True)
    asked = parser.parse_args(words)
    body = Path(asked.body_file).read_text()
    sha = git("rev-parse", asked.head)
    made = {"head": asked.head, "title": asked.title, "body": body, "sha": sha}
    return call("POST", "/pulls", made)


def call(method: str, path: str, data: object = None) -> Any:
    repo = git("config", "remote.origin.url").removesuffix(".git").split("github.com/")[1]
    request = urllib.request.Request(  # noqa: S310  a test's own server
        f"{os.environ['FAKE_GITHUB']}/repos/{repo}{path}",
        json.dumps(data).encode() if data else None,
        {"Authorization": f"Bearer {os.environ['GH_TOKEN']}"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return json.load(answer)


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
