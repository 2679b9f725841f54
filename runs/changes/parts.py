"""What is kept of one changed file, as bytes that are found by their hash."""

import hashlib
import struct
import zlib

from runs.changes.values import FileContent

_SIZES = struct.Struct(">3q")


def pack(content: FileContent) -> tuple[str, bytes]:
    """What is kept of a file as bytes, and the hash it is found by."""
    fields = (content.patch, content.old, content.new)
    sizes = _SIZES.pack(*(-1 if each is None else len(each) for each in fields))
    raw = sizes + b"".join(each or b"" for each in fields)
    return hashlib.sha256(raw).hexdigest(), zlib.compress(raw, level=1)


def unpack(part: bytes) -> FileContent:
    raw = zlib.decompress(part)
    at, found = _SIZES.size, []
    for size in _SIZES.unpack_from(raw):
        found.append(None if size < 0 else raw[at : at + size])
        at += max(0, size)
    patch, old, new = found
    return FileContent(patch=patch, old=old, new=new)
