"""Reads what a program sent, and makes it fit for any database."""

import json
from typing import Any, cast

from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict
from ninja.parser import Parser

from runs.domain.values.plain_json import storable


class BodyParser(Parser):
    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        return cast("dict[str, Any]", body_of(request))

    def parse_querydict(
        self, data: MultiValueDict[str, str], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        values = super().parse_querydict(data, list_fields, request)
        # PostgreSQL fails on a NUL instead of finding nothing.
        return {
            key: value.replace("\0", "\N{REPLACEMENT CHARACTER}")
            if isinstance(value, str)
            else value
            for key, value in values.items()
        }


def body_of(request: HttpRequest) -> object:
    """The body as plain JSON; none at all counts as an empty object.

    Whatever it raises for a body that is no JSON, ninja makes one refusal of.
    """
    return storable(json.loads(request.body)) if request.body.strip() else {}
