"""How many requests this process answered and how fast, by the view that did."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from faber_site.monitoring import health

# One process serves the site, so what it remembers is all there is; Prometheus knows of restarts.
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry(auto_describe=False)
_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
_ANSWERED = Counter(
    "faber_http_requests",
    "HTTP requests, by view and class of status.",
    ["view", "status"],
    registry=REGISTRY,
)
_TOOK = Histogram(
    "faber_http_request_seconds",
    "How long clients waited for the answer, by view.",
    ["view"],
    registry=REGISTRY,
    buckets=_BOUNDS,
)


def note(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    view = _view(request)
    _ANSWERED.labels(view, f"{response.status_code // 100}xx").inc()
    _TOOK.labels(view).observe(seconds)


def _view(request: HttpRequest) -> str:
    """Its name, never the address: those have no end."""
    if request.resolver_match is not None:
        return request.resolver_match.view_name
    if health.is_probe(request):
        return request.path.strip("/")
    return "static" if request.path.startswith(settings.STATIC_URL) else "none"
