"""What a gate reports."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple


class Finding(NamedTuple):
    gate: str
    code: str
    level: str  # fail or warn
    message: str
    fix: str
    entry: str | None = None
    file: str | None = None  # from the top, with forward slashes
    line: int | None = None

    def fingerprint(self) -> str:
        """A word for the same finding in another run: lines and numbers move."""
        said = re.sub(r"\d+", "0", self.message)
        told = "\0".join([self.gate, self.code, self.entry or self.file or "", said])
        return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]
