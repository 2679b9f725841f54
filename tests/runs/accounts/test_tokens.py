from datetime import timedelta

import pytest
from django.utils import timezone

from runs.accounts import permissions, tokens, users
from runs.domain.values.actors import Role, Scope
from runs.domain.values.errors import Invalid, NotAllowed, NotFound, Refused
from runs.models import AccessToken
from tests import factories as f
from tests.commands import faber

pytestmark = pytest.mark.django_db


def test_a_token_is_found_by_its_secret_and_only_the_hash_is_kept() -> None:
    token, secret = tokens.create("ci", scope=Scope.AGENT)

    assert secret.startswith("faber_")
    assert len(secret) > 40
    assert tokens.find(secret) == token
    assert secret not in str(AccessToken.objects.values())


@pytest.mark.parametrize("secret", ["", "faber_", "faber_nobody", "x" * 50, "faber_\ud800"])
def test_any_other_secret_finds_nothing(secret: str) -> None:
    tokens.create("ci", scope=Scope.AGENT)

    assert tokens.find(secret) is None


def test_a_revoked_token_opens_nothing_from_that_moment() -> None:
    _, secret = tokens.create("ci", scope=Scope.AGENT)

    tokens.revoke("ci")

    assert tokens.find(secret) is None


def test_an_expired_token_opens_nothing() -> None:
    _, secret = tokens.create("ci", scope=Scope.AGENT, expires_at=timezone.now())

    assert tokens.find(secret) is None


def test_the_token_of_an_account_that_was_closed_opens_nothing() -> None:
    rita = users.create("rita", role=Role.REVIEWER)
    _, secret = tokens.create("ci", scope=Scope.REVIEWER, user=rita)
    rita.is_active = False
    rita.save()

    assert tokens.find(secret) is None


def test_a_name_is_given_once() -> None:
    tokens.create("ci", scope=Scope.AGENT)

    with pytest.raises(Refused, match="already a token ci"):
        tokens.create("ci", scope=Scope.OPERATOR)


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "two\nlines"])
def test_a_name_is_one_short_line(name: str) -> None:
    with pytest.raises(Invalid):
        tokens.create(name, scope=Scope.AGENT)


def test_a_token_without_a_user_cannot_pass_for_one() -> None:
    users.create("rita", role=Role.REVIEWER)

    with pytest.raises(Invalid, match="Rita is an account"):
        tokens.create("Rita", scope=Scope.REVIEWER)


def test_somebody_revokes_only_their_own() -> None:
    rita, otto = (users.create(name, role=Role.REVIEWER) for name in ("rita", "otto"))
    tokens.create("ci", scope=Scope.AGENT, user=rita)

    with pytest.raises(NotFound):
        tokens.revoke("ci", user=otto)

    assert tokens.revoke("ci", user=rita).revoked_at is not None


def test_last_used_is_written_at_most_once_a_minute() -> None:
    token, _ = tokens.create("ci", scope=Scope.AGENT)
    tokens.touch(token)
    first = AccessToken.objects.get().last_used_at
    assert first is not None

    tokens.touch(AccessToken.objects.get())
    assert AccessToken.objects.get().last_used_at == first

    AccessToken.objects.update(last_used_at=first - timedelta(seconds=61))
    tokens.touch(AccessToken.objects.get())
    assert AccessToken.objects.get().last_used_at >= first  # type: ignore[operator]


@pytest.mark.parametrize(
    ("scope", "role", "acts", "starts", "steers"),
    [
        (Scope.AGENT, None, True, False, False),
        (Scope.AGENT, Role.VIEWER, False, False, False),
        (Scope.AGENT, Role.ADMIN, True, False, False),
        (Scope.REVIEWER, None, True, True, False),
        (Scope.REVIEWER, Role.VIEWER, False, False, False),
        (Scope.REVIEWER, Role.REVIEWER, True, True, False),
        (Scope.REVIEWER, Role.OPERATOR, True, True, False),
        (Scope.OPERATOR, None, True, True, True),
        (Scope.OPERATOR, Role.VIEWER, False, False, False),
        (Scope.OPERATOR, Role.REVIEWER, True, True, False),
        (Scope.OPERATOR, Role.OPERATOR, True, True, True),
        (Scope.OPERATOR, Role.ADMIN, True, True, True),
    ],
)
def test_a_token_does_what_both_its_scope_and_its_user_may(
    scope: Scope, role: Role | None, acts: bool, starts: bool, steers: bool
) -> None:
    user = users.create("pat", role=role) if role else None
    token, _ = tokens.create("ci", scope=scope, user=user)
    actor, run = tokens.actor_of(token), f.start(f.five_steps())

    assert permissions.may_act(actor) is acts
    assert permissions.may_start(actor) is starts
    assert permissions.may_steer(actor, run) is steers


def test_a_role_that_is_taken_away_is_taken_from_the_tokens_too() -> None:
    pat = users.create("pat", role=Role.OPERATOR)
    token, _ = tokens.create("ci", scope=Scope.OPERATOR, user=pat)
    tokens.check_may_operate(tokens.actor_of(token), "This")

    users.set_role(pat, Role.VIEWER)

    with pytest.raises(NotAllowed, match="This requires an operator token"):
        tokens.check_may_operate(tokens.actor_of(token), "This")


def test_the_command_shows_the_secret_once() -> None:
    users.create("rita", role=Role.REVIEWER)

    made = faber("token", "create", "ci", "--scope", "reviewer", "--user", "rita", "--json")

    assert made.code == 0
    assert set(made.document) == {"name", "scope", "user", "token"}
    assert (made.document["scope"], made.document["user"]) == ("reviewer", "rita")
    assert tokens.find(made.document["token"]) == AccessToken.objects.get()
    listed = faber("token", "list", "--json")
    assert made.document["token"] not in listed.out
    assert [item["name"] for item in listed.document["items"]] == ["ci"]


def test_the_command_revokes_by_name() -> None:
    secret = faber("token", "create", "ci", "--scope", "agent").out.strip()

    assert faber("token", "revoke", "ci").code == 0

    assert tokens.find(secret) is None
    assert "revoked" in faber("token", "list").lines[1]


def test_the_command_says_what_a_viewers_token_is_good_for() -> None:
    users.create("vera", role=Role.VIEWER)

    made = faber("token", "create", "ci", "--scope", "operator", "--user", "vera")

    assert "only reads" in made.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["create", "ci", "--scope", "agent", "--user", "nobody"], 6),
        (["create", "ci", "--scope", "agent", "--days", "0"], 2),
        (["revoke", "nothing"], 6),
    ],
)
def test_what_cannot_be_done_is_a_sentence(words: list[str], code: int) -> None:
    refused = faber("token", *words)

    assert (refused.code, refused.out) == (code, "")
    assert refused.err.strip()


def test_the_command_gives_a_token_an_end() -> None:
    faber("token", "create", "ci", "--scope", "agent", "--days", "30")

    ends = AccessToken.objects.get().expires_at
    assert ends is not None
    assert ends - timezone.now() == pytest.approx(timedelta(days=30), abs=timedelta(minutes=1))
