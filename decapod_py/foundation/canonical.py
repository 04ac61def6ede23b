"""Canonical JSON: one byte string for one value, so that a hash means the same thing everywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any


def encoder(*, separators: tuple[str, str], sort_keys: bool) -> Callable[[Any], str]:
    """`JSONEncoder.encode` makes its inner encoder anew for each value, which takes as long as a short value does."""
    whole = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, sort_keys=sort_keys, separators=separators, check_circular=False
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # another Python
        return whole.encode
    parts = make(None, whole.default, json.encoder.encode_basestring, None, *separators[::-1], sort_keys, False, False)
    return lambda value: "".join(parts(value, 0))


_encode = encoder(separators=(",", ":"), sort_keys=True)


def canonical(value: Any) -> bytes:
    """Sorted keys, no blanks, UTF-8. A lone surrogate or a NaN raises ValueError."""
    return _encode(value).encode("utf-8")


def digest(value: Any) -> str:
    return sha256(canonical(value)).hexdigest()
