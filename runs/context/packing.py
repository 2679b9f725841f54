"""Packs the texts of a package: whole, or as what they differ in from those of the one before."""

import struct
import zlib
from typing import NamedTuple

Texts = dict[str, str]

# By which packages are listed, without the rest of them.
OVERVIEW = ("sources", "notes", "left_out", "duration_ms")
LONGEST_CHAIN = 20  # of packages that must be read for one

_FORM = 1
_HEAD = struct.Struct(">BBQH")  # form, how many come before it, the last of those, its overview
_RAW = -zlib.MAX_WBITS
# What every package has in common. It is a part of the form: another text needs another form.
_COMMON = (
    '"left_out": [], "notes": [{"source": "documents", "level": "warning", "message": "'
    '{"source": "issue", "level": "info", "message": "No issue: no tracker is configured, or the '
    'work id is not an issue number."}, {"source": "spec", "level": "info", "message": "The run '
    'has no specification yet."}, {"source": "issue", "level": "info", "message": "The run has no '
    'work id, so there is no issue."}, {"source": "branch", "level": "info", "message": "The run '
    'has no branch yet."}]\nleft_out []\nsources {"state": {"status": "ok", "duration_ms": 0, '
    '"bytes": 1, "sha256": "", "trust": "faber"}, "metadata": {"status": "ok", "duration_ms": 0, '
    '"bytes": 2, "sha256": "", "trust": "faber"}, "spec": {"status": "missing", "duration_ms": 0, '
    '"bytes": 0, "sha256": null, "trust": "workspace"}, "issue": {"status": "off", "duration_ms": '
    '0, "bytes": 0, "sha256": null, "trust": "people"}, "branch": {"status": "missing", '
    '"duration_ms": 0, "bytes": 0, "sha256": null, "trust": "workspace"}, "events": {"status": '
    '"ok", "duration_ms": 0, "bytes": 3, "sha256": "", "trust": "faber"}}\nduration_ms 1'
)
_SHAPE = (
    '"run_id": "work_id": null, "target": null, "workflow_id": "workflow_version": "2.1", '
    '"plan_hash": "status": "in_progress", "current_phase": "current_step": "current_step_index": '
    '0, "last_event_id": "started_at": "updated_at": "completed_at": null, "phases": {"frame": '
    '{"status": "completed", "started_at": "completed_at": "steps": [{"id": "status": "completed", '
    '"started_at": "completed_at": "duration_ms": 1}]}, "architect": {"status": "in_progress", '
    '"started_at": "steps": [{"id": "status": "in_progress", "started_at": "}]}, "build": '
    '{"status": "pending", "steps": [{"id": "status": "pending"}]}, "evaluate": {"status": '
    '"pending", "steps": [{"id": "status": "pending"}], "retry_count": 0}, "release": {"status": '
    '"pending", "steps": []}}, "artifacts": {}, "errors": [], "additional_instructions": null, '
    '"feedback_request": null, "resume_point": {"phase": "step": "step_index": 0}, '
    '"feedback_history": []}\nmetadata {"run_id": "work_id": null, "target": null, "workflow_id": '
    '"autonomy": "guarded", "source_type": "github", "phases": ["frame", "architect", "build", '
    '"evaluate", "release"], "created_at": "created_by": "relationships": {"parent_run_id": null, '
    '"rerun_of": null, "child_runs": []}, "environment": {}, "project": "workspace": '
    '"additional_instructions": null, "inputs": {}, "plan_hash": "plan": {"workflow_id": "chain": '
    '["phases": [{"name": "units": [{"phase": "index": 0, "step": {"id": "result_handling": '
    '{"on_success": "continue", "on_warning": "continue", "on_failure": "stop", '
    '"on_pending_input": "wait"}}, "source": "}]}, {"name": \nspec null\nissue null\nbranch null'
    '\nevents [{"event_id": "type": "timestamp": "run_id": "status": "started", "source": "faber"'
    ', "metadata": {}\ndecisions []\ndocuments []\nresume_point {"phase": "step": "step_index": 0, '
    '"mode": "continue"}\nmark "'
)


class DamagedContent(Exception):
    """What is packed cannot be unpacked: it is damaged, or of a later release."""


class PackedHead(NamedTuple):
    depth: int  # how many packages must be read before it
    base: int  # the key of the one before; none: 0
    overview: int  # bytes


def pack(texts: Texts, base: Texts | None = None, *, key: int = 0, depth: int = 0) -> bytes:
    """The base is what the package before told, with its key.

    An empty text keeps its place for what is stored elsewhere.
    """
    overview = _packed(_lines({name: texts[name] for name in OVERVIEW if name in texts}), _COMMON)
    rest = _packed(_lines(_rest_of(texts)), _known(base))
    return _HEAD.pack(_FORM, depth, key, len(overview)) + overview + rest


def head_of(content: bytes) -> PackedHead:
    form, *head = _HEAD.unpack_from(content)
    if form != _FORM:
        raise DamagedContent
    return PackedHead(*head)


def overview_of(content: bytes) -> Texts:
    """The texts by which a package is listed; they are read without the one before."""
    size = head_of(content).overview
    return _texts(_unpacked(content[_HEAD.size : _HEAD.size + size], _COMMON))


def unpack(content: bytes, base: Texts | None = None) -> Texts:
    rest = content[_HEAD.size + head_of(content).overview :]
    return _texts(_unpacked(rest, _known(base))) | overview_of(content)


def _rest_of(texts: Texts) -> Texts:
    return {name: "" if name in OVERVIEW else text for name, text in texts.items()}


def _lines(texts: Texts) -> str:
    """JSON on one line has no line ends inside."""
    return "\n".join(f"{name} {text}" for name, text in texts.items())


def _texts(lines: str) -> Texts:
    named = (line.partition(" ") for line in lines.split("\n"))
    return {name: text for name, _, text in named}


def _known(base: Texts | None) -> str:
    return _lines(_rest_of(base)) if base else _SHAPE


def _packed(text: str, known: str) -> bytes:
    packing = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, wbits=_RAW, zdict=known.encode())
    return packing.compress(text.encode()) + packing.flush()


def _unpacked(content: bytes, known: str) -> str:
    unpacking = zlib.decompressobj(wbits=_RAW, zdict=known.encode())
    try:
        return (unpacking.decompress(content) + unpacking.flush()).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise DamagedContent from error
