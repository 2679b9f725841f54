from django.apps import AppConfig


class FeedbackConfig(AppConfig):
    name = "feedback"
    label = "faber_feedback"
    verbose_name = "Feedback"
