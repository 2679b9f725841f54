from faber_site.management.serving import ServingCommand


class Command(ServingCommand):
    help = "Start the site alone; workers run elsewhere."
    has_site = True
