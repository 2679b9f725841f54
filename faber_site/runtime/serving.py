"""What `up`, `web` and `work` share: the upgrade, the children, word when all is ready."""

import json
from abc import abstractmethod
from argparse import SUPPRESS
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import InterfaceError, OperationalError, connections

from faber_site.configuration import values
from faber_site.hook import local_site
from faber_site.http import static_files
from faber_site.runtime import address, children, command_server
from faber_site.runtime.forks import Child, SideTask
from faber_site.runtime.presence import Presence, Unfit
from faber_site.runtime.pulse import Pulse
from faber_site.runtime.supervisor import Supervisor
from faber_site.runtime.vitals import Vitals
from runs.domain.values.errors import NewerDatabase
from runs.jobs import draining
from runs.models import machine, migrate
from runs.terminal.console import DJANGO_OPTIONS

LINES = {
    "site": "FABER is ready: {}",
    "worker": "FABER worker is {}",
    "sign_in": "Sign in: {}",
}


class ServingCommand(BaseCommand):
    has_site: ClassVar[bool] = False
    has_cluster: ClassVar[bool] = False
    suppressed_base_arguments = set(DJANGO_OPTIONS)
    # Checked below: Django would show its option to skip that, whatever is suppressed.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--skip-checks", action="store_true", help=SUPPRESS)
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *_args: Any, **options: Any) -> None:
        if not options["skip_checks"]:
            self.check()
        self._as_json: bool = options["json"]
        self._vitals = Vitals()
        self._known = draining.last_order()
        draining.heed(self._known)
        for warning in self._warnings():
            self.stderr.write(f"WARNING: {warning}")
        if self.has_site:
            self._listen()  # a taken port is told before anything is changed
        presence = Presence(works=self.has_cluster)
        self._bring_up_to_date()
        self._tell_why_not(partial(self._join, presence))
        self.prepare()
        with ExitStack() as crew:
            if self.has_cluster:
                crew.enter_context(draining.signed_on(self._known))

            def drained() -> list[Child]:
                presence.stop_working()
                crew.close()
                return self._signs(presence)

            kept = self._children(presence)
            with command_server.serving(self.execute_command) as callers:
                Supervisor(kept, announce=self._announce, drained=drained, callers=callers).run()
        presence.leave()

    def _bring_up_to_date(self) -> None:
        """The database and the files, while this process loads what its children will share.

        Migrations are large: whoever loads them keeps them, and so does every fork of his.
        """
        self._tell_why_not(migrate.check_version)
        tasks = [SideTask(static_files.collect)] if self.has_site else []
        tasks.append(SideTask(partial(self._tell_why_not, migrate.bring_up_to_date)))
        children.load(for_site=self.has_site, for_cluster=self.has_cluster)
        for task in tasks:
            task.finish()
        if self.has_site:
            children.load_application()
            local_site.keep(settings.FABER_DATA_DIR, local_site.ADDRESS, settings.FABER_BASE_URL)

    def _join(self, presence: Presence) -> None:
        for warning in presence.enter():
            self.stderr.write(f"WARNING: {warning}")

    def _tell_why_not(self, start: Callable[[], object]) -> None:
        try:
            start()
        except (OperationalError, InterfaceError) as error:
            self.stderr.write(migrate.unreachable(error))
            raise SystemExit(1) from error
        except (NewerDatabase, Unfit) as error:
            self.stderr.write(str(error))
            raise SystemExit(2) from error

    @abstractmethod
    def execute_command(self) -> int:
        """Execute the command that this process has just become: a fork of us, with its words."""

    def prepare(self) -> None:
        """Make what has to be there before anything starts."""

    def news(self) -> dict[str, str]:
        """What is told once all is ready, by its name in LINES."""
        if self.has_site:
            return {"site": f"{settings.FABER_BASE_URL}/"}
        return {"worker": "ready"}

    def _warnings(self) -> Iterator[str]:
        if settings.DEBUG:
            yield "FABER_DEBUG is on: error pages expose internals."
        public = urlsplit(settings.FABER_BASE_URL).hostname or ""
        if (
            self.has_site
            and values.is_loopback(public)
            and not values.is_loopback(settings.FABER_HOST)
        ):
            yield (
                f"FABER_HOST={settings.FABER_HOST} can be reached from other machines, but links "
                f"lead to {settings.FABER_BASE_URL}. Set FABER_BASE_URL to the address people use."
            )
        is_behind_proxy = self.has_site and settings.FABER_BASE_URL.startswith("https:")
        if is_behind_proxy and not settings.FABER_TRUSTED_PROXIES:
            yield (
                "FABER_TRUSTED_PROXIES is empty; wrong passwords of all visitors count as those "
                "of one address. Set it to the address of the proxy in front."
            )

    def _listen(self) -> None:
        try:
            self._listener = address.listen()
        except address.AddressError as error:
            raise SystemExit(str(error)) from error

    def _children(self, presence: Presence) -> list[Child]:
        kept = [children.WebChild(self._listener)] if self.has_site else []
        if self.has_cluster:
            pulse = Pulse(self._vitals)
            return [*kept, children.Cluster(self._vitals), children.watch(pulse, presence)]
        return [*kept, *self._signs(presence)]

    def _signs(self, presence: Presence) -> list[Child]:
        """Who tells of a machine that has no workers; nobody would hear of one that is alone."""
        return [children.sign(presence)] if self.has_site and machine.is_one_of_many() else []

    def _announce(self) -> bool:
        if not self._is_ready():
            return False
        news = self.news()
        lines = [LINES[name].format(value) for name, value in news.items()]
        self.stdout.write(json.dumps(news) if self._as_json else "\n".join(lines))
        self.stdout.flush()
        connections.close_all()
        return True

    def _is_ready(self) -> bool:
        # The site first: its first answer takes long, and meanwhile the cluster starts.
        if self.has_site and not address.answers("/readyz" if self.has_cluster else "/healthz"):
            return False
        return not self.has_cluster or self._vitals.has_answered
