"""Markdown that is not what the fold says: edited by hand and not recorded, out of date, missing, in conflict.

People read and review the Markdown, so it should say what the ledgers say. A hand edit is no mistake; it only is not
recorded yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.views import pages


def check(context: Context) -> Iterator[Finding]:
    connection = context.state.connection
    for page in pages.unlike_the_fold(connection, context.workspace.pages(connection)):
        file = f".decapod/knowledge/{page.path}"
        if page.state != "unknown" and context.concerns(file) and _under_review(context, file, page.entry_id):
            message, fix = pages.SAID[page.state]
            yield context.finding(f"markdown-{page.state}", message, fix, entry=page.entry_id or None, file=file)


def _under_review(context: Context, file: str, entry_id: str) -> bool:
    return context.change is None or file in context.change.paths or entry_id in context.change.entry_ids
