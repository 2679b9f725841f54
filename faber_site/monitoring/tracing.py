"""Sends spans to an OpenTelemetry collector, from a thread that begins with a process's first."""

import threading
from datetime import datetime
from functools import cache
from importlib.metadata import version

from django.conf import settings
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags

from runs.telemetry.spans import FinishedSpan, SpanName

# A worker may be ended at any time, and then what it has not sent is lost.
SENT_AFTER_MS = 1000
TIMEOUT = 5.0


def collect(span: FinishedSpan) -> None:
    ids, tracer = _setup()
    with ids.lock:  # until the new span has them
        ids.name = span.name
        begun = tracer.start_span(
            span.title,
            context=_context(span.name.parent),
            attributes=span.attributes,
            start_time=_nanoseconds(span.began),
        )
    if span.has_failed:
        begun.set_status(Status(StatusCode.ERROR))
    begun.end(_nanoseconds(span.ended))


def flush() -> None:
    """Send at once what is left."""
    provider().force_flush()


class _KnownIds(IdGenerator):
    """A span's id is known before it is begun: others name it as their parent."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.name = SpanName(run_id="")

    def generate_trace_id(self) -> int:
        return self.name.trace_id

    def generate_span_id(self) -> int:
        return self.name.span_id


@cache
def _ids() -> _KnownIds:
    return _KnownIds()


@cache
def provider() -> TracerProvider:
    exporter = OTLPSpanExporter(
        endpoint=f"{settings.FABER_OTLP_ENDPOINT}/v1/traces",
        headers=dict(settings.FABER_OTLP_HEADERS),
        timeout=TIMEOUT,
    )
    about = {
        "service.name": "faber",
        "service.version": version("faber-review"),
        "host.name": settings.FABER_MACHINE_NAME,
    }
    made = TracerProvider(id_generator=_ids(), resource=Resource.create(about))
    made.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=SENT_AFTER_MS))
    return made


def _setup() -> tuple[_KnownIds, trace.Tracer]:
    return _ids(), provider().get_tracer("faber")


def _context(parent: SpanName | None) -> Context:
    if parent is None:
        return Context()
    above = SpanContext(
        trace_id=parent.trace_id,
        span_id=parent.span_id,
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(NonRecordingSpan(above), Context())


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
