"""`decapod scan`: what the documents of a repository say that is true no more. Needs no workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.foundation.errors import Misused
from decapod_py.operations.catalogue import operation
from decapod_py.storage import git

if TYPE_CHECKING:
    from decapod_py.operations.requests import Scan
    from decapod_py.operations.shapes import BrokenMention, Scanned
    from decapod_py.views.scan_report import Finding
    from decapod_py.workspace import Workspace


@operation(writes=True, idempotent=True)
def scan(workspace: Workspace, request: Scan) -> Scanned:
    """Find what README, AGENTS.md, docs and ADRs name that is gone: paths, lines, symbols, commands.

    Only what this git history once had is reported, with the commit that took it away. No decapod init is needed,
    but for --adopt: it records paragraphs that name files which are there and nothing that is gone, anchored, so that
    they are watched.
    """
    repository = git.find_repository(workspace.directory)
    if repository is None:
        raise Misused(
            "no-git",
            f"there is no git working tree at {workspace.directory}; what once was there is known from history only",
            "run it in a clone, or name one with -C DIR",
        )
    try:
        return _scan(workspace, repository, request)
    except git.GitFailed as problem:
        raise Misused("git-failed", f"git could not answer: {problem.message}", "look at git status") from None


def _scan(workspace: Workspace, repository: git.Repository, request: Scan) -> Scanned:
    from decapod_py.views import change, scanning

    base = change.merge_base(repository.worktree, repository, request.base) if request.base else None
    found = scanning.scan(repository, workspace.progress)
    findings = found.findings
    if base:
        branch = scanning.branch_since(repository.worktree, base)
        findings = [finding for finding in findings if branch.made(finding)]
    adopted: list[str] = []
    if request.adopt:
        from decapod_py.operations.adopting import adopt

        adopted = adopt(workspace, repository, found.good, found.findings)
    return {
        "root": repository.worktree,
        "base": base,
        "files": found.documents,
        "checked": found.checked,
        "good": len(found.good),
        "findings": [_shown(finding) for finding in findings[: request.limit]],
        "omitted": max(0, len(findings) - request.limit),
        "adopted": adopted,
        "notes": found.notes,
        "ok": not findings,
    }


def _shown(finding: Finding) -> BrokenMention:
    since = finding.since
    return {
        "file": finding.document,
        "line": finding.mention.line,
        "kind": finding.mention.kind,
        "mention": finding.mention.text,
        "message": finding.message,
        "since": {"commit": since.commit, "date": since.date, "subject": since.subject} if since else None,
        "now": finding.now,
        "fix": finding.fix,
    }
