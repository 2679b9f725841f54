"""What `up`, `web` and `work` share: the upgrade, the children, word when all is ready."""

import json
from typing import Any, ClassVar

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import connections

from faber_site.runtime import address, children
from faber_site.runtime.children import Child
from faber_site.runtime.pulse import Pulse
from faber_site.runtime.supervisor import Supervisor
from runs.models import migrate

LINES = {
    "site": "FABER is ready: {}",
    "worker": "FABER worker is {}",
    "sign_in": "Sign in: {}",
}


class ServingCommand(BaseCommand):
    has_site: ClassVar[bool] = False
    has_cluster: ClassVar[bool] = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *_args: Any, **options: Any) -> None:
        self._as_json: bool = options["json"]
        self._pulse = Pulse()
        # A taken port is told before anything is changed.
        kept = self._children()
        migrate.bring_up_to_date()
        self.prepare()
        connections.close_all()
        if self.has_cluster:
            self._pulse.start()
        Supervisor(kept, announce=self._announce).run()

    def prepare(self) -> None:
        """Make what has to be there before anything starts."""

    def news(self) -> dict[str, str]:
        """What is told once all is ready, by its name in LINES."""
        if self.has_site:
            return {"site": f"{settings.FABER_BASE_URL}/"}
        return {"worker": "ready"}

    def _children(self) -> list[Child]:
        kept = []
        if self.has_site:
            try:
                self._listener = address.listen()
            except address.AddressError as error:
                raise SystemExit(str(error)) from error
            kept.append(children.site(self._listener.fileno()))
        if self.has_cluster:
            kept.append(children.cluster(self._pulse))
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
