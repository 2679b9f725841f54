"""All settings: the environment decides, nothing has to be set."""

import contextlib
import os
import secrets
import socket
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from faber_site.configuration import (
    data_directory,
    data_place,
    databases,
    extras,
    values,
    variables,
)
from faber_site.sign_in import providers
from runs.isolation import file_modes, inside

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent
# An installed wheel carries templates and static files inside the package.
RESOURCES = CHECKOUT if (CHECKOUT / "manage.py").exists() else PACKAGE

_given = variables.read()

file_modes.keep_private()
FABER_DATA_DIR = data_directory.checked(data_place.place())


def _key(given: str | None, name: str) -> str:
    """A key from the environment, or the one made once for this data directory."""
    if given:
        return given
    file = FABER_DATA_DIR / name
    if not file.exists():
        # A step sees an empty folder in its place, and a command that begins no site finds none
        # at all; what they may call signs nothing.
        if inside.is_hidden(FABER_DATA_DIR) or not FABER_DATA_DIR.exists():
            return secrets.token_urlsafe(50)
        # Made elsewhere and linked into place whole: of two first starts, one is too late.
        with tempfile.NamedTemporaryFile("w", dir=FABER_DATA_DIR) as new:
            new.write(secrets.token_urlsafe(50))
            new.flush()
            with contextlib.suppress(FileExistsError):
                os.link(new.name, file)
    return file.read_text()


SECRET_KEY = _key(_given.secret_key, "secret_key")
# What the record of decisions is written with; whoever has the database alone cannot rewrite it.
FABER_AUDIT_KEY = _key(_given.audit_key, "audit_key")
DEBUG = _given.debug

FABER_HOST = _given.host
FABER_PORT = _given.port
_own_host = values.in_address(values.reachable(FABER_HOST))
FABER_BASE_URL = _given.base_url or f"http://{_own_host}:{FABER_PORT}"
_address = urlsplit(FABER_BASE_URL)
_public_host = _address.hostname or FABER_HOST
ALLOWED_HOSTS = list(_given.allowed_hosts) or [
    values.in_address(_public_host),
    _own_host,
    "127.0.0.1",
    "localhost",
]
if DEBUG and not (values.is_loopback(FABER_HOST) and values.is_loopback(_public_host)):
    raise ImproperlyConfigured(
        "FABER_DEBUG is not accepted on a site that others can reach: its error pages"
        " expose internals. Unset it, or use FABER_HOST=127.0.0.1 and no FABER_BASE_URL"
        f" (now {FABER_HOST}, {FABER_BASE_URL})."
    )
CSRF_TRUSTED_ORIGINS = [f"{_address.scheme}://{_address.netloc}"]

# Workers, leases and runs are named by it, so each machine of a site has a name of its own.
FABER_MACHINE_NAME = _given.machine_name or values.machine_name_of(socket.gethostname())
FABER_WORKERS = _given.workers
FABER_WORKER_LABELS = _given.worker_labels
# Which engine of `runs.jobs.engine` carries jobs to the workers.
FABER_QUEUE = _given.queue
FABER_CELERY_BROKER_URL = _given.celery_broker_url
if FABER_QUEUE == "celery":
    extras.need("celery", "celery", because="FABER_QUEUE=celery")
FABER_AGENT_COMMAND = _given.agent_command
FABER_PYTHON_STEPS = _given.python_steps
FABER_STEP_TIMEOUT = _given.step_timeout
# Whether a step may see the data directory and the processes of others.
FABER_STEP_ISOLATION = _given.step_isolation
# What an isolated step reaches of the site: the tools of an agent. -P: no module of the workspace.
FABER_STEP_DOOR = (sys.executable, "-P", "-m", "faber_site.cli", "mcp", "--relayed")
FABER_SELF_APPROVAL = _given.self_approval
# How long an answer given in the browser can be taken back before the run goes on.
FABER_UNDO_SECONDS = _given.undo_seconds
# How long a worker that stopped reporting keeps its step, and how often it reports.
FABER_LEASE_SECONDS = _given.lease_seconds
# `runs` calls this when a run must ask: the one place that points upwards.
FABER_ASKER = "feedback.requests.asker"
# Each hears of every request through `requests.announce`; a new channel is a folder and a line.
FABER_CHANNELS = (
    "feedback.channels.trackers.channel",
    "feedback.channels.callbacks.channel",
    "feedback.channels.webhooks.channel",
    "feedback.channels.notices.channel",
    "feedback.exchange.sync.channel",
)
# After how many days what runs printed and were told is pruned every night; 0: never.
FABER_RETENTION_DAYS = _given.retention_days
# Where programs may be called back although it is a private network, or without https.
FABER_CALLBACK_ALLOW = _given.callback_allow

