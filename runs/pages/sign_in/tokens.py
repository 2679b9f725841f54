"""The page where somebody makes and revokes tokens for their programs."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from runs.accounts import tokens
from runs.chain import entries
from runs.domain.values.actors import Scope
from runs.domain.values.errors import FaberError
from runs.models import AccessToken
from runs.pages.http import PageRequest, SeeOther, page, refusing, status_of, visitor

_SCOPES = {
    Scope.AGENT: ("Agent", "can ask, wait, read and execute remote steps; can't answer"),
    Scope.REVIEWER: ("Reviewer", "same as agent, and can answer and start runs as you"),
    Scope.OPERATOR: (
        "Operator",
        "same as reviewer, and can cancel and resume any run and read metrics",
    ),
}
_LASTS = {"30": "30 days", "90": "90 days", "365": "A year", "": "No expiry"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenListed:
    """A token as the page shows it."""

    token: AccessToken
    now: datetime

    @property
    def scope(self) -> str:
        return _SCOPES[Scope(self.token.scope)][0]

    @property
    def may(self) -> str:
        return _SCOPES[Scope(self.token.scope)][1]

    @property
    def is_expired(self) -> bool:
        return self.token.expires_at is not None and self.token.expires_at <= self.now

    @property
    def works(self) -> bool:
        return not self.token.revoked_at and not self.is_expired

    @property
    def days_left(self) -> int | None:
        """Whole days, when it will end by itself."""
        ends = self.token.expires_at
        return (ends - self.now).days if ends and self.works else None


class TokenForm(forms.Form):
    name = forms.CharField(
        label="Name",
        max_length=tokens.LONGEST_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "laptop, ci, …"}),
    )
    scope = forms.ChoiceField(label="Scope")
    days = forms.ChoiceField(
        label="Expires after", choices=_LASTS.items(), required=False, initial="90"
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = tokens.scopes_for(user)
        self.fields["scope"] = forms.ChoiceField(
            label="Scope",
            choices=[(scope.value, ": ".join(_SCOPES[scope])) for scope in offered],
            initial=offered[0].value,
            widget=forms.RadioSelect,
        )

    def make(self, user: User) -> tuple[AccessToken, str]:
        said = self.cleaned_data
        days = int(said["days"] or 0)
        return tokens.create(
            said["name"],
            scope=Scope(said["scope"]),
            user=user,
            expires_at=timezone.now() + timedelta(days=days) if days else None,
        )


@require_http_methods(["GET", "HEAD", "POST"])
def token_list(request: PageRequest) -> HttpResponse:
    """Made tokens are shown in the answer itself: the secret is in no address and no session."""
    if request.method != "POST":
        return _shown(request, TokenForm(request.user))
    form = TokenForm(request.user, request.POST)
    if not form.is_valid():
        return _shown(request, form, status=422)
    try:
        made, secret = form.make(request.user)
        entries.rule(visitor(request), f"made the token {made.name}: scope {made.scope}")
    except FaberError as error:
        form.add_error("name", str(error))
        return _shown(request, form, status=status_of(error))
    response = _shown(request, TokenForm(request.user), status=201, made=made, secret=secret)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
@refusing
def token_revoke(request: PageRequest, pk: int) -> HttpResponse:
    named = AccessToken.objects.filter(pk=pk).values_list("name", flat=True).first() or ""
    tokens.revoke(named, user=request.user)
    entries.rule(visitor(request), f"revoked the token {named}")
    return SeeOther(resolve_url("tokens"))


def _shown(request: PageRequest, form: TokenForm, status: int = 200, **more: Any) -> HttpResponse:
    now, own = timezone.now(), AccessToken.objects.filter(user=request.user).order_by("name")
    listed = [TokenListed(token=token, now=now) for token in own]
    context = {
        "form": form,
        "working": [each for each in listed if each.works],
        "ended": [each for each in listed if not each.works],
        **more,
    }
    return page(request, "runs/tokens.html", context, status=status)
