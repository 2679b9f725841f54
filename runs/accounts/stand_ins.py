"""Who decides for somebody who is away, and until when."""

from datetime import UTC, date, datetime, time, timedelta

from django.contrib.auth.models import User
from django.db.models import Exists
from django.utils import timezone

from runs.domain.values.actors import Absent
from runs.domain.values.errors import Invalid, Problem
from runs.models import StandIn

LONGEST = timedelta(days=366)


def is_needed(user_id: int) -> Exists:
    """Whether somebody stands in for anybody, as a part of another query."""
    return Exists(StandIn.objects.filter(stand_in_id=user_id, until__gt=timezone.now()))


def absent_for(user_id: int | None) -> tuple[Absent, ...]:
    """For whom somebody decides too at present."""
    if user_id is None:
        return ()
    standing = StandIn.objects.filter(stand_in_id=user_id, until__gt=timezone.now())
    return tuple(
        Absent(
            name=each.user.get_username(),
            user_id=each.user_id,
            groups=frozenset(each.user.groups.values_list("name", flat=True)),
            sees_all=each.user.is_superuser,
        )
        for each in standing.select_related("user")
        if each.user.is_active
    )


def of(user: User) -> StandIn | None:
    """Who stands in for somebody at present."""
    standing = StandIn.objects.filter(user=user, until__gt=timezone.now())
    return standing.select_related("stand_in").first()


def appoint(user: User, stand_in: User, last_day: date) -> StandIn:
    """From now on, up to the end of a day."""
    until = datetime.combine(last_day, time.min, UTC) + timedelta(days=1)
    if user.pk == stand_in.pk:
        raise Invalid([Problem("stand_in", "You cannot stand in for yourself.")])
    if not timezone.now() < until <= timezone.now() + LONGEST:
        raise Invalid([Problem("until", "Choose a day from today on, within a year.")])
    made, _ = StandIn.objects.update_or_create(
        user=user, defaults={"stand_in": stand_in, "until": until}
    )
    return made


def end(user: User) -> bool:
    """Whether somebody stood in until now."""
    return bool(StandIn.objects.filter(user=user).delete()[0])
