"""What reaches a log is without secrets, whoever wrote the line."""

import logging
import secrets

from django.conf import settings

from faber_site.logs import SecretFree


def written(message: str, *args: object, error: BaseException | None = None) -> str:
    trace = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord("django.request", logging.ERROR, "x.py", 1, message, args, trace)
    return SecretFree("%(levelname)s %(name)s: %(message)s").format(record)


def test_a_sign_in_link_is_not_written() -> None:
    line = written("Internal Server Error: %s", "/login/link/WzEsImV5SWNLYXdNaEZtZmVU:1xTD7Q:AnLr/")

    assert line.startswith("ERROR django.request: Internal Server Error: /login/link/")
    assert "WzEsImV5SWNLYXdNaEZtZmVU" not in line


def test_the_sites_own_secrets_are_not_written() -> None:
    assert settings.SECRET_KEY not in written("The key is %s.", settings.SECRET_KEY)


def test_a_traceback_is_not_left_out_of_that() -> None:
    token = "faber_" + secrets.token_urlsafe(32)
    try:
        raise ValueError(token)  # noqa: TRY301
    except ValueError as error:
        told = written("It failed.", error=error)

    assert "Traceback" in told
    assert token not in told


def test_an_ordinary_line_stays_as_it_is() -> None:
    assert written("Sweeping %d runs.", 3) == "ERROR django.request: Sweeping 3 runs."
