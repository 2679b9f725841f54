"""Packages as they are kept: exactly, once, and in few statements."""

import hashlib
import json

import pytest
from pytest_django import DjangoAssertNumQueries

from runs.context import packing, reader, store
from runs.domain.values.errors import NotFound
from runs.models import ContextPackage, ContextPart, Run, StepAttempt
from tests import factories as f
from tests import packages as p

pytestmark = [pytest.mark.django_db, pytest.mark.database]

LONG_SPEC: dict[str, object] = {
    "path": "spec.md",
    "content": "Each invoice is one line.\n" * 40_000,
}
HASHES = [hashlib.sha256(bytes([number])).hexdigest() for number in range(20)]
LONGER = {**LONG_SPEC, "content": "And more.\n" * 1000}


@pytest.fixture
def run() -> Run:
    return f.start(f.five_steps())


@pytest.fixture
def attempts(run: Run) -> list[StepAttempt]:
    """Two attempts that were told nothing yet."""
    return [p.attempt(run, "two"), p.attempt(run, "two", 2)]


def test_a_package_comes_back_byte_for_byte(attempts: list[StepAttempt]) -> None:
    told = p.package(odd="NUL \0, a lone \ud800, \u202e and 😀", zero=0.1, nothing=None)

    kept = store.store(attempts[0], told)

    again = store.load(ContextPackage.objects.get(pk=kept.pk))
    assert json.dumps(again) == json.dumps(told)


def chained(run: Run, count: int) -> list[ContextPackage]:
    """Packages of one job: each is kept as what it differs in from the one before."""
    kept: store.KeptPackage | None = None
    rows = []
    for number in range(1, count + 1):
        attempt = p.attempt(run, "two", number)
        told = p.package(state={"number": number}, branch=HASHES, spec=LONGER)
        kept = store.prepared(attempt, told, kept)
        store.keep(kept, attempt)
        rows.append(kept.row)
    return rows


def test_a_package_is_kept_as_what_differs_from_the_one_before(run: Run) -> None:
    first, second = chained(run, 2)

    assert len(bytes(second.content or b"")) < len(bytes(first.content or b"")) / 2
    again = store.load(ContextPackage.objects.get(pk=second.pk))
    assert json.dumps(again) == json.dumps(
        p.package(state={"number": 2}, branch=HASHES, spec=LONGER)
    )


def test_a_long_chain_of_packages_begins_anew(run: Run) -> None:
    rows = chained(run, packing.LONGEST_CHAIN + 3)

    heads = [packing.head_of(bytes(row.content or b"")) for row in rows]
    assert [head.depth for head in heads[-3:]] == [packing.LONGEST_CHAIN, 0, 1]
    for number, row in enumerate(rows, start=1):
        assert store.load(row)["state"] == {"number": number}


def test_a_package_whose_base_is_gone_says_so(run: Run) -> None:
    first, second = chained(run, 2)
    first.delete()

    with pytest.raises(NotFound, match="the one before it is gone"):
        store.load(second)


def test_a_package_that_was_changed_says_so(run: Run) -> None:
    (only,) = chained(run, 1)
    only.content = bytes(only.content or b"")[:-9] + b"123456789"

    with pytest.raises(NotFound, match="it was changed"):
        store.load(only)


def test_a_package_of_the_last_release_is_read_and_listed(
    run: Run, attempts: list[StepAttempt]
) -> None:
    told = p.package(spec={"path": "spec.md"})
    texts = {name: json.dumps(value) for name, value in told.items()}
    manifest = {"order": list(told), "inline": texts, "parts": {}}
    row = ContextPackage.objects.create(
        run=run, attempt=attempts[0], digest=store.digest_of(told), manifest=manifest
    )

    assert json.dumps(store.load(row)) == json.dumps(told)
    (listed,) = reader.listed(run)
    assert [source.name for source in listed.sources] == list(told["sources"])


def test_equal_parts_are_kept_once(attempts: list[StepAttempt]) -> None:
    store.store(attempts[0], p.package(spec=LONG_SPEC))
    store.store(attempts[1], p.package(spec=LONG_SPEC, state={"status": "failed"}, mark="other"))

    (part,) = ContextPart.objects.all()
    assert part.size > 1_000_000 > 20 * len(part.content)


