"""Context packages as values: when two are the same, and what they differ in."""

from runs.context.package import compare, digest_of, readable, sections_of, unified

Json = dict[str, object]


def package(**fields: object) -> Json:
    sources: Json = {
        "spec": {"status": "ok", "duration_ms": 3, "bytes": 5, "sha256": "aa", "trust": "workspace"}
    }
    return {
        "state": {"status": "in_progress"},
        "spec": {"path": "spec.md", "content": "# Export\nOne\nTwo\n"},
        "notes": [],
        "sources": sources,
        "duration_ms": 12,
        "mark": "k3v9",
        **fields,
    }


def source(**fields: object) -> Json:
    return {"status": "ok", "duration_ms": 3, "bytes": 5, "sha256": "aa", **fields}


def test_how_long_gathering_took_and_its_mark_are_not_part_of_the_digest() -> None:
    slower = package(duration_ms=900, mark="other", sources={"spec": source(duration_ms=800)})

    assert digest_of(slower) == digest_of(package(sources={"spec": source()}))


def test_the_digest_is_the_same_whatever_order_the_keys_have() -> None:
    turned = dict(reversed(package().items()))

    assert list(turned) != list(package())
    assert digest_of(turned) == digest_of(package())


def test_every_word_a_step_is_told_counts_in_the_digest() -> None:
    others = [
        package(state={"status": "failed"}),
        package(notes=[{"source": "issue", "level": "warning", "message": "It did not answer."}]),
        package(sources={"spec": source(status="timeout")}),
        # A fact on record, not the time gathering took.
        package(state={"status": "in_progress", "duration_ms": 4}),
    ]

    digests = {digest_of(each) for each in [package(), *others]}

    assert len(digests) == 5


def test_a_comparison_tells_what_changed_in_which_source() -> None:
    old = package(sources={"spec": source(), "state": source()})
    new = package(sources={"spec": source(sha256="bb", bytes=9), "state": source(duration_ms=70)})

    spec, state = compare(old, new).sources

    assert (spec.name, spec.is_changed, spec.before["bytes"], spec.after["bytes"]) == (
        "spec",
        True,
        5,
        9,
    )
    assert (state.name, state.is_changed) == ("state", False)


def test_a_source_that_one_package_lacks_is_changed() -> None:
    old, new = package(sources={}), package(sources={"issue": source()})

    (issue,) = compare(old, new).sources

    assert issue.is_changed
    assert compare(old, new).shape()["sources"] == {
        "issue": {"changed": True, "before": None, "after": source()}
    }


def test_changed_parts_are_shown_line_by_line_and_equal_ones_named() -> None:
    new = package(spec={"path": "spec.md", "content": "# Export\nOne\nThree\n"}, mark="other")

    found = compare(package(), new)

    assert [part.name for part in found.changed] == ["spec"]
    assert unified(found.changed[0].difference).splitlines() == [
        "@@ -2,4 +2,4 @@",
        " content:",
        "   # Export",
        "   One",
        "-  Two",
        "+  Three",
    ]
    assert found.equal == ["state", "notes"]


def test_equal_packages_have_no_difference() -> None:
    found = compare(package(), package(duration_ms=99, mark="other"))

    assert not found.changed
    assert found.equal == ["state", "spec", "notes"]


def test_a_part_that_came_new_is_all_new() -> None:
    found = compare(package(), package(issue={"number": 7, "title": "Export"}))

    (issue,) = found.changed
    assert (issue.name, issue.difference.added, issue.difference.removed) == ("issue", 2, 0)


def test_json_is_read_as_an_outline() -> None:
    value = {
        "title": "Export",
        "open": True,
        "author": None,
        "labels": ["bug", "later"],
        "body": "First line\n\nThird line\n",
        "comments": [{"id": 1, "body": "Short"}, {"id": 2, "body": "Two\nlines"}],
        "events": [],
    }

    assert readable(value).splitlines() == [
        "title: Export",
        "open: true",
        "author:",
        "labels:",
        "  - bug",
        "  - later",
        "body:",
        "  First line",
        "",
        "  Third line",
        "comments:",
        "  - id: 1",
        "    body: Short",
        "  - id: 2",
        "    body:",
        "      Two",
        "      lines",
        "events:",
    ]


def test_sections_are_what_a_step_reads_without_what_is_empty() -> None:
    told = sections_of(package(issue=None, events=[], spec="plain"))

    assert told == [("state", "status: in_progress"), ("spec", "plain")]
