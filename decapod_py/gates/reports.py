"""Findings for other readers: SARIF for code scanning, workflow commands for GitHub, Markdown, plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from decapod_py.domain.text import neutral, one_line
from decapod_py.gates.finding import Finding

_ANYWHERE = ".decapod/config.toml"  # a forge wants a file: where this one is, there are findings
_MOST_RESULTS = 25_000  # code scanning refuses a run with more
_MOST_ANNOTATIONS = 10  # of each level GitHub shows so many a step, and drops the rest without a word
_MOST_ROWS = 500
_MOST_BYTES = 900_000  # a step summary above 1 MiB is dropped
_LONGEST = 2_000  # characters of one message


class Aside(NamedTuple):
    """What a report must not leave out though it is no finding: a gate that was skipped or broke."""

    level: str  # fail or warn
    message: str


def sarif(
    findings: Sequence[Finding], version: str, *, about: Mapping[str, str] | None = None, asides: Sequence[Aside] = ()
) -> str:
    """SARIF 2.1.0, as code scanning takes it. `about` says for each gate what it looks at."""
    shown = _worst_first(findings)[:_MOST_RESULTS]
    rules = list(dict.fromkeys((finding.gate, finding.code) for finding in shown))
    examples = {(finding.gate, finding.code): finding for finding in reversed(shown)}
    if len(findings) > len(shown):
        asides = [*asides, Aside("warn", f"{len(findings) - len(shown)} more findings are not in this report")]
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "decapod",
                "version": version,
                "rules": [_rule(examples[rule], (about or {}).get(rule[0])) for rule in rules],
            }
        },
        "invocations": [
            {
                "executionSuccessful": all(aside.level != "fail" for aside in asides),
                "toolExecutionNotifications": [
                    {"level": _level(aside.level), "message": {"text": _told(aside.message)}} for aside in asides
                ],
            }
        ],
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The top of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, rules.index((finding.gate, finding.code))) for finding in shown],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2)


def _rule(example: Finding, about: str | None) -> dict[str, Any]:
    about = about or f"What the gate {example.gate} reports as {example.code}."
    asked = f"decapod validate --explain {example.gate}"
    return {
        "id": _rule_id(example),
        "name": re.sub(r"\W", "", f"{example.gate}-{example.code}".title()),
        "shortDescription": {"text": _told(f"{example.gate}: {example.code.replace('-', ' ')}")},
        "fullDescription": {"text": _told(about)},
        "help": {
            "text": _told(f"{about}\n\nWhat helps: {example.fix}\n\nMore: {asked}"),
            "markdown": f"{markdown_text(about)}\n\nWhat helps: {markdown_text(example.fix)}\n\nMore: `{asked}`",
        },
        "defaultConfiguration": {"level": _level(example.level)},
        "properties": {"tags": ["decapod", example.gate]},
    }


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    return {
        "ruleId": _rule_id(finding),
        "ruleIndex": rule,
        "level": _level(finding.level),
        "message": {"text": _told(f"{finding.message}\nWhat helps: {finding.fix}")},
        "locations": [_location(finding)],
        "partialFingerprints": {"decapodFinding/v1": finding.fingerprint()},
    }


def _location(finding: Finding) -> dict[str, Any]:
    from urllib.parse import quote

    uri = quote(finding.file or _ANYWHERE, safe="/", errors="surrogatepass")
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}}
    if not finding.file or finding.line:
        physical["region"] = {"startLine": max(1, finding.line or 1) if finding.file else 1}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.entry or not finding.file:
        logical = _told(finding.entry or finding.gate)
        location["logicalLocations"] = [{"fullyQualifiedName": logical, "kind": "resource"}]
    return location


def _rule_id(finding: Finding) -> str:
    return _told(f"{finding.gate}/{finding.code}")


def _level(level: str) -> str:
    return "error" if level == "fail" else "warning"


def _told(text: str) -> str:
    """Plain text of a message, which no reader takes for a link of ours: `[text](place)` is one in SARIF."""
    return _cut(neutral(text)).replace("](", "] (")


def github(findings: Sequence[Finding], *, asides: Sequence[Aside] = ()) -> str:
    """Workflow commands, which a step prints and GitHub shows beside the lines they name."""
    lines = []
    for level in ("fail", "warn"):
        shown = [_command(finding) for finding in findings if finding.level == level]
        shown += [
            f"::{_level(level)} title=decapod::{_data(aside.message)}" for aside in asides if aside.level == level
        ]
        lines += shown[:_MOST_ANNOTATIONS]
        if len(shown) > _MOST_ANNOTATIONS:
            more = _counted(len(shown) - _MOST_ANNOTATIONS, f"more {_level(level)}")
            lines.append(f"::notice title=decapod::{more}, not shown here: decapod validate tells them all")
    return "\n".join(lines or ["decapod: no findings"])


def _command(finding: Finding) -> str:
    properties = {"title": f"{finding.gate}/{finding.code}"}
    if finding.file:
        line = {"line": str(finding.line)} if finding.line else {}
        properties = {"file": finding.file, **line, **properties}
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    entry = f"{finding.entry}: " if finding.entry and finding.entry not in finding.message else ""
    told = _data(f"{entry}{finding.message}\nfix: {finding.fix}")
    return f"::{_level(finding.level)} {written}::{told}"


def _data(text: str) -> str:
    """A command's message: GitHub unescapes these three, and an older form of command may begin inside a line."""
    told = _cut(neutral(text.replace("\r\n", "\n").replace("\r", "\n"))).replace("##[", "## [")
    return told.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text)).replace(":", "%3A").replace(",", "%2C")


