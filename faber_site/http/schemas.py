"""Schemas of what others hand to FABER, for everybody to read."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from runs.domain.responses import published


@login_not_required
@require_safe
def skill_response(_request: HttpRequest) -> JsonResponse:
    # For a form on another site, or a program without a token.
    headers = {"Access-Control-Allow-Origin": "*"}
    return JsonResponse(published.SCHEMA, json_dumps_params={"indent": 2}, headers=headers)
