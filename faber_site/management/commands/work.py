from faber_site.runtime.serving import ServingCommand


class Command(ServingCommand):
    help = "Start a worker alone; the site runs elsewhere."
    has_cluster = True
