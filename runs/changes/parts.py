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
    return hashlib.sha256(raw).hexdigest(), packed(raw)


def packed(raw: bytes) -> bytes:
    """As it lies in the database."""
    return zlib.compress(raw, level=1)


def is_whole(raw: bytes) -> bool:
    """Whether this is what is kept of a file: three sizes, and as many bytes as they say."""
    if len(raw) < _SIZES.size:
        return False
    sizes: tuple[int, ...] = _SIZES.unpack_from(raw)
    return min(sizes) >= -1 and _SIZES.size + sum(max(0, size) for size in sizes) == len(raw)


def unpack(part: bytes) -> FileContent:
    raw = zlib.decompress(part)
    at, found = _SIZES.size, []
    for size in _SIZES.unpack_from(raw):
        found.append(None if size < 0 else raw[at : at + size])
        at += max(0, size)
    patch, old, new = found
    return FileContent(patch=patch, old=old, new=new)
