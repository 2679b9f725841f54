"""A page that several ask for at once is made for the first of them."""

import threading
from types import SimpleNamespace
from typing import Any

from django.http import HttpResponse
from django.test import RequestFactory

from runs.pages import kept
from tests import factories as f


def asking(address: str) -> Any:
    request: Any = RequestFactory().get(address)
    request.user = SimpleNamespace(is_staff=False)
    request.htmx, request.visitor = None, f.person("Rita")
    return request


def test_whoever_asks_while_a_page_is_made_waits_for_it() -> None:
    begun, both, made = threading.Event(), threading.Event(), []

    def make() -> HttpResponse:
        made.append(threading.current_thread().name)
        begun.set()
        assert both.wait(10)
        return HttpResponse('<input name="csrfmiddlewaretoken" value="first">')

    answers: list[bytes] = []

    def ask() -> None:
        answers.append(kept.page(asking("/at-once"), "the same facts", make).content)

    def ask_second() -> None:
        both.set()
        ask()

    first, second = threading.Thread(target=ask), threading.Thread(target=ask_second)
    first.start()
    assert begun.wait(10)
    second.start()
    first.join(10)
    second.join(10)

    assert len(made) == 1
    assert len(set(answers)) == 2, "each has a token of its own"
