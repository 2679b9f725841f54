"""Line comments that were begun and not added yet: part of the draft, one text for each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from feedback.desk import review
from feedback.desk.forms import RemarkChangeForm, RemarkForm
from feedback.models import Draft, FeedbackRequest
from runs.domain.values.errors import FaberError


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """One of them, with the fields of its form as they stand."""

    name: str
    fields: Mapping[str, str]

    def is_at(self, path: str, line: int) -> bool:
        place = (self.fields.get("path"), self.fields.get("line"))
        return "remark" not in self.fields and place == (path, str(line))


def begun_in(draft: Mapping[str, str]) -> list[Begun]:
    return [
        Begun(name=name, fields=_fields(text))
        for name, text in draft.items()
        if name.startswith(review.BEGUN)
    ]


def forget(asked: FeedbackRequest, author: AbstractBaseUser, names: Sequence[str]) -> None:
    """Drop what was added meanwhile."""
    with transaction.atomic():
        row = Draft.objects.select_for_update().filter(request=asked, author_id=author.pk).first()
        if row is None:
            return
        row.values = {name: text for name, text in row.values.items() if name not in names}
        row.save(update_fields=["values"])


def add_all(asked: FeedbackRequest, author: AbstractBaseUser) -> None:
    """Add them as they stand, so that the answer takes them along; one that cannot be stays."""
    for one in begun_in(review.draft_of(asked, author)):
        try:
            if _add(asked, author, one):
                forget(asked, author, [one.name])
        except FaberError:  # its line or its comment is gone: it stays where its author sees it
            continue


def _add(asked: FeedbackRequest, author: AbstractBaseUser, one: Begun) -> bool:
    if "remark" in one.fields:
        change = RemarkChangeForm(one.fields)
        pk = one.fields["remark"]
        if not change.is_valid() or not pk.isascii() or not pk.isdecimal():
            return False
        review.change(review.find(asked, author, int(pk)), **change.said)
        return True
    form = RemarkForm(one.fields)
    if not form.is_valid():
        return False
    review.remark(asked, author, form.place, **form.said)
    return True


def _fields(text: str) -> dict[str, str]:
    try:
        given = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(given, dict):
        return {}
    return {str(name): value for name, value in given.items() if isinstance(value, str)}
