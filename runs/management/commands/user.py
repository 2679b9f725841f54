from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from runs.accounts import users
from runs.domain.values.actors import Role
from runs.domain.values.errors import Invalid, Problem
from runs.terminal import inputs
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Create an account."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("do", choices=["create"], metavar="create")
        parser.add_argument("name", metavar="NAME")
        roles = [role.value for role in Role]
        parser.add_argument("--role", choices=roles, default="reviewer", help="default: reviewer")
        parser.add_argument(
            "--password-stdin", action="store_true", help="read a password from standard input"
        )

    def reply(self, **options: Any) -> Reply:
        role = Role(options["role"])
        password = _password() if options["password_stdin"] else None
        name = users.create(options["name"], role=role, password=password).get_username()
        hint = "" if password else f" `faber login-link {name}` signs it in."
        return Reply(
            document={"name": name, "role": role.value},
            text=f"Account {name} is made, role {role.value}.{hint}",
        )


def _password() -> str:
    password = inputs.standard_text().rstrip("\r\n")
    try:
        validate_password(password)
    except ValidationError as error:
        raise Invalid([Problem("password", message) for message in error.messages]) from error
    return password
