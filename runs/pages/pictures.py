"""Where a page finds the pictures of a document: in the revisions that were kept with it."""

from collections.abc import Iterable

from django.urls import reverse

from runs.models import Artifact
from runs.rendering.pictures import named_in

Addresses = tuple[tuple[str, str], ...]


def addresses_of(document: Artifact, shown: Iterable[Artifact] = ()) -> Addresses:
    """Those that are shown with it, else the newest from before its own next revision."""
    names = named_in(document.path, document.text)
    if not names:
        return ()
    revisions = document.run.revisions
    later = revisions.filter(path=document.path, revision__gt=document.revision)
    kept = revisions.filter(path__in=names).defer("content").order_by("revision")
    following = later.order_by("revision").values_list("pk", flat=True).first()
    if following:
        kept = kept.filter(pk__lt=following)
    newest = {picture.path: picture for picture in kept}
    newest |= {picture.path: picture for picture in shown if picture.path in names}
    return tuple((path, address_of(picture)) for path, picture in sorted(newest.items()))


def address_of(picture: Artifact) -> str:
    where = (picture.run.run_id, picture.revision, picture.path)
    return reverse("run-picture", args=where)
