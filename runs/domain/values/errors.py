"""The errors people are told about: each is a sentence for the person who can act on it."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input, and where it stands."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class FaberError(Exception):
    """Something went wrong."""

    code = "error"

    def __init__(self, message: str | None = None, **details: object) -> None:
        super().__init__(message or self.__doc__ or "")
        self.details = details


class NotFound(FaberError):
    """Not found."""

    code = "not_found"


class Pruned(NotFound):
    """This was removed because it is old."""

    code = "gone"


class Refused(FaberError):
    """The current state does not allow this."""

    code = "refused"


class OnHold(Refused):
    """This run was imported and is on hold until an operator resumes it."""

    code = "imported"


class NotAllowed(Refused):
    """You don't have permission to do this."""

    code = "not_allowed"


class AlreadyAnswered(Refused):
    """This request is already answered."""

    code = "already_answered"


class Stale(Refused):
    """The content changed since you opened it. Review it again before you answer."""

    code = "stale"


class InvalidAnswer(Refused):
    """That is not one of the options."""

    code = "invalid_response"


class RoundLimit(InvalidAnswer):
    """The workflow's limit of change requests is reached."""

    code = "round_limit"


class NewerDatabase(FaberError):
    """A newer version of FABER upgraded this database."""

    code = "newer_database"


class Invalid(FaberError):
    """The input is not valid."""

    code = "invalid"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
