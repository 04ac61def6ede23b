"""What a scan has found so far, and what each part of it needs to judge."""

from __future__ import annotations

from typing import NamedTuple

from decapod_py.domain.named import Mention
from decapod_py.foundation.progress import Progress
from decapod_py.storage import git
from decapod_py.views.bygone import Removal
from decapod_py.views.present import Present

SECONDS_FOR_CONTENTS = 30.0  # for one walk through the contents of history
TAKE_IT_OUT = "name what took its place, or take it out"


class Named(NamedTuple):
    """A mention, and the document it stands in."""

    document: str
    mention: Mention


class Reference(NamedTuple):
    """A mention that is good, and the path it leads to if it is one."""

    document: str
    mention: Mention
    path: str | None


class Finding(NamedTuple):
    """A mention of something that is gone."""

    document: str
    mention: Mention
    message: str
    since: Removal | None  # none while the change that took it away is not committed
    now: str | None
    fix: str


class Report:
    """Good and broken mentions, and notes on what could not be judged."""

    def __init__(self, repository: git.Repository, progress: Progress) -> None:
        self.root = repository.worktree
        self.progress = progress
        self.present = Present(repository, progress)
        self.has_history = git.head_commit(repository) is not None
        self.good: list[Reference] = []
        self.findings: list[Finding] = []
        self.notes: list[str] = []

    def accept(self, one: Named, path: str | None = None) -> None:
        self.good.append(Reference(one.document, one.mention, path))

    def broken(self, one: Named, message: str, since: Removal | None, now: str | None, fix: str = "") -> None:
        advice = fix or (f"write {now}" if now else TAKE_IT_OUT)
        self.findings.append(Finding(one.document, one.mention, message, since, now, advice))

    def note_cut(self, what: str, problem: git.GitFailed) -> None:
        reason = problem.message or f"it took longer than {SECONDS_FOR_CONTENTS:.0f} s"
        self.notes.append(f"the history of {what} was not read to its end: {reason}")
