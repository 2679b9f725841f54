"""The process that serves the site: gunicorn, which ends with whoever started it."""

import sys

from gunicorn.app.wsgiapp import run  # type: ignore[import-untyped]

from faber_site.runtime import processes


def main() -> None:
    processes.end_with(int(sys.argv.pop(1)))
    run(prog="faber web")


if __name__ == "__main__":
    main()
