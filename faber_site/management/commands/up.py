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
        self._owner = users.first_account()
        if not Run.objects.exists():
            SideTask(demo.start_demo).finish()  # it may leave a thread, and whoever forks has none

    def news(self) -> dict[str, str]:
        return {**super().news(), "sign_in": users.login_link(self._owner)[0]}
