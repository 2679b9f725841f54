"""Runs a command for a step: in its workspace, with its briefing, without the site's secrets."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from runs.domain.responses.results import Result, ResultStatus, failure
from runs.executors import process
from runs.executors.briefing_files import briefing_file
from runs.executors.orders import Order, Outcome, Rules, Watcher, ended_early
from runs.executors.output import Printed, last_lines
from runs.executors.process import Finished
from runs.isolation import inherited, sheltering
from runs.isolation.door import Door, beside
from runs.isolation.ways import Unavailable

TAIL_LINES = 40


def launch(
    argv: Sequence[str],
    *,
    order: Order,
    rules: Rules,
    watcher: Watcher,
    feed: bytes,
    read: Callable[[Finished], Result],
) -> Outcome:
    """Execute argv and have what it printed read; what went wrong around it counts first."""
    with briefing_file(as_json(order.briefing)) as path:
        try:
            shelter = _shelter(order, rules, path)
        except Unavailable as error:
            return Outcome(result=_not_isolated(error))
        with _door(order, rules, path) if shelter else nullcontext() as door:
            finished = process.run(
                argv,
                cwd=order.workspace,
                environment={**_environment(order, rules), "FABER_BRIEFING": str(path)},
                feed=feed,
                timeout=order.timeout,
                watcher=watcher,
                conceal=rules.conceal,
                shelter=shelter,
                door=door,
            )
    return Outcome(
        result=_with_evidence(_went_wrong(finished, order) or read(finished), finished),
        stdout=finished.stdout.text,
        stderr=finished.stderr.text,
        exit_code=finished.exit_code,
        ended=finished.ended,
    )


def as_json(briefing: Mapping[str, object]) -> bytes:
    return json.dumps(briefing, ensure_ascii=False).encode(errors="replace")


def doubted(result: Result, exit_code: int | None) -> Result:
    """The worst case of what a step said and how it ended."""
    if exit_code == 0 or result.status is ResultStatus.FAILURE:
        return result
    sentence = f"The step reported {result.status} but exited with code {exit_code}."
    return replace(
        result,
        status=ResultStatus.FAILURE,
        message=sentence,
        errors=(*result.errors, f"{sentence} Its message: {result.message}"),
    )


def _shelter(order: Order, rules: Rules, briefing: Path) -> tuple[str, ...]:
    return sheltering.prefix(
        rules.isolation,
        folder=order.workspace,
        kept=order.kept,
        reads_only=order.reads_only,
        door=beside(briefing) if rules.isolation.door else None,
    )


def _door(order: Order, rules: Rules, briefing: Path) -> AbstractContextManager[Door | None]:
    if not rules.isolation.door:
        return nullcontext()
    return Door(beside(briefing), rules.isolation.door, order.environment)


def _not_isolated(error: Unavailable) -> Result:
    return failure(
        f"This site requires step isolation, which is not available here: {error}.",
        suggested_fixes=[sheltering.REPAIR],
    )


def _environment(order: Order, rules: Rules) -> dict[str, str]:
    kept = {
        name: value
        for name, value in inherited.environment().items()
        if not any(fnmatchcase(name, secret) for secret in rules.secrets)
    }
    return {**kept, **order.environment}


def _went_wrong(finished: Finished, order: Order) -> Result | None:
    if finished.problem:
        return failure(finished.problem)
    return ended_early(finished.ended, order) if finished.ended else None


def _with_evidence(result: Result, finished: Finished) -> Result:
    notes = (*result.notes, *_notes("standard output", finished.stdout))
    notes = (*notes, *_notes("standard error", finished.stderr))
    if result.status is not ResultStatus.FAILURE:
        return replace(result, notes=notes)
    errors = last_lines(finished.stderr.text, TAIL_LINES // 2)
    output = last_lines(finished.stdout.text, TAIL_LINES - len(errors))
    evidence = {"output_tail": "\n".join(output + errors), "exit_code": finished.exit_code}
    return replace(result, notes=notes, details={**result.details, **evidence})


def _notes(name: str, printed: Printed) -> Iterator[str]:
    if printed.unreadable:
        yield f"The {name} contained bytes that are not UTF-8; {printed.unreadable} were replaced."
    if printed.left_out:
        yield f"The {name} was too long; {printed.left_out} bytes were omitted."
