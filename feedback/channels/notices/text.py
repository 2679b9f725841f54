"""What a notice says, as plain text and as Markdown; whatever is put in stays inside."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from feedback.channels.markdown.escape import block, line, link
from runs.domain.planning.preview import Outlook
from runs.domain.values.background import BackgroundSection
from runs.domain.values.numbers import number_of
from runs.domain.values.text import clean, one_line, quoted_line

LONGEST_QUESTION, LONGEST_SUMMARY, LONGEST_ITEM = 700, 900, 300
MOST_ITEMS = 5
MOST_OPTIONS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionShown:
    label: str
    causes: str  # what choosing it does to the run
    url: str  # of the page with this option chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A notice in its parts; empty ones are left out."""

    subject: str  # one line that can stand alone
    heading: str  # what happened
    title: str  # what it is about
    where: str  # project, issue and step
    url: str
    link: str = "Open in FABER"
    question: str = ""
    summary: str = ""
    changes: str = ""
    sections: tuple[BackgroundSection, ...] = ()
    options: tuple[OptionShown, ...] = ()
    outcome: str = ""

    @property
    def plain(self) -> str:
        return "\n\n".join(filter(None, self._plain()))

    @property
    def markdown(self) -> str:
        return "\n\n".join(filter(None, self._markdown()))

    @property
    def mrkdwn(self) -> str:
        """As Slack writes it, where three characters are all that must not come from outside."""
        return "\n\n".join(filter(None, self._mrkdwn()))

    @property
    def shown_sections(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Titles with their items for a list, cut to what fits into a message."""
        return tuple((section.title, tuple(_few(section.listed))) for section in self.sections)

    @property
    def shown_options(self) -> tuple[OptionShown, ...]:
        return self.options[:MOST_OPTIONS]

    def _plain(self) -> Iterator[str]:
        yield f"{self.heading}: {one_line(self.title, 200)}\n{self.where}".strip()
        yield clean(self.outcome)
        yield _cut(clean(self.question).strip(), LONGEST_QUESTION)
        yield _cut(clean(self.summary).strip(), LONGEST_SUMMARY)
        yield f"Changes: {self.changes}" if self.changes else ""
        for section in self.sections:
            yield "\n".join([f"{section.title}:", *(f"  {each}" for each in _few(section.lines))])
        if self.options:
            yield "\n".join(["Options:", *(_plain_option(each) for each in self.shown_options)])
        yield f"{self.link}: {self.url}"

    def _markdown(self) -> Iterator[str]:
        yield f"**{self.heading}: {line(self.title, 200)}**\n{line(self.where)}".strip()
        yield line(self.outcome, 1000)
        yield block(self.question, LONGEST_QUESTION) if self.question else ""
        yield block(self.summary, LONGEST_SUMMARY) if self.summary else ""
        yield f"**Changes**: {self.changes}" if self.changes else ""
        for title, lines in self.shown_sections:
            yield "\n".join([f"**{title}**", *(f"- {line(each, LONGEST_ITEM)}" for each in lines)])
        if self.options:
            yield "\n".join(f"- {_markdown_option(each)}" for each in self.shown_options)
        yield link(self.link, self.url)

    def _mrkdwn(self) -> Iterator[str]:
        yield f"*{_slack(self.heading)}: {_slack(one_line(self.title, 200))}*\n{_slack(self.where)}"
        yield _slack(self.outcome)
        yield _slack(_cut(clean(self.question).strip(), LONGEST_QUESTION))
        yield _slack(_cut(clean(self.summary).strip(), LONGEST_SUMMARY))
        yield f"*Changes*: {self.changes}" if self.changes else ""
        for title, lines in self.shown_sections:
            yield "\n".join([f"*{title}*", *(f"• {_slack(each)}" for each in lines)])
        if self.options:
            yield "\n".join(f"• {_slack_option(each)}" for each in self.shown_options)
        yield f"<{self.url}|{self.link}>"


def _slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _slack_option(option: OptionShown) -> str:
    told = f": {_slack(option.causes)}" if option.causes else ""
    return f"<{_slack(option.url)}|{_slack(one_line(option.label, 80))}>{told}"


def causes(outlook: Outlook | None) -> str:
    """What an option does to the run, in a sentence."""
    if outlook is None:
        return ""
    if outlook.ends:
        left = len(outlook.leaves)
        return f"Ends the run; {number_of(left, 'step')} not executed" if left else "Ends the run"
    if outlook.repeats:
        return "Reruns with your comments, then returns to you"
    skips = f"Skips “{one_line(outlook.skips.step.title, 60)}”. " if outlook.skips else ""
    return skips + _onward(outlook)


def _onward(outlook: Outlook) -> str:
    steps = number_of(len(outlook.executes), "step")
    if outlook.asks:
        asks = quoted_line(outlook.asks.prompt, 90)
        return f"Runs {steps}, then asks: {asks}" if outlook.executes else f"Asks: {asks}"
    return f"Runs {steps}, then completes the run" if outlook.executes else "Completes the run"


def _plain_option(option: OptionShown) -> str:
    told = f" – {option.causes}" if option.causes else ""
    return f"  {one_line(option.label, 80)}{told}\n    {option.url}"


def _markdown_option(option: OptionShown) -> str:
    told = f": {line(option.causes)}" if option.causes else ""
    return f"{link(line(option.label, 80), option.url)}{told}"


def _few(lines: Sequence[str]) -> Iterator[str]:
    for each in lines[:MOST_ITEMS]:
        yield one_line(each, LONGEST_ITEM)
    if len(lines) > MOST_ITEMS:
        yield f"and {len(lines) - MOST_ITEMS} more"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
