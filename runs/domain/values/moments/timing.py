"""How long people may take for a decision, and the moments that follow from it."""

from dataclasses import dataclass, replace
from datetime import datetime

from runs.domain.values.moments.business_hours import BusinessHours
from runs.domain.values.moments.durations import Duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What a step, its workflow or its project says about time; each duration from the asking."""

    due: Duration | None = None
    remind: Duration | None = None  # again each time it has passed
    escalate_after: Duration | None = None
    escalate_to: tuple[str, ...] = ()
    on_timeout: str = ""  # the option that is taken when it is due

    def or_else(self, usual: "Timing") -> "Timing":
        """The same, with what others usually say where it says nothing."""
        named = self if self.escalate_after else usual
        return replace(
            self,
            due=self.due or usual.due,
            remind=self.remind or usual.remind,
            escalate_after=named.escalate_after,
            escalate_to=named.escalate_to,
        )


WHENEVER = Timing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    due_at: datetime | None = None
    remind_at: datetime | None = None
    escalate_at: datetime | None = None

    def next(self, *, times_out: bool) -> datetime | None:
        """When time next asks for something; being due alone asks for nothing."""
        due = self.due_at if times_out else None
        known = [moment for moment in (self.remind_at, self.escalate_at, due) if moment]
        return min(known, default=None)


def moments_of(timing: Timing, asked_at: datetime, hours: BusinessHours | None) -> Moments:
    def after(duration: Duration | None) -> datetime | None:
        return moment_after(asked_at, duration, hours) if duration else None

    return Moments(
        due_at=after(timing.due),
        remind_at=after(timing.remind),
        escalate_at=after(timing.escalate_after),
    )


def moment_after(moment: datetime, duration: Duration, hours: BusinessHours | None) -> datetime:
    return hours.after(moment, duration) if hours else moment + duration.length


def next_reminder(
    asked_at: datetime, every: Duration, now: datetime, hours: BusinessHours | None
) -> datetime:
    """The first that is still to come: those that nobody could send are left out."""
    if hours and every.counts_days:
        reminder = hours.after(asked_at, every)
        while reminder <= now:
            reminder = hours.after(reminder, every)
        return reminder
    passed = hours.between(asked_at, now) if hours else now - asked_at
    number = max(passed // every.length, 0) + 1
    return moment_after(asked_at, replace(every, amount=every.amount * number), hours)
