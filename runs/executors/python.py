"""Executes `python` steps: a function of a module that the site allows, called in this process."""

import contextvars
import ctypes
import importlib
import threading
import time
import traceback
from collections.abc import Callable
from types import ModuleType

from runs.domain.responses.results import failure, read_response
from runs.executors.orders import Order, Outcome, Rules, Watcher, ended_early
from runs.executors.output import last_lines
from runs.executors.process import POLL
from runs.isolation import file_modes

TRACEBACK_LINES = 40

_Function = Callable[[dict[str, object]], object]


def call_function(order: Order, rules: Rules, watcher: Watcher) -> Outcome:
    reference = order.step.python or ""
    module = reference.partition(":")[0]
    if not _is_allowed(module, rules):
        advice = f"To allow it, add {module} to FABER_PYTHON_STEPS."
        refusal = f"The module {module} is not allowed for steps."
        return Outcome(result=failure(refusal, suggested_fixes=[advice]))
    call = _Call(reference, dict(order.briefing))
    with file_modes.as_usual():
        ended = call.watched(watcher, order.timeout)
    if ended:
        return Outcome(result=ended_early(ended, order), ended=ended)
    if call.error:
        return _raised(call.error)
    return Outcome(result=read_response(call.response, step=order.key))


def _is_allowed(module: str, rules: Rules) -> bool:
    return any(
        module == prefix or module.startswith(f"{prefix}.") for prefix in rules.python_prefixes
    )


class _Call:
    """A function at work in a thread of its own, so that the watcher is asked meanwhile."""

    def __init__(self, reference: str, briefing: dict[str, object]) -> None:
        self.response: object = None
        self.error: BaseException | None = None
        self._was_over = False
        self._reference = reference
        self._briefing = briefing
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=[self._work], name=reference, daemon=True
        )

    def watched(self, watcher: Watcher, timeout: float) -> str:
        """Why the function was given up; empty when it came back."""
        until = time.monotonic() + timeout
        self._thread.start()
        while self._thread.is_alive():
            if watcher.should_stop() or self._is_held_no_longer(watcher):
                return self._give_up("stopped")
            if time.monotonic() >= until:
                return self._give_up("timeout")
            self._thread.join(max(0.0, min(POLL, until - time.monotonic())))
        return ""

    def _is_held_no_longer(self, watcher: Watcher) -> bool:
        """Seen twice: after a machine was stopped, whoever holds the step needs a moment too."""
        held = watcher.hold()
        is_over = bool(held and time.monotonic() >= held.until)  # it cannot be made to stand still
        was_over, self._was_over = self._was_over, is_over
        return is_over and was_over

    def _work(self) -> None:
        try:
            self.response = _function(self._reference)(self._briefing)
        except BaseException as error:  # noqa: BLE001 - whatever it raises is the step's result
            self.error = error

    def _give_up(self, reason: str) -> str:
        # A thread cannot be killed; this ends it as soon as it executes Python again.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(SystemExit)
        )
        return reason


def _function(reference: str) -> _Function:
    module, _, path = reference.partition(":")
    found: object = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
        # The way through an imported module would lead out of what the site allows.
        if isinstance(found, ModuleType):
            raise TypeError(f"{reference} refers to the module {found.__name__}")
    if not callable(found):
        raise TypeError(f"{reference} is not a function")
    return found


def _raised(error: BaseException) -> Outcome:
    said = "".join(traceback.format_exception_only(error)).strip()
    told = "".join(traceback.format_exception(error))
    tail = "\n".join(last_lines(told, TRACEBACK_LINES))
    sentence = f"The step raised {said[:400]}"
    return Outcome(
        result=failure(sentence, errors=[said], details={"output_tail": tail}), stderr=tail
    )
