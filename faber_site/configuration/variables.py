"""Every variable FABER reads, with its default and its meaning; the reference is made from here."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

from django.core.exceptions import ImproperlyConfigured
from pydantic import ValidationError, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsConfigDict

from faber_site.configuration import values
from faber_site.configuration.entrance import Entrance
from faber_site.configuration.values import NotAccepted, told
from faber_site.configuration.watching import Watching
from feedback.channels.callbacks.addresses import Allowed
from runs.domain.values.nearest import nearest
from runs.isolation import sheltering

PREFIX = "FABER_"
# Known, but not the site's: what a step finds in its environment, and what its clients are given.
OTHERS = frozenset(
    f"{PREFIX}{name}"
    for name in (
        *("ATTEMPT", "BRIEFING", "PHASE", "PROMPT", "RUN_ID", "STEP", "TARGET", "WORK_ID"),
        *("URL", "TOKEN"),
    )
)
_OF_STEPS = f"{PREFIX}INPUT_"


class Variables(Entrance, Watching):
    """The environment, once and whole: nothing has to be set."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", frozen=True, validate_default=False
    )

    data_dir: Annotated[
        str,
        told(
            "database, keys, log; mode 0700; FABER refuses one that other accounts can access",
            default="`var` in a checkout, else `$XDG_DATA_HOME/faber`",
        ),
    ] = ""
    database_url: Annotated[
        str,
        told(
            "`postgres://…` for many machines or many reviewers",
            default="SQLite in the data directory",
        ),
    ] = ""
    base_url: Annotated[
        values.SiteAddress | None,
        told(
            "public address, used in every link; `https://` turns the secure settings on",
            default="`http://FABER_HOST:FABER_PORT`",
        ),
    ] = None
    host: Annotated[values.Host, told("where `up` and `web` listen")] = "127.0.0.1"
    port: Annotated[int, values.whole(1, 65535), told("the port they listen on")] = 8000
    machine_name: Annotated[
        values.MachineName | None,
        told(
            "the name of this machine; unique on each machine of a site, at most 60"
            " letters, digits, dots, dashes, underscores",
            default="the host name",
        ),
    ] = None
    workers: Annotated[
        int,
        values.whole(1, 200),
        told("runs executed at the same time; two more processes take short jobs"),
    ] = 12
    worker_labels: Annotated[
        values.Labels,
        told(
            "what this machine has, comma-separated; steps and projects that"
            " [need](operating.md#several-machines) it run on machines with all their labels"
        ),
    ] = ()
    queue: Annotated[
        str,
        values.one_of("database", "celery"),
        told("what carries jobs to the workers; see [Queue](operating.md#queue)"),
    ] = "database"
    celery_broker_url: Annotated[
        values.BrokerAddress,
        told(
            "with `FABER_QUEUE=celery`: `redis://HOST:PORT/NUMBER` or"
            " `amqp://USER:PASSWORD@HOST:PORT/VHOST`",
            default="none",
        ),
    ] = ""
    secret_key: Annotated[
        values.Key | None,
        told("at least 32 random characters", default="made once in the data directory"),
    ] = None
    audit_key: Annotated[
        values.Key | None,
        told(
            "signs the record of decisions; the same on every machine",
            default="made once in the data directory (`audit_key`)",
        ),
    ] = None
    allowed_hosts: Annotated[
        values.HostNames, told("comma-separated", default="from the base URL")
    ] = ()
    debug: Annotated[
        values.Flag,
        told("only on 127.0.0.1, ::1 or localhost: error pages expose internals"),
    ] = False
    trusted_proxies: Annotated[
        values.Networks,
        told(
            "addresses or networks of the proxies in front, comma-separated; only their"
            " `X-Forwarded-For` is trusted"
        ),
    ] = ()
    hsts_seconds: Annotated[
        int,
        values.whole(0, 10 * 365 * 24 * 3600),
        told("how long browsers require https for this host", default="0: off"),
    ] = 0
    agent_command: Annotated[
        values.Words,
        told(
            "split like a shell would, never run through a shell; the prompt goes to standard"
            " input; see [Agents](agents.md)",
            default="`claude -p --output-format json`",
        ),
    ] = ("claude", "-p", "--output-format", "json")
    python_steps: Annotated[
        values.Modules, told("module prefixes whose functions may be steps, comma-separated")
    ] = ()
    step_timeout: Annotated[
        int, values.whole(1, 1_000_000), told("seconds; a step can override it")
    ] = 3600
    step_isolation: Annotated[
        str,
        values.one_of(*sheltering.MODES),
        told(
            "steps see neither the data directory nor other processes where the machine allows it;"
            " `require`: a step fails where it does not; `off`. See"
            " [Isolated steps](operating.md#isolated-steps)"
        ),
    ] = "auto"
    lease_seconds: Annotated[
        int, values.whole(2, 3600), told("how long a silent worker keeps its step")
    ] = 8
    undo_seconds: Annotated[
        int,
        values.whole(0, 3600),
        told("how long an answer given in the browser can be undone; 0 = off"),
    ] = 5
    retention_days: Annotated[
        int,
        values.whole(0, 36500),
        told(
            "age in days at which the output and context packages of finished runs are deleted,"
            " every night; 0 = never. See [Pruning](backup.md#pruning)"
        ),
    ] = 0
    callback_allow: Annotated[
        values.AllowedAddresses,
        told(
            "hosts, addresses or networks that may be a `callback_url` or a"
            " [webhook](webhooks.md) although they are private, or without https;"
            " comma-separated, such as `ci.internal,10.1.0.0/16`",
            default="none",
        ),
    ] = Allowed()
    notify_urls: Annotated[
        values.NotifyUrls,
        told(
            "[Apprise](https://appriseit.com/) URLs that get a notice for every request,"
            " comma-separated; they are secrets"
        ),
    ] = ()
    email_url: Annotated[
        values.MailAddress,
        told(
            "the mail server for notices: `smtp://USER:PASSWORD@HOST:PORT`, with STARTTLS"
            " `smtp+tls://…`, with TLS from the start `smtps://…`",
            default="none: no mail",
        ),
    ] = ""
    email_from: Annotated[
        str,
        told(
            "who the mail comes from; HOST is that of `FABER_BASE_URL`",
            default="`FABER <faber@HOST>`",
        ),
    ] = ""
    self_approval: Annotated[
        str,
        values.one_of("allow", "refuse"),
        told("`refuse`: the person who started a run can't answer its requests"),
    ] = "allow"
    github_token: Annotated[
        values.Token,
        told(
            "a token with write access to the issues of the repositories",
            default="none: GitHub is off",
        ),
    ] = ""
    github_app_id: Annotated[str, told("a GitHub App instead of a token")] = ""
    github_app_key: Annotated[
        values.PrivateKey, told("its private key, as PEM text or the path of its file")
    ] = ""
    github_api_url: Annotated[
        values.ApiAddress, told("Enterprise Server: `https://HOST/api/v3`")
    ] = "https://api.github.com"
    github_webhook_secret: Annotated[
        str,
        told(
            "the secret given to GitHub with the webhook's address; a project can have its own"
            " (`faber project NAME --webhook-secret`)",
            default="none: the webhook returns 503",
        ),
    ] = ""
    github_poll_seconds: Annotated[
        int,
        values.whole(0, 86400),
        told("how often comments are read without a webhook; 0 = off"),
    ] = 60
    github_client_id: Annotated[
        str, told("an OAuth App, for signing in with GitHub", default="none: off")
    ] = ""
    github_client_secret: Annotated[str, told("its secret")] = ""
    github_allow: Annotated[
        values.Logins,
        told("logins that can use commands without repository permission, comma-separated"),
    ] = ()
    gitlab_url: Annotated[values.ApiAddress, told("a GitLab of your own: `https://HOST`")] = (
        "https://gitlab.com"
    )
    gitlab_token: Annotated[
        values.Token,
        told(
            "a token with the scope `api` and at least the role Reporter in the projects",
            default="none: GitLab is off",
        ),
    ] = ""
    gitlab_webhook_secret: Annotated[
        str,
        told(
            "the secret token given to GitLab with the webhook's address; a project can have its"
            " own (`faber project NAME --webhook-secret`)",
            default="none: the webhook returns 503",
        ),
    ] = ""
    gitlab_poll_seconds: Annotated[
        int,
        values.whole(0, 86400),
        told("how often comments are read without a webhook; 0 = off"),
    ] = 60
    gitlab_allow: Annotated[
        values.Logins,
        told("GitLab logins that can use commands without the role Developer, comma-separated"),
    ] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, given: dict[str, Any]) -> dict[str, Any]:
        """A line of an env file may end in a space."""
        stripped = {
            name: value.strip() if isinstance(value, str) else value
            for name, value in given.items()
        }
        return {name: value for name, value in stripped.items() if value != ""}

    @model_validator(mode="after")
    def _check_queue(self) -> Self:
        if self.queue == "celery" and not self.celery_broker_url:
            raise ImproperlyConfigured(
                "FABER_QUEUE='celery' is not accepted without FABER_CELERY_BROKER_URL;"
                " set it to the address of your Redis or RabbitMQ."
            )
        return self

    @model_validator(mode="after")
    def _check_github(self) -> Self:
        if bool(self.github_app_id) != bool(self.github_app_key):
            raise ImproperlyConfigured(
                f"FABER_GITHUB_APP_ID={self.github_app_id!r} is not accepted;"
                " use it together with FABER_GITHUB_APP_KEY."
            )
        if self.github_app_id and self.github_token:
            raise ImproperlyConfigured(
                f"FABER_GITHUB_APP_ID={self.github_app_id!r} is not accepted"
                " together with FABER_GITHUB_TOKEN; use one of them."
            )
        return self


def read() -> Variables:
    """The environment as it is now; every wrong value has a line of its own."""
    try:
        return Variables()
    except ValidationError as error:
        lines = [_refusal(each) for each in error.errors(include_url=False)]
        # Not as its cause: that would repeat what was given, also when it is a secret.
        raise ImproperlyConfigured("\n".join(lines)) from None


def misspelt(environment: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each variable that looks like ours and is read by nobody."""
    # Of two that are as near, a setting: who sets variables sets those.
    known = [*sorted(map(variable, Variables.model_fields)), *sorted(OTHERS)]
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known and not name.startswith(_OF_STEPS):
            near = nearest(name, known)
            hint = f" Did you mean {near}?" if near else ""
            yield f"{name} is set, but FABER does not know it.{hint}"


def variable(field: str) -> str:
    return f"{PREFIX}{field.upper()}"


def _refusal(error: ErrorDetails) -> str:
    name, cause = variable(str(error["loc"][0])), error.get("ctx", {}).get("error")
    if isinstance(cause, NotAccepted):
        return f"{name}={cause.shown(error['input'])} is not accepted; use {cause.accepted}."
    return f"{name} is not accepted: {error['msg']}."
