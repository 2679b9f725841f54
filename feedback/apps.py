from django.apps import AppConfig


class FeedbackConfig(AppConfig):
    name = "feedback"
    label = "faber_feedback"
    verbose_name = "Feedback"

    def ready(self) -> None:
        from feedback.search import sort_keys  # noqa: PLC0415  models are loaded by now
        from feedback.search.index import ANSWERS, QUESTIONS  # noqa: PLC0415

        QUESTIONS.listen(self)
        ANSWERS.listen(self)
        sort_keys.listen(self)
