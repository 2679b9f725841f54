"""Every address of the site against everybody who may come to it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from tests.matrix.conftest import Place, Site, taken_back
from tests.matrix.people import VISITORS, Level, standing_of_visitor, visitor

pytestmark = pytest.mark.django_db


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Who gets through an address: how far somebody must be, in the project or on the site."""

    needs: Level
    of: str = "project"  # or site, or nobody's in particular: public
    fields: dict[str, str] = field(default_factory=dict)  # what a POST sends


_READ, _ANSWER, _OPERATE = Level.READ, Level.ANSWER, Level.OPERATE
_LOOK = {"GET": Rule(needs=_READ)}
_SITE = {"GET": Rule(needs=_READ, of="site")}
_OPEN = Rule(needs=Level.NONE, of="public")

# By the name of the address; a new one without a row fails.
RULES: dict[str, dict[str, Rule]] = {
    "inbox": _SITE,
    "waiting": _SITE,
    "request": {
        "GET": Rule(needs=_READ),
        "POST": Rule(needs=_ANSWER, fields={"response": "reject"}),
    },
    "draft": {
        "GET": Rule(needs=_ANSWER),
        "POST": Rule(needs=_ANSWER, fields={"comment": "x"}),
    },
    "held": _LOOK,
    "undo": {"POST": Rule(needs=_READ)},  # one's own answer alone: refused, not hidden
    "go-now": {"POST": Rule(needs=_READ)},
    "ask-agent": {"POST": Rule(needs=_ANSWER, fields={"text": "Why?"})},
    "delegate": {"POST": Rule(needs=_ANSWER, fields={"to": "admin"})},
    "override": {"POST": Rule(needs=_OPERATE, fields={"response": "reject", "reason": "x"})},
    "remarks": {"GET": Rule(needs=_ANSWER), "POST": Rule(needs=_ANSWER, fields={"body": "x"})},
    "remark": {"GET": Rule(needs=_ANSWER), "POST": Rule(needs=_ANSWER)},
    "remark-remove": {"POST": Rule(needs=_ANSWER)},
    "artifact": _LOOK,
    "view-file": {"POST": Rule(needs=_ANSWER, fields={"path": "app.py"})},
    "changed-image": _LOOK,
    "rules": _SITE,
    "rule-make": {"POST": Rule(needs=_READ, of="site")},  # nothing is proposed here
    "rule-change": {"POST": Rule(needs=_ANSWER, fields={"do": "off"})},
    "rule-switch": {"POST": Rule(needs=_OPERATE, of="site", fields={"do": "off"})},
    "audit": _SITE,
    "audit-csv": _SITE,
    "statistics": _SITE,
    "costs": _SITE,
    "doctor": {"GET": Rule(needs=_OPERATE, of="site"), "POST": Rule(needs=_OPERATE, of="site")},
    "proxy-check": {"GET": _OPEN},  # for the doctor's signed question, which nobody else has
    "webhooks": {
        "GET": Rule(needs=_OPERATE, of="somewhere"),
        "POST": Rule(needs=_OPERATE, of="somewhere"),
    },
    "webhook": {"GET": Rule(needs=_OPERATE)},
    "webhook-rotate": {"POST": Rule(needs=_OPERATE)},
    "webhook-remove": {"POST": Rule(needs=_OPERATE)},
    "webhook-redeliver": {"POST": Rule(needs=_OPERATE)},
    "batch": {"GET": Rule(needs=_READ), "POST": Rule(needs=_READ)},  # each row is refused by itself
    "batch-draft": {
        "GET": Rule(needs=_READ),
        "POST": Rule(needs=_READ, fields={"draft": "{}"}),
    },
    "batch-paste": {"POST": Rule(needs=_READ)},
    "batch-prompt": _LOOK,
    # Without runs there is nothing to see; which ones somebody may name is tested with the page.
    "selection": {"GET": Rule(needs=_READ, of="site"), "POST": Rule(needs=_READ, of="site")},
    "selection-draft": {"GET": Rule(needs=_READ, of="site"), "POST": Rule(needs=_READ, of="site")},
    "selection-paste": {"POST": Rule(needs=_READ, of="site")},
    "selection-prompt": _SITE,
    "selection-peek": _LOOK,
    "batch-peek": _LOOK,
    "runs": _SITE,
    "run": _LOOK,
    "run-state": _LOOK,
    "run-artifact": _LOOK,
    "run-file": _LOOK,
    "run-picture": _LOOK,
    "run-output": _LOOK,
    "run-output-file": _LOOK,
    "run-package": _LOOK,
    "run-package-json": _LOOK,
    "run-cancel": {"POST": Rule(needs=_OPERATE, fields={"reason": "x"})},
    "run-resume": {"POST": Rule(needs=_OPERATE)},
    "run-rerun": {"POST": Rule(needs=_OPERATE)},
    "run-worktree": {"POST": Rule(needs=_OPERATE)},
    "diagram": _SITE,  # an empty drawing board
    "projects": _SITE,
    "project": {"GET": Rule(needs=_READ), "POST": Rule(needs=_OPERATE, of="both")},
    "start": {
        "GET": Rule(needs=_ANSWER, of="somewhere"),
        "POST": Rule(needs=_ANSWER, of="somewhere"),
    },
    "login": {"GET": _OPEN, "POST": _OPEN},
    "login-link": {"GET": _OPEN, "POST": _OPEN},
    "logout": {},  # whoever comes is sent to the page to sign in
    "stand-in": {
        **_SITE,
        "POST": Rule(needs=_READ, of="site", fields={"stand_in": "admin", "until": "2030-01-01"}),
    },
    "stand-in-end": {"POST": Rule(needs=_READ, of="site")},  # for oneself alone
    "tokens": {**_SITE, "POST": Rule(needs=_READ, of="site")},
    "token-revoke": {"POST": Rule(needs=_READ, of="site")},  # one's own alone
    "sessions": _SITE,
    "notices": {**_SITE, "POST": Rule(needs=_READ, of="site")},  # one's own alone
    "notices-test": {"POST": Rule(needs=_READ, of="site")},
    "notices-newest": _SITE,
    "session-end": {"POST": Rule(needs=_READ, of="site")},  # one's own alone
    "other-sessions-end": {"POST": Rule(needs=_READ, of="site")},
    "guide-dismiss": {"POST": Rule(needs=_READ, of="site")},  # for oneself alone
    "docs": _SITE,
    "docs-search": _SITE,
    "docs-page": _SITE,
    "docs-file": _SITE,
    "theme": {"POST": Rule(needs=_READ, of="site")},
    "github-setup": {
        "GET": Rule(needs=_OPERATE, of="site"),
        "POST": Rule(needs=_OPERATE, of="site"),
    },
    "github-setup-callback": {"GET": Rule(needs=_OPERATE, of="site")},  # refused without a state
    "github-webhook": {"POST": _OPEN},  # signed, or refused
    "gitlab-webhook": {"POST": _OPEN},  # with its token, or refused
    # Tried by the calls, the tools and the programs that watch the site.
    "api": {},
    "mcp": {},
    "metrics": {},
    "favicon.ico": {"GET": _OPEN},
    "favicon": {"GET": _OPEN},
    "skill-response-schema": {"GET": _OPEN},
    "admin": {},
    "admin/login/": {},  # the same form as at the door of the site
}


