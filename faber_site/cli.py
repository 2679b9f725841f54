"""The `faber` console script: what somebody waits for starts without Django, all else with it."""

import sys

from faber_site.command_socket import agreement

DISTRIBUTION = "faber-review"


def main() -> int:
    try:
        return _called()
    except KeyboardInterrupt:  # while the rest is still being loaded
        return 130


def _called() -> int:
    match sys.argv[1:]:
        case [] | ["help" | "--help" | "-h"]:
            from faber_site import overview  # noqa: PLC0415

            sys.stdout.write(overview.text())
            return 0
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
        case words if agreement.takes(words):
            from faber_site.command_socket import client  # noqa: PLC0415

            if (code := client.call(sys.argv)) is not None:
                return code
    from faber_site.runtime import memory  # noqa: PLC0415

    memory.look_at_nothing()  # else a third of the time goes into looking at what was just loaded
    from faber_site import commands  # noqa: PLC0415  Django takes most of a second

    try:
        return commands.main()
    finally:
        memory.leave_as_it_is()


if __name__ == "__main__":
    sys.exit(main())