# Who is told of requests, besides those who say so on their own page.
FABER_NOTIFY_URLS = _given.notify_urls
if FABER_NOTIFY_URLS:
    extras.need("notify", "apprise", because="FABER_NOTIFY_URLS")
FABER_EMAIL_URL = _given.email_url  # without it there is no mail
FABER_EMAIL_FROM = _given.email_from or f"FABER <faber@{_public_host}>"
# How many notices a worker sends at a time; with 0 it waits for each.
FABER_NOTICE_THREADS = 4
if _mail_server := values.mail_server(_given.email_url):
    EMAIL_HOST, EMAIL_PORT = _mail_server.host, _mail_server.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail_server.user, _mail_server.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = _mail_server.starttls, _mail_server.tls
EMAIL_TIMEOUT = 10

# Without a token or an App the GitHub channel is off.
FABER_GITHUB_TOKEN = _given.github_token
FABER_GITHUB_APP_ID = _given.github_app_id
FABER_GITHUB_APP_KEY = _given.github_app_key
FABER_GITHUB_API_URL = _given.github_api_url
FABER_GITHUB_WEBHOOK_SECRET = _given.github_webhook_secret
FABER_GITHUB_POLL_SECONDS = _given.github_poll_seconds
FABER_GITHUB_ALLOW = _given.github_allow
# Without a token the GitLab channel is off.
FABER_GITLAB_URL = _given.gitlab_url
FABER_GITLAB_TOKEN = _given.gitlab_token
FABER_GITLAB_WEBHOOK_SECRET = _given.gitlab_webhook_secret
FABER_GITLAB_POLL_SECONDS = _given.gitlab_poll_seconds
FABER_GITLAB_ALLOW = _given.gitlab_allow
# Each module offers what `runs.trackers` asks of one; a project that names none is on the first
# that is set up.
FABER_TRACKERS = {"github": "runs.github", "gitlab": "runs.gitlab"}
# Without a client id there is no signing in with GitHub.
FABER_GITHUB_CLIENT_ID = _given.github_client_id
FABER_GITHUB_CLIENT_SECRET = _given.github_client_secret
# Without an issuer there is no single sign-on.
FABER_OIDC_ISSUER = _given.oidc_issuer
FABER_OIDC_CLIENT_ID = _given.oidc_client_id
FABER_OIDC_CLIENT_SECRET = _given.oidc_client_secret
FABER_OIDC_NAME = _given.oidc_name
FABER_OIDC_ROLES = _given.oidc_roles
FABER_OIDC_GROUPS_CLAIM = _given.oidc_groups_claim
FABER_OIDC_CREATE_ACCOUNTS = _given.creates_accounts
FABER_LOCAL_SIGN_IN = _given.local_sign_in

INSTALLED_APPS = [
    "django.contrib.admin.apps.SimpleAdminConfig",  # found by `urls`, not by every command
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "django_q",
    "template_partials",
    "faber_site",
    "runs",
    "feedback",
]

