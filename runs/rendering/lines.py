"""Source lines and addresses on elements, so that a document cannot forge them."""

from dataclasses import dataclass, field
from secrets import token_hex


@dataclass(frozen=True, slots=True)
class LineStamp:
    """Signs what is ours with a word that no document can know; the sanitiser takes it off."""

    shift: int = 0  # from a line of the text that is rendered to one of the file it shows
    word: str = field(default_factory=lambda: token_hex(8))

    def attributes(self, first: int, last: int) -> dict[str, str]:
        return {
            "data-line": self.signed(first + self.shift),
            "data-end": self.signed(last + self.shift),
        }

    def signed(self, value: int | str) -> str:
        return f"{self.word}-{value}"

    def html(self, first: int, last: int) -> str:
        pairs = self.attributes(first, last).items()
        return "".join(f' {name}="{value}"' for name, value in pairs)

    def read(self, value: str) -> str | None:
        word, _, signed = value.partition("-")
        return signed if word == self.word else None
