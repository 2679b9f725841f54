"""Requests, responses and what must leave the site; what happens to them is `requests`'."""

from feedback.models.callbacks import Callback
from feedback.models.inquiries import Inquiry
from feedback.models.mirrors import WriteBack
from feedback.models.notices import Announcement, Notice, NoticeKind, NoticeSettings, NoticeWish
from feedback.models.outgoing import Outgoing
from feedback.models.requests import FeedbackRequest, FeedbackResponse
from feedback.models.reviews import BatchDraft, Draft, ReviewComment, ViewedFile
from feedback.models.tallies import DailyTotal, KeptTotal
from feedback.models.tool_calls import RuleSwitch, RuleTrial, StandingRule, ToolCall
from feedback.models.trackers import (
    CommentState,
    Delivery,
    InboundComment,
    InboundKind,
    Listening,
    Webhook,
)
from feedback.models.webhooks import WebhookDelivery, WebhookEndpoint

__all__ = [
    "Announcement",
    "BatchDraft",
    "Callback",
    "CommentState",
    "DailyTotal",
    "Delivery",
    "Draft",
    "FeedbackRequest",
    "FeedbackResponse",
    "InboundComment",
    "InboundKind",
    "Inquiry",
    "KeptTotal",
    "Listening",
    "Notice",
    "NoticeKind",
    "NoticeSettings",
    "NoticeWish",
    "Outgoing",
    "ReviewComment",
    "RuleSwitch",
    "RuleTrial",
    "StandingRule",
    "ToolCall",
    "ViewedFile",
    "Webhook",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WriteBack",
]
