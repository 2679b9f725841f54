"""The page of standing rules: what they do, and one click to stop one or all."""

from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_POST, require_safe

from feedback.rules import listing, making
from feedback.rules.making import NewRule
from runs.accounts import permissions
from runs.domain.values.errors import Invalid, NotFound, Problem
from runs.domain.values.standing.rules import Mode
from runs.models import Project
from runs.pages.http import PageRequest, SeeOther, page, refusing, sight, visitor

_MODES = {"on": Mode.ON, "shadow": Mode.SHADOW, "off": Mode.OFF}


@require_safe
@refusing
def rule_list(request: PageRequest) -> HttpResponse:
    actor, seen = visitor(request), sight(request)
    rules = listing.listed(seen)
    found = listing.proposed(seen)
    named = {project.name: project for project in seen.of(Project.objects.all(), "pk")}
    context = {
        "rules": [(each, permissions.may_rule(actor, each.rule.project)) for each in rules],
        "proposals": [
            (each, permissions.may_rule(actor, named[each.project]))
            for each in found
            if each.project in named
        ],
        "are_on": making.are_on(),
        "may_switch": permissions.may_operate(actor),
    }
    return page(request, "feedback/rules.html", context)


@require_POST
@refusing
def rule_change(request: PageRequest, rule_pk: int) -> HttpResponse:
    """Another mode, or the end of a rule: `do` says which."""
    actor, do = visitor(request), request.POST.get("do", "")
    rule = making.find(str(rule_pk), seen_by=actor)
    if do == "remove":
        making.remove(rule, actor)
    elif mode := _MODES.get(do):
        making.set_mode(rule, mode, actor)
    else:
        raise Invalid([Problem("do", "is on, shadow, off or remove")])
    return SeeOther(resolve_url("rules"))


@require_POST
@refusing
def rule_make(request: PageRequest) -> HttpResponse:
    """Make a rule that was proposed, as long as it still would be."""
    actor = visitor(request)
    wanted = [request.POST.get(name, "") for name in ("project", "tool", "pattern")]
    offered = listing.proposed(sight(request))
    if wanted not in [[each.project, each.tool, each.pattern] for each in offered]:
        raise NotFound("This rule is not proposed any more.")
    project = Project.objects.get(name=wanted[0])
    permissions.check_may_rule(actor, project)
    mode = _MODES.get(request.POST.get("mode", ""), Mode.SHADOW)
    making.make(NewRule(project=project, tool=wanted[1], pattern=wanted[2], mode=mode), actor)
    return SeeOther(resolve_url("rules"))


@require_POST
@refusing
def rule_switch(request: PageRequest) -> HttpResponse:
    making.switch(visitor(request), is_on=request.POST.get("do") == "on")
    return SeeOther(resolve_url("rules"))