def markdown(findings: Sequence[Finding], heading: str = "Decapod", *, asides: Sequence[Aside] = ()) -> str:
    """A table of findings for a step summary, which no stored text can break or style."""
    rows = _fitting([_row(finding) for finding in _worst_first(findings)[:_MOST_ROWS]])
    lines = [f"### {markdown_text(heading)}: {_summary(findings)}"]
    if rows:
        lines += ["", "| | where | what | what helps |", "| --- | --- | --- | --- |", *rows]
    if len(findings) > len(rows):
        lines += ["", f"{_counted(len(findings) - len(rows), 'more finding')}: `decapod validate` tells them all."]
    lines += [line for aside in asides for line in ("", f"**{markdown_text(aside.message)}**")]
    return "\n".join(lines)


def _fitting(rows: list[str]) -> list[str]:
    left = _MOST_BYTES
    for number, row in enumerate(rows):
        left -= len(row.encode())
        if left < 0:
            return rows[:number]
    return rows


def _row(finding: Finding) -> str:
    said = f"{markdown_text(finding.message)}<br>{markdown_text(f'{finding.gate}/{finding.code}')}"
    cells = (_level(finding.level), markdown_text(_place(finding)), said, markdown_text(finding.fix))
    return f"| {' | '.join(cells)} |"


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is: what could be markup, a link or a mention becomes a character reference."""
    plain = re.sub(r"[&<>\\`*_{}\[\]()#+!|~@:$^=\"']", lambda match: f"&#{ord(match[0])};", _cut(one_line(text)))
    return plain.replace("www.", "www&#46;")


def fenced(text: str, language: str = "") -> str:
    """A block of code that nothing in the text can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{neutral(text).rstrip()}\n{fence}"


def text(findings: Sequence[Finding], *, asides: Sequence[Aside] = ()) -> str:
    """The findings for a pipe: two lines each, the worst first, and a last line that counts them."""
    lines = []
    for finding in _worst_first(findings):
        lines.append(
            f"{_level(finding.level)}: {one_line(_place(finding))}: {one_line(finding.message)} [{finding.gate}]"
        )
        lines.append(f"  fix: {one_line(finding.fix)}")
    lines += [f"{_level(aside.level)}: {one_line(aside.message)}" for aside in asides]
    return "\n".join([*lines, _summary(findings)])


def _place(finding: Finding) -> str:
    if finding.file:
        return f"{finding.file}:{finding.line}" if finding.line else finding.file
    return finding.entry or finding.gate


def _summary(findings: Sequence[Finding]) -> str:
    levels = [_level(finding.level) for finding in findings]
    counts = [_counted(levels.count(level), level) for level in ("error", "warning") if level in levels]
    return ", ".join(counts) or "no findings"


def _worst_first(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: finding.level != "fail")


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
