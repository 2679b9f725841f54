"""Source lines on elements, so that a document cannot forge them."""

from dataclasses import dataclass, field
from secrets import token_hex


@dataclass(frozen=True, slots=True)
class LineStamp:
    """Signs line numbers with a word that no document can know; the sanitiser takes it off."""

    shift: int = 0  # from a line of the text that is rendered to one of the file it shows
    word: str = field(default_factory=lambda: token_hex(8))

    def attributes(self, first: int, last: int) -> dict[str, str]:
        return {
            "data-line": f"{self.word}-{first + self.shift}",
            "data-end": f"{self.word}-{last + self.shift}",
        }

    def html(self, first: int, last: int) -> str:
        pairs = self.attributes(first, last).items()
        return "".join(f' {name}="{value}"' for name, value in pairs)

    def read(self, value: str) -> str | None:
        word, _, number = value.partition("-")
        return number if word == self.word else None
