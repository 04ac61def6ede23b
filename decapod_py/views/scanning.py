"""What documents say about their repository, held against what it has now and what it once had.

A mention is *good* when it leads somewhere, *broken* when it leads nowhere but once did in this history, and neither
when it never did: then it may be an example, a file of the reader's or another project's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from decapod_py.domain.documents import is_withdrawn
from decapod_py.domain.mentions import mentions_in
from decapod_py.foundation.progress import Progress
from decapod_py.storage import git
from decapod_py.views import scan_commands, scan_paths, scan_symbols
from decapod_py.views.bygone import Wanted, removed_paths, written_since
from decapod_py.views.scan_report import Finding, Named, Reference, Report

_SECONDS_FOR_PATHS = 300.0  # for one walk through the names of history
_LARGEST_DOCUMENT = 20_000_000  # characters


class Scan(NamedTuple):
    documents: int
    checked: int
    good: list[Reference]
    findings: list[Finding]
    notes: list[str]  # what could not be judged, and why


def scan(repository: git.Repository, progress: Progress) -> Scan:
    """Reads every document of the working tree and judges what it mentions."""
    report = Report(repository, progress)
    if git.is_shallow(repository):
        report.notes.append("the clone is shallow: what went before its first commit is not found (fetch-depth: 0)")
    documents = report.present.documents()
    named = list(_mentions(report, documents))
    _judge_names(report, named)
    scan_commands.judge_targets(report, _of_kind(named, "make-target"))
    scan_commands.judge_scripts(report, _of_kind(named, "npm-script"))
    findings = sorted(report.findings, key=lambda one: (one.document, one.mention.line, one.mention.text))
    return Scan(len(documents), len(named), report.good, findings, report.notes)


def _mentions(report: Report, documents: list[str]) -> Iterator[Named]:
    for number, path in enumerate(documents):
        report.progress("reading documents", number, len(documents))
        text = report.present.text(path)
        if text is None or is_withdrawn(path, text):
            continue
        if len(text) > _LARGEST_DOCUMENT:
            report.notes.append(f"{path} is too large to be read")
            continue
        yield from (Named(path, mention) for mention in mentions_in(text, rst=path.lower().endswith(".rst")))


def _of_kind(named: list[Named], *kinds: str) -> list[Named]:
    return [one for one in named if one.mention.kind in kinds]


def _judge_names(report: Report, named: list[Named]) -> None:
    """Paths and symbols together: a symbol may be a module, and history is walked once for both."""
    paths = scan_paths.missing_paths(report, _of_kind(named, "path", "line", "command"))
    symbols = scan_symbols.unknown_symbols(report, _of_kind(named, "symbol"))
    if not report.has_history:
        return
    wanted = Wanted()
    scan_paths.want_paths(wanted, paths)
    scan_symbols.want_modules(wanted, symbols)
    present = report.present.files | report.present.folders
    bygone = removed_paths(report.root, wanted, present, report.progress, _SECONDS_FOR_PATHS)
    if bygone.cut:
        report.notes.append(f"the history of paths was not read to its end: {bygone.cut}")
    scan_paths.judge_paths(report, paths, bygone)
    scan_paths.judge_lines(report, _of_kind(named, "line"))
    scan_symbols.judge_symbols(report, symbols, bygone)


class Branch(NamedTuple):
    """What a branch did: the lines it wrote in documents, and its commits."""

    lines: dict[str, list[range]]
    commits: set[str]

    def made(self, finding: Finding) -> bool:
        """Whether the branch wrote this mention, or took away what it names."""
        if finding.since is None or finding.since.commit in self.commits:
            return True
        return any(finding.mention.line in lines for lines in self.lines.get(finding.document, []))


def branch_since(root: str, base: str) -> Branch:
    """What happened between a commit and the working tree."""
    lines: dict[str, list[range]] = {}
    for path, written in written_since(root, base):
        lines.setdefault(path, []).append(written)
    return Branch(lines, set(git.ask(root, "rev-list", f"{base}..HEAD").split()))
