"""Executes `run` steps: a command that reads its briefing and prints a response, or just ends."""

from collections.abc import Sequence
from functools import partial

from runs.domain.responses.results import (
    Result,
    ResultStatus,
    failure,
    kept_message,
    read_response,
)
from runs.executors.launching import as_json, doubted, launch
from runs.executors.orders import Order, Outcome, Rules, Watcher
from runs.executors.output import last_lines
from runs.executors.printed_response import last_json_object
from runs.executors.process import Finished

ERROR_LINES = 20


def run_command(order: Order, rules: Rules, watcher: Watcher) -> Outcome:
    try:
        argv = _argv(order)
    except ValueError as error:
        return Outcome(result=failure(f"The step's command is not valid: {error}."))
    return launch(
        argv,
        order=order,
        rules=rules,
        watcher=watcher,
        feed=as_json(order.briefing),
        read=partial(_read, order),
    )


def ends_well(argv: Sequence[str], *, order: Order, rules: Rules, watcher: Watcher) -> Outcome:
    """Run a command beside the step, with the same guards; only its exit code counts."""
    return launch(
        argv,
        order=order,
        rules=rules,
        watcher=watcher,
        feed=as_json(order.briefing),
        read=lambda finished: (
            _succeeded(order, finished) if finished.exit_code == 0 else _failed(finished)
        ),
    )


def _argv(order: Order) -> list[str]:
    argv = list(order.step.argv)
    if not argv or not argv[0]:
        raise ValueError("it has no program")
    return argv


def _read(order: Order, finished: Finished) -> Result:
    response = last_json_object(finished.stdout.text)
    if response is not None:
        return doubted(read_response(response, step=order.key), finished.exit_code)
    if finished.exit_code == 0:
        return _succeeded(order, finished)
    return _failed(finished)


def _succeeded(order: Order, finished: Finished) -> Result:
    last = _last_line(finished.stdout.text) or _last_line(finished.stderr.text)
    told = last or f"{order.step.title} finished without output."
    return Result(status=ResultStatus.SUCCESS, message=kept_message(told))


def _last_line(printed: str) -> str:
    return printed.rstrip().rpartition("\n")[2].strip()


def _failed(finished: Finished) -> Result:
    printed = finished.stderr.text if finished.stderr.text.strip() else finished.stdout.text
    message = f"The command failed with exit code {finished.exit_code}."
    tail = "\n".join(last_lines(printed, ERROR_LINES, characters=4_000))
    return failure(message, errors=[tail or f"{message} It printed nothing."])
