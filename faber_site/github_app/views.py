"""The pages on which an operator has a GitHub App made."""

import json
import re
import secrets

from django import forms
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_http_methods, require_safe

from faber_site.github_app import manifest
from runs.accounts import permissions
from runs.chain import entries
from runs.domain.values.errors import Refused
from runs.github import kept_app
from runs.pages.http import PageRequest, SeeOther, page, refusing, visitor

_STATE = "github_setup"
_CODE = re.compile(r"[\w.-]{1,200}", re.ASCII)


class OwnerForm(forms.Form):
    organization = forms.RegexField(
        label="Organization (empty: your own account)",
        regex=r"^[A-Za-z0-9][A-Za-z0-9-]{0,38}$",
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "acme"}),
        error_messages={"invalid": "Use the name of the organization as in its address."},
    )


@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def setup(request: PageRequest) -> HttpResponse:
    permissions.check_may_operate(visitor(request))
    if request.method != "POST":
        return _shown(request, OwnerForm())
    form = OwnerForm(request.POST)
    if not form.is_valid():
        return _shown(request, form, status=422)
    return _ready(request, form.cleaned_data["organization"])


@require_safe
@refusing
def callback(request: PageRequest) -> HttpResponse:
    """GitHub sends the browser here with a code; the state says that it was sent from here."""
    actor = visitor(request)
    permissions.check_may_operate(actor)
    expected = request.session.pop(_STATE, "")
    if not expected or not constant_time_compare(expected, request.GET.get("state", "")):
        raise Refused("This set-up was not started in this browser session. Start again.")
    code = request.GET.get("code", "")
    if not _CODE.fullmatch(code):
        raise Refused("GitHub sent no code. Start again.")
    app = manifest.convert(code)
    kept_app.keep(app)
    entries.rule(actor, f"set up the GitHub App {app.slug} (id {app.app_id})")
    return SeeOther(resolve_url("github-setup"))


def _ready(request: PageRequest, organization: str) -> HttpResponse:
    """The manifest as it will be sent, and the button that sends it."""
    request.session[_STATE] = secrets.token_urlsafe(32)
    asked = json.dumps(manifest.manifest(), indent=2)
    context = {
        "address": manifest.form_address(organization, request.session[_STATE]),
        "manifest": asked,
        "organization": organization,
        "website": manifest.website(),
    }
    response = page(request, "github/ready.html", context)
    response._csp_update = {"form-action": [manifest.website()]}  # type: ignore[attr-defined]
    return response


def _shown(request: PageRequest, form: OwnerForm, status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "app": kept_app.kept(),
        "place": kept_app.place(),
        "by_settings": _by_settings(),
        "permissions": manifest.PERMISSIONS,
        "has_webhook": manifest.has_webhook(),
        "poll_seconds": settings.FABER_GITHUB_POLL_SECONDS,
    }
    return page(request, "github/setup.html", context, status=status)


def _by_settings() -> str:
    """The variable that says who the site is on GitHub; it goes before an App made here."""
    names = ("FABER_GITHUB_TOKEN", "FABER_GITHUB_APP_ID")
    return next((name for name in names if getattr(settings, name)), "")
