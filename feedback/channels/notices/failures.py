"""Why a notice could not be sent."""


class SendingFailed(Exception):
    """It did not come through; it may next time. The text holds no secret."""
