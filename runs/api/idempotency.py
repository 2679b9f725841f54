"""Gives a program that asks twice with one key the first answer again."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone
from ninja import Status

from runs.api.auth import ApiRequest
from runs.api.reading import body_of
from runs.domain.values.errors import Invalid, Problem, Refused
from runs.models import AccessToken, IdempotencyKey

Json = dict[str, object]
Work = Callable[[], tuple[int, Json]]

LONGEST = 200
KEPT = timedelta(days=7)
# Until then an unfinished call is taken to be under way, afterwards to have died.
UNDER_WAY = timedelta(minutes=1)


class OtherBody(Refused):
    """This Idempotency-Key was used for another call; use a new one for each."""

    code = "idempotency_conflict"


class UnderWay(Refused):
    """A call with this Idempotency-Key is under way; ask again for its result."""

    code = "in_progress"


class Unfinished(Refused):
    """A call with this Idempotency-Key never ended; see what it did, then use a new key."""

    code = "unknown_outcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    token: AccessToken
    value: str
    asked: str


def key_of(request: ApiRequest) -> Key | None:
    value = request.headers.get("Idempotency-Key", "").strip()
    if not value:
        return None
    if len(value) > LONGEST or "\0" in value:
        raise Invalid([Problem("Idempotency-Key", f"has more than {LONGEST} characters")])
    canonical = json.dumps(body_of(request), sort_keys=True, separators=(",", ":"))
    asked = f"{request.method} {request.path} {canonical}"
    return Key(
        token=request.auth.token, value=value, asked=hashlib.sha256(asked.encode()).hexdigest()
    )


def once_in_transaction(request: ApiRequest, work: Work) -> Status[Json]:
    """The work and the record of its answer commit together: whatever dies, it is done once."""
    key = key_of(request)
    if key is None:
        return Status(*work())
    # Whoever comes second waits in the database for the first, then finds its answer.
    try:
        with transaction.atomic():
            row = _claim(key)
            status, answer = work()
            _keep(row, status, answer)
    except _TakenError:
        return _first_answer(key)
    return Status(status, answer)


def once(request: ApiRequest, work: Work) -> Status[Json]:
    """For work that must not be inside a transaction: never done twice, even when it died."""
    key = key_of(request)
    if key is None:
        return Status(*work())
    try:
        with transaction.atomic():
            row = _claim(key)
    except _TakenError:
        return _first_answer(key)
    try:
        status, answer = work()
    except Exception:
        row.delete()  # refused: nothing was done, so the key is free again
        raise
    _keep(row, status, answer)
    return Status(status, answer)


class _TakenError(Exception):
    pass


def _claim(key: Key) -> IdempotencyKey:
    IdempotencyKey.objects.filter(token=key.token, created_at__lt=timezone.now() - KEPT).delete()
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(token=key.token, key=key.value, asked=key.asked)
    except IntegrityError:
        raise _TakenError from None


def _keep(row: IdempotencyKey, status: int, answer: Json) -> None:
    row.status, row.answer = status, answer
    row.save(update_fields=["status", "answer"])


def _first_answer(key: Key) -> Status[Json]:
    first = IdempotencyKey.objects.filter(token=key.token, key=key.value).first()
    if first is None:  # it was refused in this moment
        raise UnderWay(retry_after=1)
    if first.asked != key.asked:
        raise OtherBody
    if first.status is None:
        if timezone.now() - first.created_at > UNDER_WAY:
            raise Unfinished
        raise UnderWay(retry_after=1)
    return Status(first.status, first.answer or {})
