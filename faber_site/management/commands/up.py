from faber_site.runtime.serving import ServingCommand
from runs import demo
from runs.accounts import users
from runs.models import Run


class Command(ServingCommand):
    help = "Start the site and the worker together."
    has_site = True
    has_cluster = True

    def prepare(self) -> None:
        self._owner = users.first_account()
        if not Run.objects.exists():
            demo.start_demo()

    def news(self) -> dict[str, str]:
        link, _expires = users.login_link(self._owner)
        return {**super().news(), "sign_in": link}
