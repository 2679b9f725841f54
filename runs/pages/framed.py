"""What documents bring along and the pages do not trust: diagrams and pictures, each walled in."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.domain.values.errors import NotFound
from runs.engine.find import find_run
from runs.pages.http import PageRequest, fresh, refusing, visitor
from runs.rendering.pictures import kind_of

# Mermaid writes its own styles; nothing is loaded but the two scripts, and nothing is sent.
_DIAGRAM_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
)
# A picture that is opened by itself is as dead as inside a page, whatever an SVG may hold.
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


@require_safe
def diagram(request: PageRequest) -> HttpResponse:
    """An empty drawing board; the page around it sends the source, and knows nothing of it."""
    response = render(request, "diagram.html")
    response["Content-Security-Policy"] = _DIAGRAM_POLICY
    response["X-Frame-Options"] = "SAMEORIGIN"
    return fresh(response)


@require_safe
@refusing
def picture(request: PageRequest, run_id: str, revision: int, path: str) -> HttpResponse:
    """A picture as it was kept; anything else is only ever downloaded."""
    kept = find_run(run_id, seen_by=visitor(request)).revisions
    # PostgreSQL fails on a NUL instead of finding nothing.
    found = kept.filter(revision=revision, path=path.replace("\0", "\ufffd")).first()
    kind = kind_of(bytes(found.content)) if found else ""
    if found is None or not kind:
        raise NotFound(f"There is no picture {path}, revision {revision}.")
    response = HttpResponse(bytes(found.content), content_type=kind)
    response["Content-Security-Policy"] = _PICTURE_POLICY
    response["X-Content-Type-Options"] = "nosniff"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    # A revision never changes; who has seen it may keep it.
    response["Cache-Control"] = "private, max-age=86400, immutable"
    return response
