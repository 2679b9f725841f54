from django.apps import AppConfig


class FeedbackConfig(AppConfig):
    name = "feedback"
    label = "faber_feedback"
    verbose_name = "Feedback"

    def ready(self) -> None:
        from feedback.search.index import ANSWERS, QUESTIONS  # noqa: PLC0415  models are loaded
        from feedback.search.sort_keys import SortKeys  # noqa: PLC0415

        QUESTIONS.listen(self)
        ANSWERS.listen(self)
        SortKeys().listen(self)
