"""What somebody has typed on the page of a batch and not sent yet."""

from collections.abc import Collection, Mapping

from django.contrib.auth.models import AbstractBaseUser

from feedback.batches.forms import named
from feedback.batches.group import Group
from feedback.batches.rows import Entered
from feedback.models import BatchDraft
from feedback.requests import drafts
from feedback.requests.drafts import Merged, Typed
from runs.models import Batch


def kept_of(group: Group, author: AbstractBaseUser) -> Mapping[str, str]:
    row = BatchDraft.objects.filter(batch_id=_place(group), author_id=author.pk).first()
    return row.values if row else {}


def keep(group: Group, author: AbstractBaseUser, typed: Mapping[str, Typed]) -> Merged:
    return drafts.keep(BatchDraft.objects.all(), typed, batch_id=_place(group), author_id=author.pk)


def entered_in(kept: Mapping[str, str]) -> Entered:
    return Entered(comments=named(kept, "comment-"), cards=named(kept, "card-"))


def forget(
    group: Group, author: AbstractBaseUser, given: Entered, recorded: Collection[str]
) -> None:
    """Drop the words of answers that are on record, by the keys of their rows."""
    cards = [card for card, rows in given.ticks.items() if rows <= set(recorded)]
    gone = [*(f"comment-{key}" for key in recorded), *(f"card-{key}" for key in cards)]
    _change(group, author, dict.fromkeys(gone, ""))


def forget_lines(group: Group, author: AbstractBaseUser, left: str) -> None:
    """Of pasted lines only those stay that were not taken."""
    _change(group, author, {"text": left})


def _change(group: Group, author: AbstractBaseUser, changed: Mapping[str, str]) -> None:
    kept = kept_of(group, author)
    typed = {
        name: Typed(text=text, known=[kept[name]]) for name, text in changed.items() if name in kept
    }
    if typed:
        keep(group, author, typed)


def _place(group: Group) -> str:
    # Rows are named by their request, so that selections can share one draft.
    return group.batch_id if isinstance(group, Batch) else ""
