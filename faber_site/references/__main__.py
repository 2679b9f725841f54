"""Writes every reference into the folder it is given."""

import sys
from pathlib import Path

from faber_site.references.pages import references


def main(folder: Path) -> None:
    for name, text in references().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
