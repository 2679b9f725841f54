"""Messages that are rewritten in place: a Discord webhook's, and a Slack bot's in one channel.

Apprise can only send. Where an address asks for more than these two calls do, Apprise sends, and
what comes later is a message of its own.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import quote, urlsplit

from feedback.channels.notices import connections
from feedback.channels.notices.failures import SendingFailed
from feedback.channels.notices.text import Message

DISCORD, SLACK = "https://discord.com", "https://slack.com"
LONGEST_DISCORD = 2000
_SECONDS = 10.0
_MOST = 200_000  # bytes of an answer that are read

_DISCORD_URL = re.compile(
    r"(?:discord://|https://discord(?:app)?\.com/api/webhooks/)(?P<id>\d+)/(?P<token>[\w-]+)/?"
)
_SLACK_URL = re.compile(
    r"slack://(?:[^/@]+@)?(?P<token>xox[a-z]-[A-Za-z0-9-]+)/(?P<channel>(?:%23|#)?[\w.-]+)/?"
)

Reference = dict[str, str]
Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    status: int
    document: Mapping[str, object]


def can_edit(url: str) -> bool:
    return bool(_DISCORD_URL.fullmatch(url) or _SLACK_URL.fullmatch(url))


def is_editable(reference: Mapping[str, str]) -> bool:
    return "message" in reference


def send(url: str, message: Message) -> Reference:
    """Post it; gives what it is found by."""
    with connections.limited(url, only_public=False):
        if found := _DISCORD_URL.fullmatch(url):
            return _post_to_discord(found["id"], found["token"], message)
        if found := _SLACK_URL.fullmatch(url):
            channel = found["channel"].replace("%23", "#")
            return _post_to_slack(found["token"], channel, message)
    raise AssertionError("only for addresses that can be edited")


def edit(url: str, reference: Mapping[str, str], message: Message) -> Reference:
    """Put it in the place of an earlier message; one that somebody deleted stays deleted."""
    with connections.limited(url, only_public=False):
        if found := _DISCORD_URL.fullmatch(url):
            path = f"{_webhook(found['id'], found['token'])}/messages/{reference['message']}"
            answer = _call("PATCH", DISCORD, path, _discord(message))
            _check(answer, "Discord", also=404)
        elif found := _SLACK_URL.fullmatch(url):
            at = {"channel": reference["channel"], "ts": reference["message"]}
            _slack_call("chat.update", found["token"], {**at, **_slack(message)})
    return dict(reference)


def _post_to_discord(webhook: str, token: str, message: Message) -> Reference:
    answer = _call("POST", DISCORD, f"{_webhook(webhook, token)}?wait=true", _discord(message))
    _check(answer, "Discord")
    return {"message": str(answer.document.get("id", ""))}


def _webhook(number: str, token: str) -> str:
    return f"/api/webhooks/{number}/{quote(token)}"


def _discord(message: Message) -> Json:
    text = message.markdown
    cut = text if len(text) <= LONGEST_DISCORD else _ending_in_link(text, message)
    return {"content": cut, "allowed_mentions": {"parse": []}, "flags": 4}  # 4: no previews


def _ending_in_link(text: str, message: Message) -> str:
    end = f"…\n{message.url}"
    return text[: LONGEST_DISCORD - len(end)] + end


def _post_to_slack(token: str, channel: str, message: Message) -> Reference:
    said = _slack_call("chat.postMessage", token, {"channel": channel, **_slack(message)})
    return {"message": str(said.get("ts", "")), "channel": str(said.get("channel", channel))}


def _slack(message: Message) -> Json:
    return {"text": message.mrkdwn, "unfurl_links": False, "unfurl_media": False}


def _slack_call(method: str, token: str, document: Json) -> Mapping[str, object]:
    headers = {"Authorization": f"Bearer {token}"}
    answer = _call("POST", SLACK, f"/api/{method}", document, headers)
    _check(answer, "Slack")
    error = str(answer.document.get("error", ""))
    if answer.document.get("ok") is not True and error != "message_not_found":
        raise SendingFailed(f"Slack answered {error[:60] or 'nothing that is understood'}")
    return answer.document


def _check(answer: _Answer, service: str, also: int = 200) -> None:
    if not 200 <= answer.status < 300 and answer.status != also:
        raise SendingFailed(f"{service} answered {answer.status}")


def _call(
    method: str, base: str, path: str, document: Json, headers: Mapping[str, str] | None = None
) -> _Answer:
    parts = urlsplit(base)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.netloc, timeout=_SECONDS)
    typed = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "FABER"}
    try:
        connection.request(method, path, json.dumps(document).encode(), typed | dict(headers or {}))
        answer = connection.getresponse()
        return _Answer(status=answer.status, document=_read(answer.read(_MOST)))
    except (OSError, HTTPException) as error:
        cause = "did not answer in time" if isinstance(error, TimeoutError) else "was not reached"
        raise SendingFailed(f"{parts.hostname} {cause}") from error
    finally:
        connection.close()


def _read(body: bytes) -> Mapping[str, object]:
    try:
        document = json.loads(body or b"{}")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
