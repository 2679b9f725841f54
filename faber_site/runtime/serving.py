"""What `up`, `web` and `work` share: the upgrade, the children, word when all is ready."""

import json
from argparse import SUPPRESS
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import InterfaceError, OperationalError, connections

from faber_site import static_files
from faber_site.configuration import values
from faber_site.hook import local_site
from faber_site.runtime import address, children
from faber_site.runtime.children import Child
from faber_site.runtime.presence import Presence, Unfit
from faber_site.runtime.pulse import Pulse
from faber_site.runtime.supervisor import Supervisor
from runs.domain.values.errors import NewerDatabase
from runs.jobs import draining
from runs.models import migrate
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
        self._pulse = Pulse()
        self._known = draining.last_order()
        draining.heed(self._known)
        for warning in self._warnings():
            self.stderr.write(f"WARNING: {warning}")
        # A taken port is told before anything is changed.
        kept = self._children()
        presence = Presence(works=self.has_cluster)
        self._join(presence)
        self.prepare()
        if self.has_site:
            static_files.collect()
            local_site.keep(settings.FABER_DATA_DIR, local_site.ADDRESS, settings.FABER_BASE_URL)
        connections.close_all()
        if self.has_cluster:
            self._pulse.start()
        presence.start()
        with ExitStack() as crew:
            if self.has_cluster:
                crew.enter_context(draining.signed_on(self._known))

            def drained() -> None:
                self._pulse.stop()
                presence.stop_working()
                crew.close()

            Supervisor(kept, announce=self._announce, drained=drained).run()
        presence.leave()

    def _join(self, presence: Presence) -> None:
        try:
            migrate.bring_up_to_date()
            for warning in presence.enter():
                self.stderr.write(f"WARNING: {warning}")
        except (OperationalError, InterfaceError) as error:
            self.stderr.write(migrate.unreachable(error))
            raise SystemExit(1) from error
        except (NewerDatabase, Unfit) as error:
            self.stderr.write(str(error))
            raise SystemExit(2) from error

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

    def _children(self) -> list[Child]:
        kept = []
        if self.has_site:
            try:
                self._listener = address.listen()
            except address.AddressError as error:
                raise SystemExit(str(error)) from error
            kept.append(children.site(self._listener.fileno()))
        if self.has_cluster:
            kept.append(children.cluster(self._pulse, self._known))
        return kept

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
        return not self.has_cluster or self._pulse.has_answered
