"""Every reference by the name of its file."""

import os

import django

from runs.isolation.inherited import SETTINGS


def references() -> dict[str, str]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", SETTINGS)
    django.setup()
    # Commands load models, so Django comes first.
    from faber_site.references import commands, events, settings, workflow_keys  # noqa: PLC0415

    return {
        "commands.md": commands.page(),
        "events.md": events.page(),
        "settings.md": settings.page(),
        "workflow-keys.md": workflow_keys.page(),
    }
