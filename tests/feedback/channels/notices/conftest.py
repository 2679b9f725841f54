"""Receivers on this machine, and people who can be reached."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from runs.accounts import users
from runs.domain.values.actors import Role
from tests import mail_sink, receiver
from tests.mail_sink import MailSink
from tests.receiver import Receiver


@pytest.fixture
def webhook(settings: Settings) -> Iterator[Receiver]:
    """A program that the site tells of everything."""
    with receiver.running() as hook:
        settings.FABER_NOTIFY_URLS = (f"json://127.0.0.1:{hook.port}/told/s3cr3t-path",)
        yield hook


@pytest.fixture
def post(settings: Settings) -> Iterator[MailSink]:
    """A mail server that the site sends through."""
    with mail_sink.running() as sink:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", sink.port
        settings.FABER_EMAIL_URL = sink.url
        yield sink


@pytest.fixture
def rita(db: None) -> User:
    user = users.create("rita", role=Role.REVIEWER)
    user.email = "rita@example.org"
    user.save()
    return user
