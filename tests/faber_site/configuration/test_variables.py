"""Variables: every wrong one has its line, and one that nobody reads is named."""

import json
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from faber_site.configuration import databases, variables
from faber_site.configuration.values import mail_server
from tests.commands import environment, shell


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for field in variables.Variables.model_fields:
        monkeypatch.delenv(variables.variable(field), raising=False)
    return monkeypatch


def refusal(clean: pytest.MonkeyPatch, given: dict[str, str]) -> str:
    for name, value in given.items():
        clean.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as refused:
        variables.read()
    return str(refused.value)


def test_every_wrong_value_has_a_line_of_its_own(clean: pytest.MonkeyPatch) -> None:
    clean.setenv("FABER_PORT", "http")
    clean.setenv("FABER_WORKERS", "0")
    clean.setenv("FABER_SECRET_KEY", "guess-me")

    with pytest.raises(ImproperlyConfigured) as refused:
        variables.read()

    lines = str(refused.value).split("\n")
    assert len(lines) == 3
    assert "FABER_PORT='http' is not accepted; use a whole number from 1 to 65535." in lines
    assert "FABER_WORKERS='0' is not accepted; use a whole number from 1 to 200." in lines
    assert "guess-me" not in str(refused.value)
    assert refused.value.__cause__ is None  # a traceback would repeat the key


@pytest.mark.parametrize(
    ("name", "value", "shown", "accepted"),
    [
        ("HOST", "a b", "a b", "an address or a host name such as"),
        ("HOST", "http://x", "http://x", "an address or a host name such as"),
        ("HOST", "[::1]", "[::1]", "an address or a host name such as"),
        ("ALLOWED_HOSTS", "x.org,a b", "a b", "host names such as"),
        ("ALLOWED_HOSTS", "x.org:8000", "x.org:8000", "host names such as"),
        ("PYTHON_STEPS", "acme,a-b", "a-b", "module names such as"),
        ("GITHUB_ALLOW", "rita,a b", "a b", "logins such as"),
        ("GITLAB_ALLOW", "@rita", "@rita", "logins such as"),
        ("WORKER_LABELS", "gpu,A B", "A B", "labels such as"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(
    clean: pytest.MonkeyPatch, name: str, value: str, shown: str, accepted: str
) -> None:
    told = refusal(clean, {f"FABER_{name}": value})

    assert told.startswith(f"FABER_{name}={shown!r} is not accepted; use {accepted}")
    assert "\n" not in told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("HOST", host) for host in ("127.0.0.1", "::", "::1", "faber_web-1.internal", "box")),
        *(("ALLOWED_HOSTS", host) for host in ("*", ".example.org", "[::1]", "10.0.0.1")),
        ("PYTHON_STEPS", "acme.steps_2"),
        ("GITHUB_ALLOW", "Rita-k_acme"),
        ("GITLAB_ALLOW", "rita.k"),
    ],
)
def test_a_name_of_its_kind_is_taken(clean: pytest.MonkeyPatch, name: str, value: str) -> None:
    clean.setenv(f"FABER_{name}", value)

    assert getattr(variables.read(), name.lower()) in (value, (value,))


def test_a_client_command_refuses_what_only_the_site_uses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    surroundings = environment(tmp_path) | {"FABER_ALLOWED_HOSTS": "a b"}
    monkeypatch.setattr("tests.commands.environment", lambda _folder: surroundings)

    done = shell(tmp_path, "status")

    assert done.code == 2
    assert done.err.startswith("FABER_ALLOWED_HOSTS='a b' is not accepted; use host names")


@pytest.mark.parametrize("blank", ["", " ", "\t"])
def test_a_blank_value_is_none(clean: pytest.MonkeyPatch, blank: str) -> None:
    clean.setenv("FABER_WORKERS", blank)
    clean.setenv("FABER_BASE_URL", blank)

    given = variables.read()

    assert (given.workers, given.base_url) == (12, None)


@pytest.mark.parametrize(
    "address", ["ftp://faber.example.org", "faber.example.org", "https://example.org/faber"]
)
def test_a_site_has_an_address_without_a_path(clean: pytest.MonkeyPatch, address: str) -> None:
    clean.setenv("FABER_BASE_URL", address)

    with pytest.raises(ImproperlyConfigured, match=r"^FABER_BASE_URL='.*' is not accepted"):
        variables.read()


def test_a_misspelt_name_is_a_warning_with_the_nearest(tmp_path: Path) -> None:
    warned = list(variables.misspelt({"FABER_WOKERS": "3", "FABER_PORT": "1", "PATH": "/bin"}))

    assert warned == [
        "FABER_WOKERS is set, but FABER does not know it. Did you mean FABER_WORKERS?"
    ]


