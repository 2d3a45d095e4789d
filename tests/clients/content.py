"""Content for objects: pseudorandom bytes that depend only on a seed."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path


def content(length: int, seed: object = 0) -> bytes:
    """Returns `length` bytes that depend only on `seed`."""
    return random.Random(f"{seed}").randbytes(length)


def md5(data: bytes) -> str:
    """Returns the MD5 digest in hexadecimal, as in an ETag."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def make_tree(folder: Path, files: dict[str, int]) -> None:
    """Makes files of these lengths in `folder`."""
    for name, length in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(length, name))


def tree(folder: Path) -> dict[str, bytes]:
    """Returns the content of each file below `folder`, by its relative path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