MIDDLEWARE = [
    "faber_site.http.access_log.access_log",
    "faber_site.http.known_host.known_host",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Behind the static files, which are compressed already; it pads what it compresses, so that
    # nobody learns from its length what else is on the page.
    "django.middleware.gzip.GZipMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "runs.pages.sign_in.sessions.noting_visits",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "faber_site.urls"
WSGI_APPLICATION = "faber_site.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [RESOURCES / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DATABASES = {
    "default": databases.settings_for(_given.database_url, FABER_DATA_DIR / "faber.sqlite3")
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The queue is a hint, the run's row is the truth: jobs have no timeout, and leases and the sweep
# bring back what a dead worker held. The repeat after a day only clears the dead worker's row.
Q_CLUSTER = {
    "name": "faber",
    "orm": "default",
    "broker_class": "runs.jobs.database.broker.WokenBroker",
    "workers": FABER_WORKERS,
    "queue_limit": 1,
    "bulk": 1,
    "timeout": -1,  # none; None would be warned about at every start
    "retry": 24 * 3600,
    "max_attempts": 1,
    "ack_failures": True,
    "catch_up": False,
    "save_limit": -1,
    "poll": 1,
    "scheduler": False,
}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [RESOURCES / "static"]
# Filled at the start of the site; see `faber_site.http.static_files`.
STATIC_ROOT = FABER_DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "faber_site.http.static_files.HashedFiles"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_USE_FINDERS = True  # and by their own names, for whoever asks for them

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "inbox"
LOGOUT_REDIRECT_URL = "login"

SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 14 * 24 * 3600
CSRF_COOKIE_HTTPONLY = True
# Proxies whose X-Forwarded-For is believed; see `runs.accounts.client_address`.
FABER_TRUSTED_PROXIES = _given.trusted_proxies
X_FRAME_OPTIONS = "DENY"
# Browsers do not forget it: whoever runs the site decides, and for this host alone.
FABER_HSTS_SECONDS = _given.hsts_seconds
SILENCED_SYSTEM_CHECKS = [
    "security.W004",  # no HSTS unless FABER_HSTS_SECONDS asks for it
    "security.W008",  # `https_only` refuses instead: a redirect can come back for ever
    "security.W005",  # not for other hosts of the domain, which need not speak https
    "security.W021",  # nor into the browsers' own lists
]
SECURE_REFERRER_POLICY = "same-origin"
if _address.scheme == "https":
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    MIDDLEWARE.insert(1, "faber_site.http.https_only.https_only")
    SECURE_HSTS_SECONDS = FABER_HSTS_SECONDS
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True

# The first of them signs in by link.
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
if not FABER_LOCAL_SIGN_IN:
    AUTHENTICATION_BACKENDS = ["runs.accounts.links_only.LinksOnly"]
_FORM_TARGETS = [SELF]
_VOUCHERS: dict[str, object] = {}
if FABER_GITHUB_CLIENT_ID:
    extras.need("login", "allauth", because="FABER_GITHUB_CLIENT_ID")
    _GITHUB = providers.github_address(FABER_GITHUB_API_URL)
    # A form that sends somebody to GitHub is a form that may go there.
    _FORM_TARGETS.append(_GITHUB)
    _VOUCHERS[providers.GITHUB] = providers.github(
        _GITHUB, FABER_GITHUB_CLIENT_ID, FABER_GITHUB_CLIENT_SECRET
    )
if FABER_OIDC_ISSUER:
    extras.need("login", "allauth", because="FABER_OIDC_ISSUER")
    _VOUCHERS[providers.OIDC] = providers.openid_connect(
        FABER_OIDC_ISSUER, FABER_OIDC_CLIENT_ID, FABER_OIDC_CLIENT_SECRET, FABER_OIDC_NAME
    )
if _VOUCHERS:
    INSTALLED_APPS += providers.apps(*_VOUCHERS)
    MIDDLEWARE += providers.MIDDLEWARE
    SOCIALACCOUNT_ADAPTER = "faber_site.sign_in.admission.Admission"
    SOCIALACCOUNT_QUERY_EMAIL = False
    SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
    SOCIALACCOUNT_PROVIDERS = _VOUCHERS

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "frame-src": [SELF],  # diagrams, which have a policy of their own
        "connect-src": [SELF],
        "form-action": _FORM_TARGETS,
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# Without an endpoint nothing is traced, and nothing of OpenTelemetry loaded.
FABER_OTLP_ENDPOINT = _given.otlp_endpoint
FABER_OTLP_HEADERS = _given.otlp_headers
FABER_COLLECTOR = "faber_site.monitoring.tracing" if FABER_OTLP_ENDPOINT else ""
if FABER_OTLP_ENDPOINT:
    extras.need("telemetry", "opentelemetry.sdk", because="FABER_OTLP_ENDPOINT")
FABER_SENTRY_DSN = _given.sentry_dsn
if FABER_SENTRY_DSN:
    extras.need("sentry", "sentry_sdk", because="FABER_SENTRY_DSN")

_SEVERITY = ("DEBUG", "INFO", "WARNING", "ERROR")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "faber_site.monitoring.logs.SecretFree",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
        "json": {"()": "faber_site.monitoring.logs.AsJson"},
    },
    "filters": {
        "calm": {"()": "faber_site.monitoring.logs.Calm"},
        "probes": {"()": "faber_site.monitoring.logs.AnswersToProbes"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": _given.log_format,
            "filters": ["calm"],
        }
    },
    "root": {
        "handlers": ["stderr"],
        "level": max("WARNING", _given.log_level, key=_SEVERITY.index),
    },
    "loggers": {
        # django-q2 installs a handler of its own unless this logger has one.
        "django-q": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        # It would say so at every request that has to wait for a thread.
        "waitress.queue": {"level": "ERROR"},
        "django.request": {"filters": ["probes"]},
        **{name: {"level": _given.log_level} for name in ("faber_site", "runs", "feedback")},
        # It names addresses, which are secrets; why a notice failed is told without them.
        "apprise": {"handlers": [], "level": "WARNING", "propagate": False},
    },
}
