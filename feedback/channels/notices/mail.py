"""Notices by mail: text and HTML, each request a thread of its own."""

import smtplib
from email.utils import formatdate
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.template.loader import render_to_string

from feedback.channels.notices.failures import SendingFailed
from feedback.channels.notices.text import Message


def send(to: str, message: Message, *, message_id: str, thread: str = "") -> None:
    """Send one mail; the same id again tells the receiver's server that it is the same mail."""
    headers = {"Message-ID": message_id, "Auto-Submitted": "auto-generated", "Date": formatdate()}
    if thread and thread != message_id:
        headers |= {"In-Reply-To": thread, "References": thread}
    subject = f"Re: {message.subject}" if "References" in headers else message.subject
    mail = EmailMultiAlternatives(
        subject=" ".join(subject.split()),
        body=message.plain,
        from_email=settings.FABER_EMAIL_FROM,
        to=[to],
        headers=headers,
        connection=get_connection(),
    )
    html = render_to_string("feedback/notice_mail.html", {"message": message})
    mail.attach_alternative(html, "text/html")
    try:
        mail.send()
    except smtplib.SMTPException as error:
        raise SendingFailed(_said(error)) from error
    except OSError as error:
        raise SendingFailed(_cause(error)) from error


def message_id(about: str, kind: str, receiver: str) -> str:
    """The same for the same notice, whoever sends it."""
    host = urlsplit(settings.FABER_BASE_URL).hostname or "localhost"
    return f"<faber.{about}.{kind}.{receiver}@{host}>"


def _said(error: smtplib.SMTPException) -> str:
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return "the mail server does not accept the name and password of FABER_EMAIL_URL"
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return "the mail server refused the recipient"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"the mail server answered {error.smtp_code}"
    return f"the mail server did not take it ({type(error).__name__})"


def _cause(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "the mail server did not answer in time"
    return f"the mail server was not reached: {error.strerror or type(error).__name__}"
