from faber_site.runtime.serving import ServingCommand


class Command(ServingCommand):
    help = "Start the site alone; workers run elsewhere."
    has_site = True
