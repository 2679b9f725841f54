"""A site under load while everything around it fails, and a judge of what was seen."""

import django
from django.apps import apps

if not apps.ready:  # it is started by itself, with `python -m`
    django.setup()
