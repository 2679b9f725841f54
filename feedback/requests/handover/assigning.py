"""Deals requests out among the members of a group, in turn, where a project wants that."""

from collections.abc import Sequence

from django.contrib.auth import get_user_model
from django.utils import timezone

from feedback.models import FeedbackRequest
from runs.accounts import permissions, users
from runs.domain.workflow.reviewers import GROUP
from runs.models import ROUND_ROBIN, Run, StandIn


def next_of(run: Run, reviewers: Sequence[str]) -> str:
    """Whose turn it is among those who can decide; nobody where nobody is dealt to."""
    groups = [name.removeprefix(GROUP) for name in reviewers if name.startswith(GROUP)]
    if run.project.assign != ROUND_ROBIN or not groups:
        return ""
    names = _able(run, groups)
    if not names:
        return ""
    own = FeedbackRequest.objects.filter(run__project=run.project, dealt_to__in=names)
    last = own.order_by("-pk").values_list("dealt_to", flat=True).first()
    after = names.index(last) + 1 if last else 0
    return names[after % len(names)]


def _able(run: Run, groups: Sequence[str]) -> list[str]:
    """The members who are there and may answer, always in the same order."""
    away = StandIn.objects.filter(until__gt=timezone.now()).values("user")
    members = get_user_model().objects.filter(is_active=True, groups__name__in=groups)
    people = members.exclude(pk__in=away).distinct().order_by("username")
    return [
        user.get_username()
        for user in people
        if not permissions.refusal_to_answer(users.actor_of(user), run, ())
    ]
