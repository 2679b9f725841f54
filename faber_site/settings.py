"""All settings: the environment decides, nothing has to be set."""

import contextlib
import os
import secrets
import shlex
import socket
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from faber_site import data_directory, env
from faber_site.github import credentials
from feedback.channels.callbacks import addresses
from runs.executors import file_modes
from runs.isolation import inside, sheltering

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent
# An installed wheel carries templates and static files inside the package.
RESOURCES = CHECKOUT if (CHECKOUT / "manage.py").exists() else PACKAGE

file_modes.keep_private()
FABER_DATA_DIR = data_directory.checked(data_directory.place())


def _key(variable: str, name: str) -> str:
    """A key from the environment, or the one made once for this data directory."""
    if given := env.secret_key(variable):
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


SECRET_KEY = _key("FABER_SECRET_KEY", "secret_key")
# What the record of decisions is written with; whoever has the database alone cannot rewrite it.
FABER_AUDIT_KEY = _key("FABER_AUDIT_KEY", "audit_key")
DEBUG = env.flag("FABER_DEBUG")

FABER_HOST = env.text("FABER_HOST", "127.0.0.1")
FABER_PORT = env.number("FABER_PORT", 8000, least=1, most=65535)
_own_host = env.in_address(FABER_HOST)
FABER_BASE_URL = env.text("FABER_BASE_URL", f"http://{_own_host}:{FABER_PORT}").rstrip("/")
_address = urlsplit(FABER_BASE_URL)
if _address.scheme not in ("http", "https") or not _address.hostname:
    raise ImproperlyConfigured(
        f"FABER_BASE_URL={FABER_BASE_URL!r} is not accepted; use an address like https://faber.example.org."
    )
ALLOWED_HOSTS = list(env.names("FABER_ALLOWED_HOSTS")) or [
    env.in_address(_address.hostname),
    _own_host,
    "127.0.0.1",
    "localhost",
]
if DEBUG and not (env.is_loopback(FABER_HOST) and env.is_loopback(_address.hostname)):
    raise ImproperlyConfigured(
        "FABER_DEBUG is not accepted on a site that others can reach: its error pages show the"
        f" insides. Unset it, or use FABER_HOST=127.0.0.1 and no FABER_BASE_URL (now {FABER_HOST},"
        f" {FABER_BASE_URL})."
    )
CSRF_TRUSTED_ORIGINS = [f"{_address.scheme}://{_address.netloc}"]

# Workers, leases and runs are named by it, so each machine of a site has a name of its own.
FABER_MACHINE_NAME = env.machine_name("FABER_MACHINE_NAME", socket.gethostname())
FABER_WORKERS = env.number("FABER_WORKERS", 12, least=1, most=200)
FABER_AGENT_COMMAND = tuple(
    env.parsed(
        "FABER_AGENT_COMMAND",
        "claude -p --output-format json",
        shlex.split,
        "a command line as a shell would split it",
    )
)
FABER_PYTHON_STEPS = env.names("FABER_PYTHON_STEPS")
FABER_STEP_TIMEOUT = env.number("FABER_STEP_TIMEOUT", 3600, least=1)
# Whether a step may see the data directory and the processes of others.
FABER_STEP_ISOLATION = env.choice("FABER_STEP_ISOLATION", "auto", sheltering.MODES)
# What an isolated step reaches of the site: the tools of an agent. -P: no module of the workspace.
FABER_STEP_DOOR = (sys.executable, "-P", "-m", "faber_site.cli", "mcp", "--relayed")
FABER_SELF_APPROVAL = env.choice("FABER_SELF_APPROVAL", "allow", ("allow", "refuse"))
# How long an answer given in the browser can be taken back before the run goes on.
FABER_UNDO_SECONDS = env.number("FABER_UNDO_SECONDS", 5, most=3600)
# How long a worker that stopped reporting keeps its step, and how often it reports.
FABER_LEASE_SECONDS = env.number("FABER_LEASE_SECONDS", 8, least=2, most=3600)
# `runs` calls this when a run must ask: the one place that points upwards.
FABER_ASKER = "feedback.requests.asker"
# Each hears of every request through `requests.announce`; a new channel is a folder and a line.
FABER_CHANNELS = (
    "feedback.channels.github.channel",
    "feedback.channels.callbacks.channel",
    "feedback.channels.webhooks.channel",
    "feedback.channels.notices.channel",
    "feedback.exchange.sync.channel",
)
# Where programs may be called back although it is a private network, or without https.
FABER_CALLBACK_ALLOW = env.parsed(
    "FABER_CALLBACK_ALLOW",
    "",
    addresses.read_allowed,
    "hosts, addresses or networks such as ci.internal,10.1.0.0/16",
)

