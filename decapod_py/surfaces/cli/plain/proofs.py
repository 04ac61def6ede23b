"""What gates, reviews, scans and proofs found, as plain text."""

from __future__ import annotations

from collections.abc import Callable

from decapod_py.domain.text import one_line
from decapod_py.surfaces.cli.plain.wording import Lines, Result, entries, indented, quantity


def _validated(result: Result) -> Lines:
    if "report" in result:
        yield result["report"]
        return
    for finding in result["findings"]:
        yield f"{finding['severity']}: {finding_place(finding)}{one_line(finding['message'])} [{finding['gate']}]"
        yield f"  fix: {one_line(finding['fix'])}"
    for gate in result["gates"]:
        if gate["state"] in ("skipped", "broken"):
            yield f"{gate['state']}: {one_line(gate['gate'])}: {one_line(gate['reason'] or '')}"
    yield validated_summary(result)


def finding_place(finding: Result) -> str:
    if not finding["file"]:
        return ""
    return one_line(finding["file"]) + (f":{finding['line']}" if finding["line"] else "") + ": "


def validated_summary(result: Result) -> str:
    states = [gate["state"] for gate in result["gates"]]
    verdict = "BROKEN" if result["broken"] else "passed" if result["ok"] else "FAILED"
    counts = ", ".join(f"{states.count(name)} {name}" for name in _GATE_STATES if name in states)
    warnings = len(result["findings"]) - result["failing"]
    parts = [f"{quantity(result['failing'], 'failing finding')}", quantity(warnings, "warning")]
    if result["known"]:
        parts.append(f"{result['known']} known")
    return f"{verdict}: {', '.join(parts)} (gates: {counts})"


_GATE_STATES = ("passed", "warned", "failed", "broken", "skipped", "off")


def _reviewed(result: Result) -> Lines:
    if "report" in result:
        yield result["report"]
        return
    for item in result["items"]:
        yield f"{one_line(item['kind'])}: {one_line(item['title'])} ({one_line(item['id'])})"
        if item["detail"]:
            yield f"  {one_line(item['detail'])}"
        if item["diff"]:
            yield from indented(item["diff"])
        yield f"  next: {one_line(item['next'])}"
    yield one_line(result["summary"])


def _scanned(result: Result) -> Lines:
    for alike in scan_groups(result):
        finding = alike[0]
        yield f"{scan_place(finding)}: {one_line(finding['message'])} [{one_line(finding['kind'])}]"
        yield from (f"  {name}: {value}" for name, value in scan_facts(alike))
    yield from scan_notes(result)
    if result["adopted"]:
        yield f"adopted {entries(len(result['adopted']))}: decapod knowledge list --tag adopted"
    yield scan_summary(result)


def scan_groups(result: Result) -> list[list[Result]]:
    """Findings of one document that say the same, together: a reader mends them in one go."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for finding in result["findings"]:
        groups.setdefault((finding["file"], finding["kind"], finding["message"]), []).append(finding)
    return list(groups.values())


def scan_facts(alike: list[Result]) -> list[tuple[str, str]]:
    finding, lines = alike[0], [str(other["line"]) for other in alike[1:]]
    facts = [
        ("says", one_line(finding["mention"])),
        ("also in line", ", ".join(lines)),
        ("since", scan_since(finding)),
        ("fix", one_line(finding["fix"])),
    ]
    return [(name, value) for name, value in facts if value]


def scan_place(finding: Result) -> str:
    return f"{one_line(finding['file'])}:{finding['line']}"


def scan_since(finding: Result) -> str:
    since = finding["since"]
    if since is None:
        return "the working tree; it is not committed"
    return f"{one_line(since['commit'])[:10]} {one_line(since['date'])} {one_line(since['subject'])}"


def scan_notes(result: Result) -> Lines:
    return (f"note: {one_line(note)}" for note in result["notes"])


def scan_summary(result: Result) -> str:
    read = f"{quantity(result['checked'], 'mention')} in {quantity(result['files'], 'document')}"
    asked = f" since {one_line(result['base'])[:10]}" if result["base"] else ""
    if result["ok"]:
        return f"nothing is broken{asked}: of {read}, {result['good']} are good; the rest is not known to this history"
    count = len(result["findings"]) + result["omitted"]
    more = f", {result['omitted']} not shown (--limit)" if result["omitted"] else ""
    return f"{count} broken{asked}{more}: of {read}, {result['good']} are good"


def _proofs_run(result: Result) -> Lines:
    for receipt in result["receipts"]:
        yield f"{_proof_outcome(receipt)}  {one_line(receipt['proof'])}, {receipt['duration_ms'] / 1000:.1f} s"
        if receipt["paths_changed"]:
            yield "  its files changed while it ran, so this counts for nothing: keep what it writes out of its paths"
    failed = sum(not receipt["passed"] for receipt in result["receipts"])
    yield f"{quantity(len(result['receipts']), 'proof')} run, {failed} failed"


def _proof_outcome(receipt: Result) -> str:
    if receipt["timed_out"]:
        return "timed out"
    return "passed" if receipt["passed"] else f"FAILED with exit code {receipt['exit_code']}"


def _proofs_listed(result: Result) -> Lines:
    width = max((len(one_line(proof["name"])) for proof in result["proofs"]), default=0)
    for proof in result["proofs"]:
        optional = "" if proof["required"] else " (not required)"
        yield f"{one_line(proof['name']):<{width}}  {one_line(proof['state'])}{optional}: {one_line(proof['reason'])}"
        receipt = proof["receipt"]
        if receipt:
            yield f"  {_proof_outcome(receipt)} {one_line(receipt['ts'])} for {one_line(receipt['actor'])}"
    yield from _proofs_steps(result)


def _proofs_steps(result: Result) -> Lines:
    if not result["proofs"]:
        yield "no proofs; a [[proof]] in .decapod/config.toml names a command to run"
    elif not result["trusted"]:
        yield "next: decapod trust; until then none of them runs here"
    elif any(proof["required"] and proof["state"] != "good" for proof in result["proofs"]):
        yield "next: decapod proof run"


def _trusted(result: Result) -> Lines:
    config = one_line(result["config"])
    if not result["trusted"]:
        yield f"{config} is no longer trusted here" if result["changed"] else f"{config} was not trusted here"
        return
    yield f"{config} is trusted here until it changes"
    for proof in result["proofs"]:
        # Line by line, as the shell reads it: on one line, what follows a comment would look like a part of it.
        yield f"  {one_line(proof['name'])} may run:"
        yield from indented(proof["run"])
    if result["proofs"]:
        yield "next: decapod proof run"
    else:
        yield "there is no [[proof]] in it, so there is nothing to run"


RENDERERS: dict[str, Callable[[Result], Lines]] = {
    "scan": _scanned,
    "validate": _validated,
    "review": _reviewed,
    "proof.run": _proofs_run,
    "proof.list": _proofs_listed,
    "trust": _trusted,
}
