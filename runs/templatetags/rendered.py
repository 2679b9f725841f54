"""Parts of pages that are rendered once, and again when what they show has changed."""

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable

from django import template
from django.template import Context, Node, NodeList
from django.template.base import FilterExpression, Parser, Token
from django.utils.safestring import SafeString

MOST = 2_000
SECONDS = 15  # as old as what changes by itself may be: how long ago something was

register = template.Library()

_parts: OrderedDict[Hashable, SafeString] = OrderedDict()
_book = threading.Lock()


class RenderedOnce(Node):
    def __init__(self, body: NodeList, keys: list[FilterExpression]) -> None:
        self._body = body
        self._keys = keys

    def render(self, context: Context) -> SafeString:
        now = int(time.time() // SECONDS)
        key = (self, now, *(each.resolve(context) for each in self._keys))
        with _book:
            if found := _parts.get(key):
                _parts.move_to_end(key)
                return found
        made = self._body.render(context)
        with _book:
            _parts[key] = made
            while len(_parts) > MOST:
                _parts.popitem(last=False)
        return made


@register.tag
def rendered_once(parser: Parser, token: Token) -> RenderedOnce:
    """`{% rendered_once KEY… %}`: the keys are all that the part is made from."""
    _, *names = token.split_contents()
    body = parser.parse(("endrendered_once",))
    parser.delete_first_token()
    return RenderedOnce(body, [parser.compile_filter(name) for name in names])