# Who is told of requests, besides those who say so on their own page.
FABER_NOTIFY_URLS = env.notify_addresses("FABER_NOTIFY_URLS")
FABER_EMAIL_URL = env.text("FABER_EMAIL_URL")  # without it there is no mail
FABER_EMAIL_FROM = env.text("FABER_EMAIL_FROM", f"FABER <faber@{_address.hostname}>")
# How many notices a worker sends at a time; with 0 it waits for each.
FABER_NOTICE_THREADS = 4
if _mail_server := env.mail_server("FABER_EMAIL_URL"):
    EMAIL_HOST, EMAIL_PORT = _mail_server.host, _mail_server.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail_server.user, _mail_server.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = _mail_server.starttls, _mail_server.tls
EMAIL_TIMEOUT = 10

# Without a token or an App the GitHub channel is off.
FABER_GITHUB_TOKEN = credentials.token()
FABER_GITHUB_APP_ID = env.text("FABER_GITHUB_APP_ID")
FABER_GITHUB_APP_KEY = credentials.app_key()
if bool(FABER_GITHUB_APP_ID) != bool(FABER_GITHUB_APP_KEY):
    raise ImproperlyConfigured(
        f"FABER_GITHUB_APP_ID={FABER_GITHUB_APP_ID!r} is not accepted;"
        " use it together with FABER_GITHUB_APP_KEY."
    )
if FABER_GITHUB_APP_ID and FABER_GITHUB_TOKEN:
    raise ImproperlyConfigured(
        f"FABER_GITHUB_APP_ID={FABER_GITHUB_APP_ID!r} is not accepted"
        " together with FABER_GITHUB_TOKEN; use one of them."
    )
FABER_GITHUB_API_URL = credentials.api_url()
FABER_GITHUB_WEBHOOK_SECRET = env.text("FABER_GITHUB_WEBHOOK_SECRET")
FABER_GITHUB_POLL_SECONDS = env.number("FABER_GITHUB_POLL_SECONDS", 60, most=86400)
FABER_GITHUB_ALLOW = env.names("FABER_GITHUB_ALLOW")
# Without a client id there is no signing in with GitHub.
FABER_GITHUB_CLIENT_ID = env.text("FABER_GITHUB_CLIENT_ID")
FABER_GITHUB_CLIENT_SECRET = env.text("FABER_GITHUB_CLIENT_SECRET")

INSTALLED_APPS = [
    "django.contrib.admin",
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

DATABASES = {"default": env.database("FABER_DATABASE_URL", FABER_DATA_DIR / "faber.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The queue is a hint, the run's row is the truth: jobs have no timeout, and leases and the sweep
# bring back what a dead worker held. The repeat after a day only clears the dead worker's row.
Q_CLUSTER = {
    "name": "faber",
    "orm": "default",
    "broker_class": "runs.jobs.queue.WokenBroker",
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
# Filled at the start of the site; see `faber_site.static_files`.
STATIC_ROOT = FABER_DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "faber_site.static_files.HashedFiles"},
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
FABER_TRUSTED_PROXIES = env.networks("FABER_TRUSTED_PROXIES")
X_FRAME_OPTIONS = "DENY"
# Browsers do not forget it: whoever runs the site decides, and for this host alone.
FABER_HSTS_SECONDS = env.number("FABER_HSTS_SECONDS", 0, most=10 * 365 * 24 * 3600)
SILENCED_SYSTEM_CHECKS = [
    "security.W004",  # no HSTS unless FABER_HSTS_SECONDS asks for it
    "security.W005",  # not for other hosts of the domain, which need not speak https
    "security.W021",  # nor into the browsers' own lists
]
SECURE_REFERRER_POLICY = "same-origin"
if _address.scheme == "https":
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]  # probes come without the proxy
    SECURE_HSTS_SECONDS = FABER_HSTS_SECONDS
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True

AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
_FORM_TARGETS = [SELF]
if FABER_GITHUB_CLIENT_ID:
    from faber_site.github import sign_in

    INSTALLED_APPS += sign_in.APPS
    MIDDLEWARE += sign_in.MIDDLEWARE
    AUTHENTICATION_BACKENDS += sign_in.BACKENDS
    _GITHUB = sign_in.web_address(FABER_GITHUB_API_URL)
    # A form that sends somebody to GitHub is a form that may go there.
    _FORM_TARGETS.append(_GITHUB)
    SOCIALACCOUNT_ADAPTER = "faber_site.github.linking.Linking"
    SOCIALACCOUNT_QUERY_EMAIL = False
    SOCIALACCOUNT_PROVIDERS = {
        "github": sign_in.provider(_GITHUB, FABER_GITHUB_CLIENT_ID, FABER_GITHUB_CLIENT_SECRET)
    }

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

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "faber_site.logs.SecretFree",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        # django-q2 installs a handler of its own unless this logger has one.
        "django-q": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        # It would say so at every request that has to wait for a thread.
        "waitress.queue": {"level": "ERROR"},
        "faber_site": {"level": "INFO"},
        "runs": {"level": "INFO"},
        "feedback": {"level": "INFO"},
        # It names addresses, which are secrets; why a notice failed is told without them.
        "apprise": {"handlers": [], "level": "WARNING", "propagate": False},
    },
}
