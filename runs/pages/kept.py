"""Pages as they were rendered, for whoever asks again before anything on them changed.

A page is found again by everything that it shows: rendering takes ten times as long as asking for
that. What changes by itself, how long ago something was, is as old as a page may be kept.
"""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from django.http import HttpResponse
from django.middleware.csrf import get_token

from runs.pages.http import PageRequest, fresh, visitor

MOST = 100
SECONDS = 15

_TOKEN = re.compile(rb'(?<=name="csrfmiddlewaretoken" value=")[^"]+')
_pages: OrderedDict[Hashable, list[bytes]] = OrderedDict()
_book = threading.Lock()  # while pages are looked up and put away
# While a page is made: whoever asks for the same one at that moment waits for it.
_desks = [threading.Lock() for _ in range(16)]


def page(
    request: PageRequest, facts: Hashable | None, make: Callable[[], HttpResponse]
) -> HttpResponse:
    """`facts` are all that the page is made from; None for a page that is always made anew."""
    if facts is None:
        return make()
    key = (*_about(request), facts)
    if kept := _found(key):
        return _again(request, kept)
    with _desks[hash(key) % len(_desks)]:
        if kept := _found(key):
            return _again(request, kept)
        response = make()
        if response.status_code == 200:
            _keep(key, _TOKEN.split(response.content))
    return response


def _again(request: PageRequest, kept: list[bytes]) -> HttpResponse:
    return fresh(HttpResponse(get_token(request).encode().join(kept)))


def _about(request: PageRequest) -> tuple[Hashable, ...]:
    """Who asks, where, and how they want it to look."""
    looks = (request.COOKIES.get("theme"), request.COOKIES.get("width"))
    place = (request.get_full_path(), bool(request.htmx), request.is_secure())
    return (visitor(request), request.user.is_staff, *looks, *place, int(time.time() // SECONDS))


def _found(key: Hashable) -> list[bytes] | None:
    with _book:
        if key in _pages:
            _pages.move_to_end(key)
        return _pages.get(key)


def _keep(key: Hashable, parts: list[bytes]) -> None:
    with _book:
        _pages[key] = parts
        while len(_pages) > MOST:
            _pages.popitem(last=False)
