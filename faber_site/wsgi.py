from django.core.wsgi import get_wsgi_application

from runs.isolation import inherited

inherited.choose_settings()
application = get_wsgi_application()
