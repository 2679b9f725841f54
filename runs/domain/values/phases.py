"""The five phases, in the order every workflow follows."""

from enum import StrEnum


class Phase(StrEnum):
    FRAME = "frame"
    ARCHITECT = "architect"
    BUILD = "build"
    EVALUATE = "evaluate"
    RELEASE = "release"

    @property
    def title(self) -> str:  # type: ignore[override]
        return self.value.capitalize()