def addresses(
    patterns: list[URLPattern | URLResolver], prefix: str = ""
) -> Iterator[tuple[str, str]]:
    """Every address of ours, with the name a rule knows it by."""
    for pattern in patterns:
        route = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            if route.startswith(("admin/", "api/")):
                yield route.split("/", maxsplit=1)[0], route
            else:
                yield from addresses(pattern.url_patterns, route)
        else:
            yield pattern.name or route, route


def test_every_address_has_a_rule() -> None:
    names = {name for name, _ in addresses(get_resolver().url_patterns)}

    assert names == set(RULES)


def filled(name: str, place: Place) -> str:
    """The address of something that is there."""
    run, asked = place.asking, place.request
    attempt = run.attempts.get()
    values = {
        "<run_id:run_id>": run.run_id,
        "<slug:request_id>": asked.request_id,
        "<slug:batch_id>": place.batch.batch_id,
        "<slug:endpoint_id>": place.webhook.endpoint_id,
        "<slug:delivery_id>": place.delivery.delivery_id,
        "<project:name>": place.project.name,
        "<int:revision>": "1",
        "<path:path>": run.revisions.get().path,
        "<slug:name>": "readme",
        "<int:attempt_pk>": str(attempt.pk),
        "<stream:stream>": "stdout",
        "<int:number>": "1",
        "<int:count>": "1",
        "<int:pk>": "999999",
        "<int:rule_pk>": str(place.project.rules.get().pk),
        "<str:token>": "nothing",
        "<str:since>": "base",
        "<str:side>": "new",
        "<str:part>": "nothing",
    }
    route = next(route for known, route in addresses(get_resolver().url_patterns) if known == name)
    for part, value in values.items():
        route = route.replace(part, value)
    assert "<" not in route, route
    return f"/{route}"


