from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "runs"
    label = "faber_runs"
