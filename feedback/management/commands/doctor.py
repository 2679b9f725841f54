from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from feedback.doctor import diagnosis, proxy, room
from feedback.doctor.finding import Finding
from feedback.upkeep import disk
from runs.domain.values.events import timestamp
from runs.domain.values.numbers import number_of
from runs.domain.values.status import RunStatus
from runs.terminal.console import FaberCommand, Reply, exit_code_of
from runs.workspaces.agents import missing_by_default


class Command(FaberCommand):
    help = "Find problems and apply safe fixes."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--fix", action="store_true", help="apply all safe fixes")

    def reply(self, **options: Any) -> Reply:
        found = diagnosis.findings()
        repaired = diagnosis.repair(found) if options["fix"] else 0
        left = diagnosis.findings() if repaired else found
        lines = [_line(finding) for finding in left] or ["No problems found."]
        if repaired:
            lines.insert(0, f"{number_of(repaired, 'problem')} fixed.")
        if diagnosis.isolation_is_off():
            lines.append(
                "Step isolation is off (FABER_STEP_ISOLATION=off): steps can read the data "
                "directory and answer as anyone."
            )
        lines += filter(None, [proxy.told(), room.told()])
        missing = missing_by_default()
        if missing and not any(finding.what in missing[0] for finding in left):
            lines += missing
        heard, used = diagnosis.last_heard(), disk.use()
        document = {
            "findings": [_shape(finding) for finding in left],
            "repaired": repaired,
            "disk": {"database_bytes": used.database, "free_bytes": used.free},
            "agent_installed": not missing,
            "step_isolation": settings.FABER_STEP_ISOLATION,
            "last_github_delivery": timestamp(heard) if heard else None,
        }
        code = exit_code_of(RunStatus.FAILED) if left else 0
        return Reply(document=document, text="\n".join(lines), exit_code=code)


def _line(finding: Finding) -> str:
    since = f" (since {finding.since:%Y-%m-%d %H:%M:%S} UTC)" if finding.since else ""
    return f"{finding.what}{since}: {finding.cause}.\n  → {finding.repair}".replace("..", ".")


def _shape(finding: Finding) -> dict[str, object]:
    return {
        "what": finding.what,
        "cause": finding.cause,
        "since": timestamp(finding.since) if finding.since else None,
        "repair": finding.repair,
        "can_fix": finding.fix is not None,
    }
