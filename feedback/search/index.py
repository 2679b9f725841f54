"""What requests and answers are found by."""

from runs.search.index import TextIndex

QUESTIONS = TextIndex(
    table="faber_feedback_questions_search",
    app="faber_feedback",
    model="FeedbackRequest",
    noun="question",
    key="request",
    columns=("request_id", "own_title", "prompt"),
)
ANSWERS = TextIndex(
    table="faber_feedback_answers_search",
    app="faber_feedback",
    model="FeedbackResponse",
    noun="answer",
    key="response",
    columns=("response", "comment"),
)
