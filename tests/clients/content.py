"""Content for objects: looks random, and is the same for the same seed."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path


def content(length: int, seed: object = 0) -> bytes:
    """`length` bytes that follow from `seed`."""
    return random.Random(f"{seed}").randbytes(length)


def md5(data: bytes) -> str:
    """As an ETag has it."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def make_tree(folder: Path, files: dict[str, int]) -> None:
    """Fills `folder` with files of these lengths."""
    for name, length in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(length, name))


def tree(folder: Path) -> dict[str, bytes]:
    """All files of `folder` by their names in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
