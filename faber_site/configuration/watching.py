"""The variables of how the site is watched: logs, traces, errors."""

from typing import Annotated

from pydantic_settings import BaseSettings

from faber_site.configuration import values
from faber_site.configuration.values import told


class Watching(BaseSettings):
    log_format: Annotated[
        str,
        values.one_of("plain", "json"),
        told("how log lines are written to standard error; `json`: one object a line"),
    ] = "plain"
    log_level: Annotated[
        str,
        values.one_of("DEBUG", "INFO", "WARNING", "ERROR"),
        told("the lowest level that is logged; `INFO` includes one for each HTTP request"),
    ] = "INFO"
    otlp_endpoint: Annotated[
        values.ServiceAddress,
        told(
            "an OpenTelemetry collector that gets [traces](operating.md#traces) over OTLP/HTTP,"
            " such as `http://127.0.0.1:4318`",
            default="none: nothing is traced",
        ),
    ] = ""
    otlp_headers: Annotated[
        values.Headers,
        told("headers for it, such as `Authorization=Bearer …`, comma-separated; they are secrets"),
    ] = ()
    sentry_dsn: Annotated[
        values.Dsn,
        told(
            "the DSN of a Sentry project that gets [errors](operating.md#errors); a secret",
            default="none: off",
        ),
    ] = ""
