"""What programs print to steer a terminal, and what they print without it."""

import re

# A command: with parameters (CSI), a text up to its end (OSC and the like), or a single letter.
COMMAND = re.compile(
    r"\x1b\[([0-9:;<=>?]*+)[ -/]*+([@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b\r\n]*+(?:\x07|\x1b\\)"
    r"|\x1b[ -/]*+[0-~]?"
    r"|\x9b([0-9:;<=>?]*+)[ -/]*+([@-~])"
)
# What is left of them and of other signs that no page shows; tabs and line ends stay.
UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
LINE_END = re.compile(r"\r*\n|\r+")


def bare(text: str) -> str:
    """The text alone, with the same lines."""
    return UNSEEN.sub("", LINE_END.sub("\n", COMMAND.sub("", text)))