_SAYS_WHAT_IS_NOT_SET_UP = {"github-webhook", "gitlab-webhook"}  # with 503
# What is not there for anybody, so that even who may is told so.
_MAY_BE_MISSING = {
    "rule-make",  # nothing is proposed
    "view-file",
    "changed-image",
    "remark",
    "remark-remove",
    "token-revoke",
    "session-end",
    "run-output-file",
    "run-picture",  # the file there is no picture
    "docs-file",  # it has files of its own
    "login-link",
    "proxy-check",
}


def expected(rule: Rule, who: str, where: str) -> str:
    standing = standing_of_visitor(who)
    if rule.of == "public":
        return "through"
    if not standing.site:
        return "out"
    here = standing.open if where == "open" else standing.closed
    match rule.of:
        case "site":
            return "through" if standing.site >= rule.needs else "forbidden"
        case "somewhere":
            best = max(standing.site, standing.open, standing.closed)
            return "through" if best >= rule.needs else "forbidden"
        case "both" if here:
            return "through" if min(standing.site, here) >= rule.needs else "forbidden"
    if not here:
        return "missing"
    return "through" if here >= rule.needs else "forbidden"


def met(response: Any, name: str) -> str:
    status = response.status_code
    assert status < 500 or name in _SAYS_WHAT_IS_NOT_SET_UP, f"{name}: {status}"
    if status == 401 or (status == 302 and "/login/" in response["Location"]):
        return "out"
    if status == 403:
        return "forbidden"
    if status in (404, 410) and name not in _MAY_BE_MISSING:
        return "missing"
    return "through"


CASES = [(name, method) for name, rules in RULES.items() for method in rules]


@pytest.mark.parametrize("where", ["open", "closed"])
def test_everybody_gets_as_far_as_the_rules_say(site: Site, where: str) -> None:
    place = site.place(where)
    visitors = {who: visitor(who) for who in VISITORS}
    wrong = []
    for name, method in CASES:
        rule = RULES[name][method]
        address = filled(name, place)
        for who in VISITORS:
            with taken_back():
                client = visitors[who]
                answer = (
                    client.post(address, rule.fields) if method == "POST" else client.get(address)
                )
            wanted, got = expected(rule, who, where), met(answer, name)
            missing = name in _MAY_BE_MISSING and wanted == "missing"
            if got != wanted and not (missing and answer.status_code == 404):
                wrong.append(
                    f"{who} {method} {address}: {got} ({answer.status_code}), not {wanted}"
                )

    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("who", VISITORS)
def test_nobody_changes_anything_by_looking(site: Site, who: str) -> None:
    """A GET of what only takes a POST is not allowed, and does nothing."""
    client = visitor(who)
    for name, rules in RULES.items():
        if "POST" in rules and "GET" not in rules:
            with taken_back():
                answer = client.get(filled(name, site.open))
            assert answer.status_code in (302, 401, 403, 405), f"{name}: {answer.status_code}"
