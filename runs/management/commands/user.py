import argparse
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from runs.accounts import tracker_links, users
from runs.accounts.tracker_links import Linked
from runs.chain import entries
from runs.domain.values.actors import Role
from runs.domain.values.errors import Invalid, Problem
from runs.terminal import identity, inputs, layout
from runs.terminal.console import FaberCommand, Reply
from runs.trackers import Tracker


class Command(FaberCommand):
    help = "Create accounts and link them to GitHub or GitLab."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(
            dest="do", required=True, metavar="create | link | unlink | links"
        )
        create = actions.add_parser("create", help="create an account")
        create.add_argument("name", metavar="NAME", help="the account to create")
        roles = [role.value for role in Role]
        create.add_argument("--role", choices=roles, default="reviewer", help="default: reviewer")
        create.add_argument("--email", default="", metavar="ADDRESS", help="where notices go")
        create.add_argument(
            "--password-stdin", action="store_true", help="read the password from standard input"
        )
        link = actions.add_parser("link", help="link a GitHub or GitLab login to an account")
        unlink = actions.add_parser("unlink", help="end that")
        for action in (link, unlink):
            action.add_argument("name", metavar="NAME", help="an account")
            action.add_argument("login", metavar="LOGIN", help="on GitHub or GitLab")
            action.add_argument(
                "--on", choices=list(Tracker), default=Tracker.GITHUB, help="default: github"
            )
        actions.add_parser("links", help="list linked logins")
        for action in actions.choices.values():
            # After the action too, where people write it.
            action.add_argument("--json", action="store_true", default=argparse.SUPPRESS)

    def reply(self, **options: Any) -> Reply:
        match options["do"]:
            case "create":
                return _created(options)
            case "link":
                tracker = Tracker(options["on"])
                linked = tracker_links.link(users.find(options["name"]), options["login"], tracker)
                there = f"{linked.login} on {tracker.label}"
                _tell(f"linked {there} to the account {linked.name}")
                said = f"{there} is now linked to the account {linked.name}."
                return Reply(document=_shape(linked), text=said)
            case "unlink":
                user, login = users.find(options["name"]), options["login"]
                tracker = Tracker(options["on"])
                tracker_links.unlink(user, login, tracker)
                name, there = user.get_username(), f"{login} on {tracker.label}"
                _tell(f"ended the link of {there} to {name}")
                said = f"{there} is no longer linked to {name}."
                return Reply(document={"name": name, f"{tracker}_login": login}, text=said)
            case _:
                return self._links()

    def _links(self) -> Reply:
        links = tracker_links.links()
        rows = [
            (linked.name, linked.tracker.label, linked.login, linked.number) for linked in links
        ]
        header = ("ACCOUNT", "ON", "LOGIN", "ID")
        return Reply(
            document={"items": [_shape(linked) for linked in links], "next_cursor": None},
            text=layout.columns(header, rows, colour=self.in_colour)
            if rows
            else "No linked accounts.",
        )


def _created(options: dict[str, Any]) -> Reply:
    role = Role(options["role"])
    password = _password() if options["password_stdin"] else None
    email = options["email"].strip()
    user = users.create(options["name"], role=role, password=password, email=email)
    name = user.get_username()
    _tell(f"made the account {name}, role {role.value}")
    hint = "" if password else f" Sign in with `faber login-link {name}`."
    return Reply(
        document={"name": name, "role": role.value},
        text=f"Account {name} created, role {role.value}.{hint}",
    )


def _tell(what: str) -> None:
    entries.rule(identity.cli_actor(), what)


def _shape(linked: Linked) -> dict[str, object]:
    on = linked.tracker
    return {"name": linked.name, f"{on}_login": linked.login, f"{on}_id": linked.number}


def _password() -> str:
    password = inputs.standard_text().rstrip("\r\n")
    try:
        validate_password(password)
    except ValidationError as error:
        raise Invalid([Problem("password", message) for message in error.messages]) from error
    return password
