from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "runs"
    label = "faber_runs"
    verbose_name = "Runs"

    def ready(self) -> None:
        from runs.accounts import sessions  # noqa: PLC0415  models are loaded by now
        from runs.chain import sign_ins  # noqa: PLC0415
        from runs.search.index import RUNS  # noqa: PLC0415

        sessions.listen()
        sign_ins.listen()
        RUNS.listen(self)
