from faber_site import commands
from faber_site.runtime.serving import ServingCommand


class Command(ServingCommand):
    help = "Start the site without a worker."
    has_site = True

    def execute_command(self) -> int:
        return commands.main()
