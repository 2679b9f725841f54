from feedback.channels.notices.text import Message
from runs.domain.values.background import BackgroundSection

UNSHOWN = BackgroundSection(
    name="unshown", title="Files not shown", items=("disk.md was named but not sent.",), one="file"
)
FIXES = BackgroundSection(
    name="fixes", title="Suggested fixes", items=("One.", "Two."), one="fix", is_numbered=True
)
MESSAGE = Message(subject="s", heading="h", title="t", where="", url="u", sections=(UNSHOWN, FIXES))


def test_an_item_has_one_mark() -> None:
    unshown, fixes = MESSAGE.shown_sections

    assert "\n- disk.md was named but not sent." in MESSAGE.markdown
    assert "\n• disk.md was named but not sent." in MESSAGE.mrkdwn
    assert "\n  - disk.md was named but not sent." in MESSAGE.plain
    assert unshown == ("Files not shown", ("disk.md was named but not sent.",))
    assert fixes == ("Suggested fixes", ("1. One.", "2. Two."))
    assert "  1. One.\n  2. Two." in MESSAGE.plain
