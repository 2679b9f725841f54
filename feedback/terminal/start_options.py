"""What `run` and `batch start` are told: one workflow, for one work id or for many."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from runs.domain.planning.batch import listed
from runs.domain.planning.budgets import read_budget
from runs.domain.values.errors import Invalid, Problem
from runs.domain.workflow.definition import Budget
from runs.engine.batches import AT_ONCE, BatchWish
from runs.engine.starting import Wish


def add_to(parser: CommandParser) -> None:
    parser.add_argument(
        "workflow", metavar="WORKFLOW", help="a workflow file (JSON or YAML) or a known id"
    )
    parser.add_argument(
        "--work-id",
        default="",
        metavar="ID[,ID]",
        help="issue to work on; several ids start a batch",
    )
    parser.add_argument("--project", default="", metavar="ORG/NAME", help="default: from git")
    parser.add_argument("--workspace", default=".", metavar="DIR", help="default: this folder")
    parser.add_argument(
        "--target", action="append", default=[], metavar="T", help="what to work on"
    )
    parser.add_argument(
        "--autonomy", default="", metavar="LEVEL", help="override the workflow's autonomy"
    )
    add_budget(parser)
    parser.add_argument("--phase", metavar="A,B", help="only these phases")
    parser.add_argument("--step", default="", metavar="PHASE:STEP", help="only this step")
    parser.add_argument("--prompt", default="", metavar="TEXT", help="more instructions")
    parser.add_argument("--input", action="append", default=[], metavar="K=V", help="a placeholder")


def add_budget(parser: CommandParser) -> None:
    parser.add_argument(
        "--budget",
        default="",
        metavar="USD",
        help="dollars that agents may cost before the run asks; `500000tokens` limits tokens",
    )


def budget_of(options: dict[str, Any]) -> Budget | None:
    return read_budget(options["budget"]) if options["budget"] else None


def is_for_many(options: dict[str, Any]) -> bool:
    return "," in options["work_id"] or len(options["target"]) > 1


def wish_of(options: dict[str, Any]) -> Wish:
    if options["phase"] is not None and options["step"]:
        raise Invalid([Problem("", "Use --phase or --step, not both.")])
    many = is_for_many(options)
    return Wish(
        workflow=options["workflow"],
        workspace=Path(options["workspace"]),
        project=options["project"],
        work_id="" if many else options["work_id"],
        target=options["target"][0] if len(options["target"]) == 1 else "",
        autonomy=options["autonomy"],
        phases=() if options["phase"] is None else tuple(options["phase"].split(",")),
        step=options["step"],
        prompt=options["prompt"],
        inputs=dict(map(_input, options["input"])),
        budget=budget_of(options),
    )


def batch_wish_of(options: dict[str, Any]) -> BatchWish:
    return BatchWish(
        wish=wish_of(options),
        work_ids=listed(options["work_id"]),
        targets=options["target"],
        concurrency=options.get("concurrency", AT_ONCE),
        issue=options.get("issue", ""),
    )


def _input(given: str) -> tuple[str, str]:
    key, separator, value = given.partition("=")
    if not (separator and key.strip()):
        raise Invalid([Problem("input", f"{given!r} is not an input; write it as NAME=VALUE")])
    return key.strip(), value
