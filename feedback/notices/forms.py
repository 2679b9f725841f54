"""The form in which somebody says where and when they want to be told of what."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib.auth.models import User

from feedback.channels.callbacks.addresses import is_allowed
from feedback.channels.notices import receivers
from feedback.models import NoticeSettings, NoticeWish
from runs.accounts import notify_urls
from runs.domain.values.errors import Invalid
from runs.pages.projects.forms import AddressesField

_ELSEWHERE = ("Etc/", "SystemV/", "posix", "right", "localtime", "Factory")
_TIME = {"type": "time"}


def _zones() -> list[tuple[str, str]]:
    every = sorted(name for name in available_timezones() if not name.startswith(_ELSEWHERE))
    places = [name for name in every if "/" in name]
    return [(name, name.replace("_", " ")) for name in ("UTC", *places)]


class NoticesForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic when it runs
    urls = AddressesField(
        label="Services",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "autocomplete": "off"}),
        help_text="Apprise URLs such as slack://…, ntfys://… or pover://…, separated by commas."
        " They are kept encrypted and not shown again.",
    )
    wishes = forms.MultipleChoiceField(
        label="Tell me about",
        required=False,
        choices=NoticeWish.choices,
        widget=forms.CheckboxSelectMultiple,
    )
    zone = forms.ChoiceField(label="Time zone")

    class Meta:
        model = NoticeSettings
        fields = (
            *("mail", "email", "urls", "wishes", "zone", "quiet_from", "quiet_until"),
            *("digest", "digest_at"),
        )
        labels = {
            "mail": "Send e-mail",
            "email": "E-mail address",
            "quiet_from": "Quiet from",
            "quiet_until": "Quiet until",
            "digest": "Delivery",
            "digest_at": "Daily digest at",
        }
        widgets = {
            "quiet_from": forms.TimeInput(attrs=_TIME, format="%H:%M"),
            "quiet_until": forms.TimeInput(attrs=_TIME, format="%H:%M"),
            "digest_at": forms.TimeInput(attrs=_TIME, format="%H:%M"),
        }

    def __init__(self, user: User, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, instance=receivers.settings_of(user))
        self._known = notify_urls.unseal(self.instance.urls)
        self.fields["zone"] = forms.ChoiceField(label="Time zone", choices=_zones)
        self.fields["email"].widget.attrs["placeholder"] = user.email or "you@example.org"

    def clean_urls(self) -> list[str]:
        try:
            urls = notify_urls.changed(self.cleaned_data["urls"], self._known)
        except Invalid as error:
            said = [f"{each.message[:1].upper()}{each.message[1:]}." for each in error.problems]
            raise forms.ValidationError(said) from error
        for number, url in enumerate(urls, start=1):
            if _leads_inside(url):
                raise forms.ValidationError(
                    f"Address {number} leads to a private or special network. An operator can"
                    " allow it with FABER_CALLBACK_ALLOW."
                )
        return [notify_urls.seal(url) for url in urls]

    def clean(self) -> dict[str, Any]:
        said = super().clean() or self.cleaned_data
        if self.errors:
            return said
        begin, end = said["quiet_from"], said["quiet_until"]
        if (begin is None) != (end is None):
            missing = "quiet_until" if end is None else "quiet_from"
            self.add_error(missing, "Quiet hours need a beginning and an end.")
        if said["digest"] == NoticeSettings.Digest.DAILY and not said["digest_at"]:
            self.add_error("digest_at", "Say when the digest should come.")
        return said


def _leads_inside(url: str) -> bool:
    """Whether it plainly does; a name is looked up when something is sent."""
    try:
        host = (urlsplit(url).hostname or "").casefold()
    except ValueError:
        return False
    if host in settings.FABER_CALLBACK_ALLOW.hosts:
        return False
    try:
        return not is_allowed(ip_address(host), settings.FABER_CALLBACK_ALLOW)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
