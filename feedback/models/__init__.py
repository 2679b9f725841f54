"""Questions put to people, what they said, and where it was told."""

from feedback.models.callbacks import Callback
from feedback.models.github import CommentState, Delivery, InboundComment, Listening, Webhook
from feedback.models.mirrors import WriteBack
from feedback.models.outgoing import Outgoing
from feedback.models.requests import FeedbackRequest, FeedbackResponse
from feedback.models.reviews import Draft, ReviewComment

__all__ = [
    "Callback",
    "CommentState",
    "Delivery",
    "Draft",
    "FeedbackRequest",
    "FeedbackResponse",
    "InboundComment",
    "Listening",
    "Outgoing",
    "ReviewComment",
    "Webhook",
    "WriteBack",
]
