import argparse
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from runs.accounts import github_links, users
from runs.accounts.github_links import Linked
from runs.chain import entries
from runs.domain.values.actors import Role
from runs.domain.values.errors import Invalid, Problem
from runs.terminal import identity, inputs, layout
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Create accounts and link them to GitHub."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(
            dest="do", required=True, metavar="create | link | unlink | links"
        )
        create = actions.add_parser("create", help="create an account")
        create.add_argument("name", metavar="NAME")
        roles = [role.value for role in Role]
        create.add_argument("--role", choices=roles, default="reviewer", help="default: reviewer")
        create.add_argument("--email", default="", metavar="ADDRESS", help="where notices go")
        create.add_argument(
            "--password-stdin", action="store_true", help="read the password from standard input"
        )
        link = actions.add_parser("link", help="link a GitHub login to an account")
        unlink = actions.add_parser("unlink", help="end that")
        for action in (link, unlink):
            action.add_argument("name", metavar="NAME")
            action.add_argument("login", metavar="LOGIN", help="on GitHub")
        actions.add_parser("links", help="list linked GitHub logins")
        for action in actions.choices.values():
            # After the action too, where people write it.
            action.add_argument("--json", action="store_true", default=argparse.SUPPRESS)

    def reply(self, **options: Any) -> Reply:
        match options["do"]:
            case "create":
                return _created(options)
            case "link":
                linked = github_links.link(users.find(options["name"]), options["login"])
                _tell(f"linked {linked.login} on GitHub to the account {linked.name}")
                said = f"{linked.login} on GitHub is now linked to the account {linked.name}."
                return Reply(document=_shape(linked), text=said)
            case "unlink":
                user, login = users.find(options["name"]), options["login"]
                github_links.unlink(user, login)
                name = user.get_username()
                _tell(f"ended the link of {login} on GitHub to {name}")
                said = f"{login} on GitHub is no longer linked to {name}."
                return Reply(document={"name": name, "github_login": login}, text=said)
            case _:
                return self._links()

    def _links(self) -> Reply:
        links = github_links.links()
        rows = [(linked.name, linked.login, linked.number) for linked in links]
        header = ("ACCOUNT", "GITHUB LOGIN", "GITHUB ID")
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
    return {"name": linked.name, "github_login": linked.login, "github_id": linked.number}


def _password() -> str:
    password = inputs.standard_text().rstrip("\r\n")
    try:
        validate_password(password)
    except ValidationError as error:
        raise Invalid([Problem("password", message) for message in error.messages]) from error
    return password