@pytest.mark.parametrize(
    ("name", "meant"), [("FABER_PROT", "FABER_PORT"), ("FABER_PROMTP", "FABER_PROMPT")]
)
def test_a_swapped_pair_of_letters_is_one_mistake(name: str, meant: str) -> None:
    [warned] = variables.misspelt({name: "1"})

    assert warned.endswith(f" Did you mean {meant}?")


@pytest.mark.parametrize("name", ["FABER_RUN_ID", "FABER_INPUT_TARGET_NAME", "FABER_URL"])
def test_what_steps_and_clients_are_given_is_known(name: str) -> None:
    assert list(variables.misspelt({name: "x"})) == []


def test_a_command_warns_on_standard_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    surroundings = environment(tmp_path) | {"FABER_DATABSE_URL": "postgres://x"}
    monkeypatch.setattr("tests.commands.environment", lambda _folder: surroundings)

    done = shell(tmp_path, "render", stdin="text")

    assert done.out == '<p data-end="1" data-line="1">text</p>\n'
    assert done.err == (
        "WARNING: FABER_DATABSE_URL is set, but FABER does not know it."
        " Did you mean FABER_DATABASE_URL?\n"
    )


def test_what_keeps_a_log_warns_in_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    misspelt = {"FABER_LOG_FORMAT": "json", "FABER_WROKERS": "3"}
    surroundings = environment(tmp_path) | misspelt
    monkeypatch.setattr("tests.commands.environment", lambda _folder: surroundings)

    [line] = shell(tmp_path, "work", "--help").err.splitlines()

    warned = json.loads(line)
    assert warned["level"] == "WARNING"
    assert warned["message"].endswith("Did you mean FABER_WORKERS?")


def test_a_database_that_does_not_answer_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nobody = "postgres://rita:secret@127.0.0.1:1/faber"
    surroundings = environment(tmp_path) | {"FABER_DATABASE_URL": nobody}
    monkeypatch.setattr("tests.commands.environment", lambda _folder: surroundings)

    asked, served = shell(tmp_path, "pending"), shell(tmp_path, "web")

    for done in (asked, served):
        assert done.code == 1
        assert done.err.startswith("The database does not answer (")
        assert done.err.endswith("Start it, or check FABER_DATABASE_URL and FABER_DATA_DIR.\n")
        assert "secret" not in done.err


def test_an_address_of_postgres_is_read_as_libpq_reads_it(tmp_path: Path) -> None:
    found = databases.settings_for(
        "postgresql://rita:p%40ss@db.example:5433/faber?sslmode=require", tmp_path
    )
    over_socket = databases.settings_for("postgres:///faber?host=/run/postgresql", tmp_path)

    named = [found[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")]
    assert named == ["faber", "rita", "p@ss", "db.example", "5433"]
    assert found["OPTIONS"] == {
        "server_side_binding": True,
        "prepare_threshold": 3,
        "sslmode": "require",
    }
    assert over_socket["HOST"] == "/run/postgresql"


@pytest.mark.parametrize("url", ["mysql://u:secret@h/x", "postgres://u:secret@h/x?no=1"])
def test_an_address_of_another_kind_is_refused_without_its_password(
    url: str, tmp_path: Path
) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        databases.settings_for(url, tmp_path)

    assert str(refused.value).endswith("is not accepted; use postgres://… or sqlite:///….")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "port", "starttls", "tls"),
    [
        ("smtp://mail.example.org", 25, False, False),
        ("smtp+tls://r%40x:p%2Fw@mail.example.org", 587, True, False),
        ("smtps://r%40x:p%2Fw@mail.example.org:4465", 4465, False, True),
    ],
)
def test_the_address_of_a_mail_server_says_how_it_is_spoken_to(
    address: str, port: int, starttls: bool, tls: bool
) -> None:
    server = mail_server(address)

    assert server
    assert (server.host, server.port) == ("mail.example.org", port)
    assert (server.starttls, server.tls) == (starttls, tls)
    assert (server.user, server.password) in (("", ""), ("r@x", "p/w"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FABER_EMAIL_URL", "http://s3cr3t@mail.example.org"),
        ("FABER_NOTIFY_URLS", "json://fine/s3cr3t,syslog://s3cr3t"),
        ("FABER_NOTIFY_URLS", "s3cr3t"),
    ],
)
def test_where_notices_go_is_refused_without_being_repeated(
    clean: pytest.MonkeyPatch, name: str, value: str
) -> None:
    clean.setenv(name, value)

    with pytest.raises(ImproperlyConfigured, match=name) as refused:
        variables.read()

    assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"FABER_QUEUE": "kafka"},
            "FABER_QUEUE='kafka' is not accepted; use database or celery.",
        ),
        (
            {"FABER_QUEUE": "celery"},
            "FABER_QUEUE='celery' is not accepted without FABER_CELERY_BROKER_URL; set it to the"
            " address of your Redis or RabbitMQ.",
        ),
        (
            {"FABER_QUEUE": "celery", "FABER_CELERY_BROKER_URL": "sqs://rita:s3cr3t@queue"},
            "FABER_CELERY_BROKER_URL=… is not accepted; use redis://HOST:PORT/NUMBER or"
            " amqp://USER:PASSWORD@HOST:PORT/VHOST.",
        ),
        *(
            (
                {"FABER_QUEUE": "celery", "FABER_CELERY_BROKER_URL": address},
                "FABER_CELERY_BROKER_URL=… is not accepted; use redis://HOST:PORT/NUMBER or"
                " amqp://USER:PASSWORD@HOST:PORT/VHOST.",
            )
            for address in ("redis://:s3cr3t@broker:none/0", "redis://:s3cr3t@broker/jobs")
        ),
    ],
)
def test_a_queue_that_cannot_be_had_is_refused_in_one_line(
    clean: pytest.MonkeyPatch, given: dict[str, str], sentence: str
) -> None:
    assert refusal(clean, given) == sentence


