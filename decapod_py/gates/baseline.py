"""The baseline: findings that are known already, so that only new ones count. It is a file that git tracks."""

from __future__ import annotations

import json
from collections import Counter

from decapod_py.foundation.errors import Misused
from decapod_py.gates.finding import Finding

FILE = ".decapod/baseline.json"


def read(data: bytes | None) -> Counter[str]:
    """How often each finding is known, by its fingerprint; none is where there is no baseline."""
    if data is None:
        return Counter()
    try:
        found = json.loads(data)["findings"]
        return Counter({str(one["fingerprint"]): int(one["count"]) for one in found})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise Misused(
            "bad-baseline", f"{FILE} is not what --write-baseline writes", f"remove it, or git checkout -- {FILE}"
        ) from None


def split(findings: list[Finding], known: Counter[str]) -> tuple[list[Finding], list[Finding]]:
    """The findings that are new, and those that are known: a third of a kind is new where two are known."""
    left = Counter(known)
    new, old = [], []
    for finding in findings:
        fingerprint = finding.fingerprint()
        if left[fingerprint] > 0:
            left[fingerprint] -= 1
            old.append(finding)
        else:
            new.append(finding)
    return new, old


def written(findings: list[Finding]) -> bytes:
    """One finding a line, in a stable order: what goes away shows as one line less."""
    counts = Counter(finding.fingerprint() for finding in findings)
    by_fingerprint = {finding.fingerprint(): finding for finding in findings}
    lines = [
        json.dumps(
            {
                "fingerprint": fingerprint,
                "count": counts[fingerprint],
                "gate": finding.gate,
                "code": finding.code,
                "place": finding.entry or finding.file or "",
            },
            ensure_ascii=False,
        )
        for fingerprint, finding in sorted(by_fingerprint.items(), key=lambda item: (item[1].gate, item[0]))
    ]
    return ('{"findings": [\n' + ",\n".join(lines) + "\n]}\n").encode()
