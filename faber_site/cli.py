"""The `faber` console script: what an agent waits for starts without Django, all else with it."""

import sys

DISTRIBUTION = "faber-review"


def main() -> int:
    match sys.argv[1:]:
        case ["version" | "--version", *_]:
            from importlib.metadata import version  # noqa: PLC0415

            sys.stdout.write(f"faber {version(DISTRIBUTION)}\n")
            return 0
        case ["mcp", *words] if not {"-h", "--help", "--json"} & {*words}:
            from feedback.mcp import front  # noqa: PLC0415

            front.serve(words)
        case ["hook", ("claude" | "codex") as agent, *words] if not {"-h", "--help"} & {*words}:
            from faber_site.hook import claude  # noqa: PLC0415

            return claude.main(words, agent=agent)
    from faber_site import commands  # noqa: PLC0415  Django takes most of a second

    return commands.main()


if __name__ == "__main__":
    sys.exit(main())