@pytest.mark.parametrize(
    ("address", "used"),
    [
        ("redis://broker", "redis://broker"),
        ("amqps://rita:pw@broker/faber", "amqps://rita:pw@broker/faber"),
        ("rediss://:pw@broker:6380/3", "rediss://:pw@broker:6380/3?ssl_cert_reqs=required"),
        (
            "rediss://broker/0?ssl_ca_certs=/ca.pem",
            "rediss://broker/0?ssl_ca_certs=/ca.pem&ssl_cert_reqs=required",
        ),
        ("rediss://broker/0?ssl_cert_reqs=none", "rediss://broker/0?ssl_cert_reqs=none"),
    ],
)
def test_redis_and_rabbitmq_are_brokers_and_certificates_are_verified(
    clean: pytest.MonkeyPatch, address: str, used: str
) -> None:
    clean.setenv("FABER_QUEUE", "celery")
    clean.setenv("FABER_CELERY_BROKER_URL", address)

    assert variables.read().celery_broker_url == used


PROVIDER = {
    "FABER_OIDC_ISSUER": "https://login.example.org",
    "FABER_OIDC_CLIENT_ID": "faber",
    "FABER_OIDC_CLIENT_SECRET": "hush",
}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {**PROVIDER, "FABER_OIDC_ROLES": "devs=reviewer,leads=boss"},
            "FABER_OIDC_ROLES='leads=boss' is not accepted; use GROUP=ROLE,GROUP=ROLE with the"
            " roles viewer, reviewer, operator, admin.",
        ),
        (
            {**PROVIDER, "FABER_OIDC_ISSUER": "http://login.example.org"},
            "FABER_OIDC_ISSUER='http://login.example.org' is not accepted; use an https address"
            " such as https://login.example.org.",
        ),
        (
            {"FABER_OIDC_ISSUER": "https://login.example.org"},
            "Single sign-on also needs FABER_OIDC_CLIENT_ID and FABER_OIDC_CLIENT_SECRET.",
        ),
        (
            {"FABER_LOCAL_SIGN_IN": "off"},
            "FABER_LOCAL_SIGN_IN=off is not accepted without FABER_OIDC_ISSUER:"
            " nobody could sign in.",
        ),
    ],
)
def test_a_provider_is_set_up_whole_or_not_at_all(
    clean: pytest.MonkeyPatch, given: dict[str, str], sentence: str
) -> None:
    assert refusal(clean, given) == sentence


def test_accounts_are_made_by_themselves_only_where_groups_decide(
    clean: pytest.MonkeyPatch,
) -> None:
    for name, value in PROVIDER.items():
        clean.setenv(name, value)
    assert not variables.read().creates_accounts

    clean.setenv("FABER_OIDC_ROLES", "cn=leads=operator, devs=reviewer")
    given = variables.read()
    assert given.oidc_roles == (("cn=leads", "operator"), ("devs", "reviewer"))
    assert given.creates_accounts

    clean.setenv("FABER_OIDC_CREATE_ACCOUNTS", "off")
    assert not variables.read().creates_accounts


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "OTLP_ENDPOINT",
            "collector:4318",
            "'collector:4318' is not accepted; use an address like",
        ),
        ("OTLP_HEADERS", "Bearer hush-hush", "… is not accepted; use NAME=VALUE,NAME=VALUE."),
        ("SENTRY_DSN", "https://sentry.example.org/hush-hush", "… is not accepted; use a DSN like"),
    ],
)
def test_where_traces_and_errors_go_is_refused_without_secrets(
    clean: pytest.MonkeyPatch, name: str, value: str, sentence: str
) -> None:
    said = refusal(clean, {f"FABER_{name}": value})

    assert said.startswith(f"FABER_{name}={sentence}")
    assert "hush" not in said
