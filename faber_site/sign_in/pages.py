"""Where people are sent who were not signed in; django-allauth's own pages lead elsewhere."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def turned_away(
    request: HttpRequest, heading: str, sentence: str, *, status: int = 403
) -> HttpResponse:
    context = {"heading": heading, "sentence": sentence}
    return render(request, "registration/turned_away.html", context, status=status)


@login_not_required
def no_sign_up(request: HttpRequest) -> HttpResponse:
    return turned_away(
        request,
        "You can't sign up here",
        "Ask an administrator for an account, sign in, then link your login to it.",
    )


@login_not_required
def cancelled(request: HttpRequest) -> HttpResponse:
    return render(request, "socialaccount/login_cancelled.html")


@login_not_required
def failed(request: HttpRequest) -> HttpResponse:
    return render(request, "socialaccount/authentication_error.html", status=401)
