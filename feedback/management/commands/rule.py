import argparse
from typing import Any

from django.core.management.base import CommandParser

from feedback.models import StandingRule
from feedback.rules import listing, making
from feedback.rules.listing import ListedRule
from runs.accounts.membership import EVERYTHING
from runs.domain.values.events import timestamp
from runs.domain.values.standing.rules import Mode
from runs.terminal import identity, layout
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "List, disable and remove the standing rules, or stop all of them."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(
            dest="do", required=True, metavar="list | disable | remove | stop | start"
        )
        actions.add_parser("list", help="every rule, with how often it agreed with people")
        for name, told in (
            ("disable", "keep the rule, but have it decide nothing"),
            ("remove", "revoke the rule"),
        ):
            action = actions.add_parser(name, help=told)
            action.add_argument("rule", metavar="RULE", help="such as rule-3")
        actions.add_parser("stop", help="no rule decides any more")
        actions.add_parser("start", help="let the rules decide again")
        for action in actions.choices.values():
            action.add_argument("--json", action="store_true", default=argparse.SUPPRESS)

    def reply(self, **options: Any) -> Reply:
        match options["do"]:
            case "list":
                return self._list()
            case "stop" | "start" as do:
                making.switch(identity.cli_actor(), is_on=do == "start")
                told = "Rules decide again." if do == "start" else "All rules are stopped."
                return Reply(document={"on": do == "start"}, text=told)
        actor = identity.cli_actor()
        rule = making.find(options["rule"], seen_by=actor)
        if options["do"] == "remove":
            making.remove(rule, actor)
            return Reply(document=_shape(rule), text=f"{rule.name} is removed.")
        changed = making.set_mode(rule, Mode.OFF, actor)
        return Reply(document=_shape(changed), text=f"{rule.name} is off.")

    def _list(self) -> Reply:
        rules = listing.listed(EVERYTHING)
        header = ("RULE", "STATE", "EFFECT", "TOOL", "PATTERN", "PROJECT", "EXPIRES", "AGREED")
        table = layout.columns(header, [_row(each) for each in rules], colour=self.in_colour)
        stopped = "" if making.are_on() else "All rules are stopped: `faber rule start`.\n"
        return Reply(
            document={
                "on": making.are_on(),
                "items": [_shape(each.rule, each) for each in rules],
                "next_cursor": None,
            },
            text=f"{stopped}{table if rules else 'There are no rules.'}",
        )


def _row(each: ListedRule) -> tuple[object, ...]:
    rule, agreement = each.rule, each.agreement
    return (
        f"{rule.name}@{rule.version}",
        each.state,
        rule.effect,
        rule.tool,
        rule.pattern,
        rule.project.name,
        f"{rule.expires_at:%Y-%m-%d %H:%M}" if rule.expires_at else "never",
        f"{agreement.same} of {agreement.decided}" if agreement.decided else "",
    )


def _shape(rule: StandingRule, each: ListedRule | None = None) -> dict[str, object]:
    shape = {
        "name": rule.name,
        "version": rule.version,
        "project": rule.project.name,
        "tool": rule.tool,
        "pattern": rule.pattern,
        "effect": rule.effect,
        "mode": rule.mode,
        "expires": timestamp(rule.expires_at) if rule.expires_at else None,
        "made_by": rule.made_by,
        "made_at": timestamp(rule.made_at),
    }
    if each is None:
        return shape
    agreed = {"same": each.agreement.same, "other": each.agreement.other}
    return {**shape, "decisions": each.decisions, "agreement": agreed}
