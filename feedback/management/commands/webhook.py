import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.management.base import CommandParser

from feedback.channels.webhooks import deliveries, endpoints, events, sending
from feedback.models import WebhookDelivery, WebhookEndpoint
from runs.domain.values.actors import Actor
from runs.pages.projects import settings
from runs.terminal import identity, layout
from runs.terminal.console import FaberCommand, Reply

_ACTIONS = "add | list | remove | rotate | deliveries | redeliver"


class Command(FaberCommand):
    help = "Have an address called when requests are opened or decided and when runs end."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="do", required=True, metavar=_ACTIONS)
        add = actions.add_parser("add", help="make a webhook and show its secret once")
        add.add_argument("url", metavar="URL", help="where the events are sent")
        add.add_argument(
            "--event",
            action="append",
            default=[],
            metavar="E",
            help=f"several separated by commas; default: all of {', '.join(events.WebhookEvent)}",
        )
        add.add_argument("--project", "-p", metavar="P", help="default: every project")
        actions.add_parser("list", help="show every webhook, never its secret")
        for name, told in (
            ("remove", "end a webhook and forget its deliveries"),
            ("rotate", "make a new secret and show it once"),
        ):
            one = actions.add_parser(name, help=told)
            one.add_argument("id", metavar="ID", help="a webhook of `list`")
        sent = actions.add_parser("deliveries", help="show what was sent, the newest first")
        sent.add_argument("id", nargs="?", metavar="ID", help="of this webhook")
        again = actions.add_parser("redeliver", help="send a delivery again, under the same id")
        again.add_argument("delivery", metavar="DELIVERY", help="its id in `deliveries`")
        for action in actions.choices.values():
            # After the action too, where people write it.
            action.add_argument("--json", action="store_true", default=argparse.SUPPRESS)

    def reply(self, **options: Any) -> Reply:
        actor = identity.cli_actor()
        match options["do"]:
            case "add":
                return self._add(options, actor)
            case "remove":
                endpoint = endpoints.find(options["id"], actor)
                endpoints.remove(endpoint, actor)
                shape = endpoints.shape(endpoint)
                return Reply(document=shape, text=f"Webhook {endpoint} is removed.")
            case "rotate":
                return self._rotate(endpoints.find(options["id"], actor), actor)
            case "deliveries":
                return self._deliveries(options["id"], actor)
            case "redeliver":
                return _redeliver(endpoints.find_delivery(options["delivery"], actor))
            case _:
                return self._list(endpoints.listed(actor))

    def _add(self, options: Mapping[str, Any], actor: Actor) -> Reply:
        named = [name for given in options["event"] for name in given.split(",")]
        project = settings.find(options["project"], seen_by=None) if options["project"] else None
        endpoint = endpoints.add(options["url"], events.read(named), project=project, actor=actor)
        self.say(f"Webhook {endpoint} is added. Its secret is shown once:")
        document = endpoints.added_shape(endpoint)
        return Reply(document=document, text=str(document["secret"]))

    def _rotate(self, endpoint: WebhookEndpoint, actor: Actor) -> Reply:
        secret = endpoints.rotate(endpoint, actor)
        self.say("This secret is shown once. For 24 hours the old one signs deliveries too.")
        return Reply(document={"id": endpoint.endpoint_id, "secret": secret}, text=secret)

    def _list(self, known: Sequence[WebhookEndpoint]) -> Reply:
        rows = [
            (e, e.project or "every project", _state(e), ", ".join(e.events), e.url) for e in known
        ]
        header = ("ID", "PROJECT", "STATE", "EVENTS", "URL")
        return Reply(
            document={"items": [endpoints.shape(each) for each in known], "next_cursor": None},
            text=layout.columns(header, rows, colour=self.in_colour)
            if rows
            else "There are no webhooks.",
        )

    def _deliveries(self, endpoint_id: str | None, actor: Actor) -> Reply:
        of = [endpoints.find(endpoint_id, actor)] if endpoint_id else endpoints.listed(actor)
        found = deliveries.newest(of)
        rows = [
            (
                d,
                d.endpoint,
                d.event,
                deliveries.state_of(d),
                _code(d),
                layout.age(d.created_at),
                d.subject,
            )
            for d in found
        ]
        header = ("DELIVERY", "WEBHOOK", "EVENT", "STATE", "CODE", "AGE", "ABOUT")
        return Reply(
            document={"items": [deliveries.shape(each) for each in found], "next_cursor": None},
            text=layout.columns(header, rows, colour=self.in_colour)
            if rows
            else "No deliveries yet.",
        )


def _redeliver(delivery: WebhookDelivery) -> Reply:
    sending.send_again(WebhookDelivery.objects.filter(pk=delivery.pk))
    delivery.refresh_from_db()
    text = f"{delivery} is sent again by the next free worker."
    return Reply(document=deliveries.shape(delivery), text=text)


def _state(endpoint: WebhookEndpoint) -> str:
    if endpoint.disabled_at:
        return "switched off"
    return "failing" if endpoint.failures else "on"


def _code(delivery: WebhookDelivery) -> str:
    return str(delivery.response_code or "–")
