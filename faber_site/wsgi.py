import os

from django.core.wsgi import get_wsgi_application

from faber_site.runtime import memory

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "faber_site.settings")
application = get_wsgi_application()
memory.keep_what_is_loaded()
