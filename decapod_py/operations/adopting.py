"""What `decapod scan --adopt` does: paragraphs of documents that name files which are there become anchored entries."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.anchors import decoded, split_lines
from decapod_py.domain.authored import Authored, title_and_content
from decapod_py.domain.text import LONGEST_TITLE, check_content, check_title
from decapod_py.foundation.errors import DecapodError
from decapod_py.operations.knowledge.add import decide, draft_of
from decapod_py.operations.knowledge.citing import anchored, resolver_of
from decapod_py.operations.knowledge.discretion import without_secrets
from decapod_py.storage import git
from decapod_py.storage.trees import WorkingTree

if TYPE_CHECKING:
    from decapod_py.views.scan_report import Finding, Reference
    from decapod_py.workspace import Workspace
    from decapod_py.writer import Writer


class Paragraph(NamedTuple):
    """Lines of a document that belong together, and the files they name."""

    document: str
    first: int
    last: int
    text: str
    named: tuple[str, ...]


def adopt(workspace: Workspace, repository: git.Repository, good: list[Reference], broken: list[Finding]) -> list[str]:
    """Records each paragraph once, unless it also names what is gone.

    What was adopted before, and what holds a secret, is left out.
    """
    prefix = git.prefix_of(repository, workspace.root)
    wrong = {(one.document.removeprefix(prefix), one.mention.line) for one in broken}
    resolver = resolver_of(workspace)
    actor = workspace.actor()
    adopted = []
    with workspace.writing() as writer:
        for paragraph in _paragraphs(workspace.root, prefix, good):
            if any((paragraph.document, line) in wrong for line in range(paragraph.first, paragraph.last + 1)):
                continue
            try:
                authored = without_secrets(workspace, anchored(workspace, _authored(paragraph), resolver), None)
            except DecapodError:
                continue
            entry_id = _record(workspace, writer, actor, authored)
            if entry_id:
                adopted.append(entry_id)
    return adopted


def _record(workspace: Workspace, writer: Writer, actor: str, authored: Authored) -> str | None:
    assert authored.merge_key
    if writer.state.count("entries", "merge_key = ? AND status != 'deleted'", (authored.merge_key,)):
        return None
    decision = decide(writer, workspace, authored, None, "reject", "active")
    writer.append(actor, draft_of(writer, decision, "active"))
    return decision.entry_id


def _authored(paragraph: Paragraph) -> Authored:
    title, content = title_and_content(paragraph.text, LONGEST_TITLE)
    cited = [f"file:{paragraph.document}#L{paragraph.first}-L{paragraph.last}"]
    cited += [f"file:{path}" for path in paragraph.named]
    digest = sha256(paragraph.text.encode()).hexdigest()[:12]
    return Authored(
        title=check_title(title.lstrip("-*> ")),
        content=check_content(content),
        provenances=tuple(dict.fromkeys(cited)),
        tags=("adopted",),
        merge_key=f"scan:{digest}:{paragraph.document}"[:200],
    )


def _paragraphs(root: str, prefix: str, good: list[Reference]) -> list[Paragraph]:
    named: dict[str, dict[int, list[str]]] = {}
    for reference in good:
        if reference.path and reference.path.startswith(prefix) and reference.document.startswith(prefix):
            path = reference.path.removeprefix(prefix)
            if os.path.isfile(os.path.join(root, path)):
                lines = named.setdefault(reference.document.removeprefix(prefix), {})
                lines.setdefault(reference.mention.line, []).append(path)
    found = []
    for document, mentions in sorted(named.items()):
        text = decoded(WorkingTree(root).read(document).data or b"") or ""
        found += _of_a_document(document, split_lines(text), mentions)
    return found


def _of_a_document(document: str, lines: list[str], mentions: dict[int, list[str]]) -> list[Paragraph]:
    found: list[Paragraph] = []
    for line in sorted(mentions):
        if line > len(lines) or (found and line <= found[-1].last):
            continue
        first = last = line
        while first > 1 and lines[first - 2].strip():
            first -= 1
        while last < len(lines) and lines[last].strip():
            last += 1
        paths = [path for number, named in mentions.items() if first <= number <= last for path in named]
        text = "\n".join(lines[first - 1 : last])
        found.append(Paragraph(document, first, last, text, tuple(dict.fromkeys(paths))[:5]))
    return found
