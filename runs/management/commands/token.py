import argparse
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from runs.accounts import permissions, tokens, users
from runs.chain import entries
from runs.domain.values.actors import Role, Scope
from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.events import timestamp
from runs.models import AccessToken
from runs.pages.projects import settings
from runs.terminal import identity, layout
from runs.terminal.console import FaberCommand, Reply

MOST_DAYS = 3650


class Command(FaberCommand):
    help = "Create, list and revoke API tokens."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="do", required=True, metavar="create | list | revoke")
        create = actions.add_parser("create", help="create a token and show it once")
        create.add_argument("name", metavar="NAME", help="a name of its own, for the record")
        scopes = [scope.value for scope in Scope]
        create.add_argument("--scope", choices=scopes, required=True, help="what it may do")
        create.add_argument("--user", metavar="U", help="the account it acts for")
        create.add_argument(
            *("--project", "-p"),
            action="append",
            default=[],
            metavar="P",
            help="limit the token to this project; repeat for several",
        )
        create.add_argument(
            "--days", type=int, metavar="N", help="days until it expires; default: never"
        )
        actions.add_parser("list", help="list tokens, without their secrets")
        revoke = actions.add_parser("revoke", help="revoke a token immediately")
        revoke.add_argument("name", metavar="NAME", help="a token of `list`")
        for action in actions.choices.values():
            # After the action too, where people write it.
            action.add_argument("--json", action="store_true", default=argparse.SUPPRESS)

    def reply(self, **options: Any) -> Reply:
        match options["do"]:
            case "create":
                return self._create(options)
            case "revoke":
                token = tokens.revoke(options["name"])
                entries.rule(identity.cli_actor(), f"revoked the token {token.name}")
                return Reply(document=_shape(token), text=f"Token {token.name} revoked.")
            case _:
                return self._list()

    def _create(self, options: dict[str, Any]) -> Reply:
        user = users.find(options["user"]) if options["user"] else None
        days = options["days"]
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise Invalid([Problem("days", f"is a number from 1 to {MOST_DAYS}")])
        token, secret = tokens.create(
            options["name"],
            scope=Scope(options["scope"]),
            user=user,
            expires_at=timezone.now() + timedelta(days=days) if days else None,
            projects=[settings.find(name, seen_by=None) for name in options["project"]],
        )
        if not permissions.may_act(tokens.actor_of(token)):
            self.say(f"{options['user']} is a {Role.VIEWER}, so this token only reads.")
        self.say("Shown only once; FABER stores only its hash.")
        shape = _shape(token)
        entries.rule(identity.cli_actor(), f"made the token {token.name}: {_told(shape)}")
        kept = ("name", "scope", "user", *(("projects",) if token.is_bound else ()))
        document = {key: shape[key] for key in kept}
        return Reply(document={**document, "token": secret}, text=secret)

    def _list(self) -> Reply:
        known = list(AccessToken.objects.select_related("user").prefetch_related("projects"))
        rows = [(t.name, t.scope, t.user or "", _bound(t), _state(t), _used(t)) for t in known]
        header = ("NAME", "SCOPE", "USER", "PROJECTS", "STATE", "LAST USED")
        return Reply(
            document={"items": [_shape(token) for token in known], "next_cursor": None},
            text=layout.columns(header, rows, colour=self.in_colour) if rows else "No tokens.",
        )


def _state(token: AccessToken) -> str:
    if token.revoked_at:
        return "revoked"
    if token.expires_at and token.expires_at <= timezone.now():
        return "expired"
    return f"until {token.expires_at:%Y-%m-%d}" if token.expires_at else "valid"


def _told(shape: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {shape[key]}" for key in ("scope", "user", "projects") if shape[key])


def _bound(token: AccessToken) -> str:
    names = ", ".join(str(project) for project in token.projects.all())
    return names or ("none left" if token.is_bound else "any")


def _used(token: AccessToken) -> str:
    return f"{layout.age(token.last_used_at)} ago" if token.last_used_at else "never"


def _shape(token: AccessToken) -> dict[str, object]:
    return {
        "name": token.name,
        "scope": token.scope,
        "user": token.user.get_username() if token.user else None,
        "projects": [project.name for project in token.projects.all()] if token.is_bound else None,
        "created_at": timestamp(token.created_at),
        "expires_at": timestamp(token.expires_at) if token.expires_at else None,
        "last_used_at": timestamp(token.last_used_at) if token.last_used_at else None,
        "revoked_at": timestamp(token.revoked_at) if token.revoked_at else None,
    }
