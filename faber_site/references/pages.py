"""Every reference by the name of its file."""

import django

from runs.isolation import inherited


def references() -> dict[str, str]:
    inherited.choose_settings()
    django.setup()
    # Commands load models, so Django comes first.
    from faber_site.references import commands, events, settings, workflow_keys  # noqa: PLC0415

    return {
        "commands.md": commands.page(),
        "events.md": events.page(),
        "settings.md": settings.page(),
        "workflow-keys.md": workflow_keys.page(),
    }
