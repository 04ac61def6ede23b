"""Canonical JSON: one byte string for one value, so that a hash means the same thing everywhere."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode


def canonical(value: Any) -> bytes:
    """Sorted keys, no blanks, UTF-8. A lone surrogate or a NaN raises ValueError."""
    return _encode(value).encode("utf-8")


def digest(value: Any) -> str:
    return sha256(canonical(value)).hexdigest()
