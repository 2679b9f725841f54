"""The pages of the documentation in a browser."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from faber_site.documentation import shelf
from runs.pages.http import PageRequest


@require_safe
def docs_index(request: PageRequest) -> HttpResponse:
    return render(request, "docs/index.html", {"groups": shelf.grouped()})


@require_safe
def docs_page(request: PageRequest, name: str) -> HttpResponse:
    # Whoever only looks at other pages does not load the Markdown parsers.
    from faber_site.documentation.rendered import rendered  # noqa: PLC0415

    page = shelf.pages().get(name)
    if page is None:
        raise Http404(f"There is no page {name}.")
    shown = rendered(page)
    parts = [entry for entry in shown.toc if entry.level == 2]
    context = {"groups": shelf.grouped(), "page": page, "shown": shown, "parts": parts}
    return render(request, "docs/page.html", context)


@require_safe
def docs_search(request: PageRequest) -> HttpResponse:
    from faber_site.documentation.search import search  # noqa: PLC0415

    query = request.GET.get("q", "").replace("\0", "").strip()[:200]
    context = {"groups": shelf.grouped(), "query": query, "found": search(query)}
    part = "docs/_found.html" if request.htmx else "docs/search.html"
    return render(request, part, context)


@require_safe
def docs_file(_request: PageRequest, path: str) -> HttpResponse:
    """A picture of a page, or a file to copy."""
    file = shelf.files().get(path)
    if file is None:
        raise Http404(f"There is no file {path}.")
    kinds = {".png": "image/png", ".svg": "image/svg+xml"}
    response = HttpResponse(
        file.read_bytes(), content_type=kinds.get(file.suffix, "text/plain; charset=utf-8")
    )
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    response["Cache-Control"] = "private, max-age=3600"
    return response
