from django.conf import settings
from django.shortcuts import resolve_url

from faber_site import commands
from faber_site.runtime.forks import SideTask
from faber_site.runtime.serving import ServingCommand
from runs import demo
from runs.accounts import users
from runs.models import Run


class Command(ServingCommand):
    help = "Start the site and a worker."
    has_site = True
    has_cluster = True

    def execute_command(self) -> int:
        return commands.main()

    def prepare(self) -> None:
        self._is_first_start = not users.has_admin()
        self._owner = users.first_account()
        if not Run.objects.exists():
            SideTask(demo.start_demo).finish()  # it may leave a thread, and whoever forks has none

    def news(self) -> dict[str, str]:
        return {**super().news(), "sign_in": self._way_in()}

    def _way_in(self) -> str:
        """A link that signs in belongs on a terminal; the logs of a service are kept and read."""
        if self._is_first_start or self.stdout.isatty():
            return users.login_link(self._owner)[0]
        return f"{settings.FABER_BASE_URL}{resolve_url(settings.LOGIN_URL)}"
