"""What a directory says of its run that nothing here has a place for: kept, and said again."""

from collections.abc import Container, Mapping

Json = dict[str, object]

# What the original keeps about where a run stands: ours says that in its own words, and these
# would be wrong as soon as the run goes on.
_OVERTAKEN = frozenset(
    {
        *("current_step_id", "failed_at", "issue_number", "last_check_in", "last_resume_point"),
        *("paused_at", "pending_approvals", "retries", "steps_completed"),
    }
)
_OF_A_PHASE = frozenset({"artifacts", "data", "hooks_executed", "step_events"})


def left_over(
    *, state: Json, metadata: Json, rendered_state: Json, rendered_metadata: Json
) -> Json:
    """The parts of two documents that what is rendered from rows does not say."""
    relations = _object(metadata.get("relationships"))
    ours = _object(rendered_metadata.get("relationships"))
    kept: Json = {
        "state": _without(state, rendered_state.keys() | _OVERTAKEN),
        "phases": {
            name: found
            for name, phase in _object(state.get("phases")).items()
            if (found := {k: v for k, v in _object(phase).items() if k in _OF_A_PHASE})
        },
        "history": _answers(state.get("feedback_history"), rendered_state.get("feedback_history")),
        "metadata": _without(metadata, rendered_metadata) | _source(metadata, rendered_metadata),
        "relationships": {k: v for k, v in relations.items() if v and v != ours.get(k)},
    }
    return {key: value for key, value in kept.items() if value}


def state(document: Json, carried: Mapping[str, object]) -> Json:
    """The state with what was carried along; what is known here goes first."""
    for name, phase in _object(document.get("phases")).items():
        more = _object(_object(carried.get("phases")).get(name))
        if isinstance(phase, dict):
            phase.update(_without(more, phase))
    answers = _object(carried.get("history"))
    history = document.get("feedback_history")
    for entry in history if isinstance(history, list) else ():
        entry.update(_object(answers.get(str(entry["request_id"]))))
    return {**document, **_without(_object(carried.get("state")), document)}


def metadata(document: Json, carried: Mapping[str, object]) -> Json:
    known = _object(document.get("relationships"))
    told = _object(carried.get("relationships"))
    # A relation that is a row here is what it is; others are only told.
    relations = {**known, **{k: v for k, v in told.items() if not known.get(k)}}
    more = _object(carried.get("metadata"))
    source = more.get("source_type", document["source_type"])
    return {
        **document,
        **_without(more, document),
        "source_type": source,
        "relationships": relations,
    }


def _answers(told: object, rendered: object) -> Json:
    """What each answer says besides, by the id of its request."""
    known = {
        str(entry["request_id"]): entry
        for entry in (rendered if isinstance(rendered, list) else ())
    }
    found: Json = {}
    for entry in told if isinstance(told, list) else ():
        ours = known.get(str(entry.get("request_id")))
        if ours and (more := _without(entry, ours.keys())):
            found[str(entry["request_id"])] = more
    return found


def _source(metadata: Json, rendered: Json) -> Json:
    """Where the work comes from is always told here, and not always right for others' runs."""
    told = metadata.get("source_type", rendered["source_type"])
    return {"source_type": told} if told != rendered["source_type"] else {}


def _without(document: Json, names: Container[str]) -> Json:
    return {key: document[key] for key in sorted(document) if key not in names}


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
