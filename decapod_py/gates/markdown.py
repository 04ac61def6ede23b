"""Markdown that is not what the fold says: edited by hand and not recorded, out of date, missing, in conflict.

People read and review the Markdown, so it should say what the ledgers say. A hand edit is no mistake; it only is not
recorded yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.domain.entry import Entry
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.views import pages
from decapod_py.views.markdown import classify
from decapod_py.views.pages import Page

_FOLDER = ".decapod/knowledge/"


def check(context: Context) -> Iterator[Finding]:
    for page in _staged_pages(context) if context.staged else _pages(context):
        if page.state not in ("same", "unknown"):
            file = _FOLDER + page.path
            message, fix = pages.SAID[page.state]
            yield context.finding(f"markdown-{page.state}", message, fix, entry=page.entry_id or None, file=file)


def _pages(context: Context) -> Iterator[Page]:
    connection = context.state.connection
    for page in pages.unlike_the_fold(connection, context.workspace.pages(connection)):
        if (
            context.change is None
            or _FOLDER + page.path in context.change.paths
            or page.entry_id in context.change.entry_ids
        ):
            yield page


def _staged_pages(context: Context) -> Iterator[Page]:
    """Of the files that the commit brings, and those of entries it acts on; as git has them, not the working tree."""
    assert context.change
    brought = {path.removeprefix(_FOLDER) for path in context.change.paths if path.startswith(_FOLDER)}
    entries = {entry.path: entry for named in context.change.entry_ids if (entry := context.state.entry(named))}
    for path in brought:
        entries.update((entry.path, entry) for entry in context.state.entries("path = ?", (path,)))
    for path in sorted(entries.keys() | {path for path in brought if path.endswith(".md")}):
        yield _staged_page(context, path, entries.get(path))


def _staged_page(context: Context, path: str, entry: Entry | None) -> Page:
    data = context.tree.read(_FOLDER + path).data
    if entry is None:
        return Page(path, "", "orphaned" if (data or b"").startswith(b"---\nid: ") else "unknown")
    if entry.status == "deleted" or not entry.filed:
        return Page(path, entry.id, "same" if data is None else pages.unwanted(entry.status))
    return Page(path, entry.id, classify(data, entry, lambda: pages.recorded_states(context.state, entry.id)))
