"""What an executor outside handed in, while a worker has yet to look for its evidence."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs.domain.responses import results
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.workflow.plan import Unit
from runs.engine.files import artifacts
from runs.engine.files.artifacts import FoundFile

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedIn:
    response: Json
    files: tuple[FoundFile, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(file.path for file in self.files)

    def result_of(self, step: str) -> Result:
        return results.read_response(self.response, step=step)

    def lacking(self, unit: Unit, result: Result) -> tuple[FoundFile, ...]:
        """Files of a finished step that were not sent: nobody looks for them on this machine."""
        if result.status not in (ResultStatus.SUCCESS, ResultStatus.WARNING):
            return ()
        wanted = artifacts.wanted_of(unit, result)
        return tuple(
            artifacts.not_sent(path) for path in wanted if path.lstrip("/") not in self.paths
        )

    def dump(self) -> Json:
        kept = [
            {"path": file.path, "content": b64encode(file.content or b"").decode()}
            for file in self.files
        ]
        return {"response": self.response, "files": kept}

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> "HandedIn":
        files = tuple(
            FoundFile(path=file["path"], content=b64decode(file["content"]))
            for file in kept["files"]
        )
        return cls(response=kept["response"], files=files)
