from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.management.base import CommandParser

from runs.accounts import forwarding, permissions
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.ids import check_project
from runs.models import Project
from runs.pages.projects import settings
from runs.pages.projects.forms import ProjectForm
from runs.pages.projects.settings import KEYS
from runs.terminal import identity, layout
from runs.terminal.console import FaberCommand, Reply

_WORDS = {True: ("yes", "true", "on", "1"), False: ("no", "false", "off", "0", "")}
_LABEL = max(map(len, KEYS)) + 2


class Command(FaberCommand):
    help = "Show or change a project's settings, or list projects."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", metavar="NAME", help="ORG/NAME")
        parser.add_argument(
            "--set",
            nargs="+",
            action="extend",
            default=[],
            metavar="KEY=VALUE",
            help=f"{', '.join(KEYS)}; separate several names with commas; an empty value resets",
        )
        parser.add_argument(
            "--webhook-secret",
            action="store_true",
            help="create a secret for forwarding comments and show it once",
        )

    def reply(self, **options: Any) -> Reply:
        wanted: list[str] = options["set"]
        if not options["name"]:
            if wanted or options["webhook_secret"]:
                raise Invalid([Problem("NAME", "give a project as ORG/NAME")])
            return self._listed()
        if wanted:
            actor = identity.cli_actor()
            permissions.check_may_operate(actor)
            _change(options["name"], _pairs(wanted), actor)
        project = settings.find(options["name"], seen_by=None)
        if options["webhook_secret"]:
            return self._new_secret(project)
        shape = settings.shape(project)
        return Reply(document=shape, text=_card(shape))

    def _new_secret(self, project: Project) -> Reply:
        permissions.check_may_operate(identity.cli_actor())
        secret = forwarding.renew(project)
        self.say(f"Deliveries to {forwarding.address_of(project)} are signed with this secret.")
        self.say("It is shown only once. The project's earlier secret no longer works.")
        return Reply(document={"name": project.name, "webhook_secret": secret}, text=secret)

    def _listed(self) -> Reply:
        shapes = [settings.shape(project) for project in Project.objects.order_by("name")]
        rows = [
            (shape["name"], _word(shape["worktree"]), _word(shape["exclusive"]), shape["workspace"])
            for shape in shapes
        ]
        header = ("PROJECT", "WORKTREE", "EXCLUSIVE", "FOLDER")
        return Reply(
            document={"items": shapes, "next_cursor": None},
            text=layout.columns(header, rows, colour=self.in_colour)
            if rows
            else "No projects yet.",
        )


def _pairs(wanted: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    problems = []
    for pair in wanted:
        name, equals, value = pair.partition("=")
        key = name.strip().replace("-", "_")
        if not equals:
            problems.append(Problem(pair, "write it as KEY=VALUE"))
        elif key not in KEYS:
            problems.append(Problem(name, f"cannot be set; use one of {', '.join(KEYS)}"))
        pairs[key] = value.strip()
    if problems:
        raise Invalid(problems)
    return pairs


def _change(name: str, pairs: Mapping[str, str], actor: Actor) -> None:
    """All of it or nothing; a project that nobody knows yet is made with its folder."""
    known = Project.objects.filter(name__iexact=name).first()
    if known is None and not pairs.get("workspace"):
        settings.find(name, seen_by=None)  # says that there is none
    project = known or Project(name=check_project(name))
    form = ProjectForm(_filled_in(ProjectForm(project=project), pairs), project=project)
    if not form.is_valid():
        raise Invalid(
            Problem(key, str(message))
            for key, messages in form.errors.items()
            for message in messages
        )
    if known is None:
        Project.objects.get_or_create(name=project.name)
        form.instance = settings.find(name, seen_by=None)
    form.change(actor)


def _filled_in(form: ProjectForm, pairs: Mapping[str, str]) -> dict[str, Any]:
    """The form as it stands, with some of its fields changed."""
    data = {bound.name: bound.value() for bound in form}
    for key, value in pairs.items():
        is_switch = isinstance(form.fields[key], forms.BooleanField)
        data[key] = _switch(key, value) if is_switch else value
    return {key: "" if value is None else value for key, value in data.items()}


def _switch(key: str, value: str) -> bool:
    for meaning, words in _WORDS.items():
        if value.lower() in words:
            return meaning
    raise Invalid([Problem(key, f"{value!r} is not yes or no")])


def _card(shape: Mapping[str, object]) -> str:
    lines = [f"  {key:<{_LABEL}}{_word(shape[key])}".rstrip() for key in KEYS]
    return layout.clean("\n".join([str(shape["name"]), *lines]))


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return str(value) if value not in (None, "") else "–"