@pytest.mark.parametrize("name", ["metadata", "spec", "issue", "documents"])
def test_each_part_that_lasts_is_kept_once(attempts: list[StepAttempt], name: str) -> None:
    for attempt in attempts:
        kept = store.store(attempt, p.package(**{name: LONG_SPEC}))

    assert ContextPart.objects.count() == 1
    assert store.load(kept)[name] == LONG_SPEC


def test_a_large_part_that_is_another_every_time_stands_in_its_package(
    attempts: list[StepAttempt],
) -> None:
    kept = store.store(attempts[0], p.package(state=LONG_SPEC))

    assert not ContextPart.objects.exists()
    assert store.load(kept)["state"] == LONG_SPEC


def test_a_part_that_changed_is_kept_beside_the_earlier_one(attempts: list[StepAttempt]) -> None:
    first = store.store(attempts[0], p.package(spec=LONG_SPEC))
    second = store.store(attempts[1], p.package(spec=LONGER))

    assert ContextPart.objects.count() == 2
    assert store.load(first)["spec"] == LONG_SPEC
    assert store.load(second)["spec"] == LONGER


def test_keeping_a_package_takes_few_statements(
    attempts: list[StepAttempt], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        store.store(attempts[0], p.package())
    # Whether the large part is there, the part, the package.
    with django_assert_num_queries(3):
        store.store(attempts[1], p.package(spec=LONG_SPEC))

    ContextPackage.objects.all().delete()
    with django_assert_num_queries(2):
        store.store(attempts[0], p.package(spec=LONG_SPEC))


def test_a_package_is_read_with_two_statements(
    attempts: list[StepAttempt], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    store.store(attempts[0], p.package(spec=LONG_SPEC))

    with django_assert_num_queries(2):
        store.load(ContextPackage.objects.get())


def test_the_digest_of_a_package_is_kept_with_it(attempts: list[StepAttempt]) -> None:
    first = store.store(attempts[0], p.package(spec=LONG_SPEC))
    second = store.store(attempts[1], p.package(spec=LONG_SPEC, duration_ms=99, mark="other"))

    assert first.digest == second.digest == store.digest_of(p.package(spec=LONG_SPEC))


def test_packages_of_a_run_count_from_one(run: Run, attempts: list[StepAttempt]) -> None:
    other = f.start(f.workflow({"build": [f.step("only")]}))
    first = store.store(attempts[0], p.package(spec=LONG_SPEC))
    store.store(other.attempts.get(), p.package(spec=LONG_SPEC))
    second = store.store(attempts[1], p.package(spec=LONG_SPEC))

    assert [store.numbered(run, number) for number in (1, 2)] == [first, second]
    assert [store.number_of(row) for row in (first, second)] == [1, 2]
    assert store.newest(run) == second


@pytest.mark.parametrize("number", [-1, 0, 2, 10**30])
def test_a_number_nobody_has_is_a_sentence(
    run: Run, attempts: list[StepAttempt], number: int
) -> None:
    store.store(attempts[0], p.package(spec=LONG_SPEC))

    with pytest.raises(NotFound) as refused:
        store.numbered(run, number)

    assert str(refused.value) == (
        f"The run {run.run_id} has 1 package; there is no package {number}."
    )


def test_a_run_without_packages_says_so(run: Run) -> None:
    assert store.newest(run) is None
    with pytest.raises(NotFound, match="has no context package yet"):
        store.numbered(run, 1)


def test_a_lost_part_is_named(attempts: list[StepAttempt]) -> None:
    kept = store.store(attempts[0], p.package(spec=LONG_SPEC))
    ContextPart.objects.all().delete()

    with pytest.raises(NotFound, match=r"^Parts of the package are lost: spec\.$"):
        store.load(kept)


def test_packages_go_with_their_run(run: Run, attempts: list[StepAttempt]) -> None:
    store.store(attempts[0], p.package(spec=LONG_SPEC))

    run.delete()

    assert not ContextPackage.objects.exists()
