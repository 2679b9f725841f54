"""Who decides for the person who is signed in, while they are away."""

from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_http_methods, require_POST

from runs.accounts import stand_ins, users
from runs.chain import entries
from runs.domain.values.errors import Invalid
from runs.pages.http import PageRequest, SeeOther, page, visitor


class StandInForm(forms.Form):
    stand_in = forms.ChoiceField(label="Stand-in")
    until = forms.DateField(
        label="Until, this day included",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="The day ends at midnight UTC.",
    )

    def __init__(self, own_name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = get_user_model().objects.filter(is_active=True).exclude(username=own_name)
        names = known.order_by("username").values_list("username", flat=True)
        self.fields["stand_in"] = forms.ChoiceField(
            label="Stand-in", choices=[(name, name) for name in names]
        )


@require_http_methods(["GET", "HEAD", "POST"])
def stand_in(request: PageRequest) -> HttpResponse:
    name = request.user.get_username()
    if request.method != "POST":
        return _shown(request, StandInForm(name))
    form = StandInForm(name, request.POST)
    if not form.is_valid():
        return _shown(request, form, status=422)
    said = form.cleaned_data
    try:
        with transaction.atomic():
            other = users.find(said["stand_in"])
            stand_ins.appoint(request.user, other, said["until"])
            told = f"{other.get_username()} stands in for {name} until {said['until']}"
            entries.rule(visitor(request), told)
    except Invalid as error:
        for problem in error.problems:
            form.add_error(problem.place, problem.message)
        return _shown(request, form, status=422)
    return SeeOther(resolve_url("stand-in"))


@require_POST
def stand_in_end(request: PageRequest) -> HttpResponse:
    with transaction.atomic():
        if stand_ins.end(request.user):
            told = f"nobody stands in for {request.user.get_username()} any more"
            entries.rule(visitor(request), told)
    return SeeOther(resolve_url("stand-in"))


def _shown(request: PageRequest, form: StandInForm, status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "appointed": stand_ins.of(request.user),
        "absent": visitor(request).stands_in_for,
    }
    return page(request, "runs/stand_in.html", context, status=status)
