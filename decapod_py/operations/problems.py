"""What can be wrong with a workspace, in words, each with what to do about it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from decapod_py.foundation.errors import DecapodError
from decapod_py.views.comparison import differences
from decapod_py.views.pages import SAID
from decapod_py.workspace import FOLDER

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.operations.shapes import Problem
    from decapod_py.views.pages import Page
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace


def problem(code: str, severity: Literal["error", "warning"], place: str, message: str, fix: str) -> Problem:
    return {"code": code, "severity": severity, "place": place, "message": message, "fix": fix}


def ledger_problems(state: State) -> list[Problem]:
    """Lines that are no events, and parents that are not here."""
    found = []
    for segment, line, code, message, tail in state.connection.execute(
        "SELECT segment, line, code, message, tail FROM segment_problems ORDER BY segment, line"
    ):
        place = f"{FOLDER}/ledgers/{segment}:{line}"
        if tail:
            found.append(
                problem("torn-line", "warning", place, "the last line is incomplete: a crash", "none is needed")
            )
        else:
            found.append(problem(code, "error", place, message, "bring the line back from git"))
    gaps = state.connection.execute(
        "SELECT e.ledger, count(DISTINCT p.parent) FROM event_parents p JOIN events e ON e.number = p.child"
        " LEFT JOIN events parent ON parent.hash = p.parent WHERE parent.hash IS NULL GROUP BY e.ledger"
    )
    for ledger, count in gaps:
        message = f"{count} events that others build on are not here"
        found.append(
            problem(
                "gap",
                "warning",
                f"{FOLDER}/ledgers/{ledger}",
                message,
                "merge the branch that has them, or bring back deleted ledgers: git checkout -- .decapod",
            )
        )
    return found


def database_problems(found: Connection, fresh: Connection) -> list[Problem]:
    """Where the database is not the fold."""
    place = f"{FOLDER}/local/knowledge.db"
    return [
        problem("database-differs", "error", place, message, "decapod rebuild") for message in differences(found, fresh)
    ]


def markdown_problems(pages: list[Page]) -> list[Problem]:
    return [
        problem(f"markdown-{page.state}", "warning", f"{FOLDER}/knowledge/{page.path}", *SAID[page.state])
        for page in pages
    ]


def config_problems(workspace: Workspace) -> list[Problem]:
    """What is wrong with the policy; commands that need it are refused until it is mended."""
    try:
        assert workspace.policy
    except DecapodError as found:
        hint = found.hint if isinstance(found.hint, str) else "mend the file"
        return [problem(found.code, "error", f"{FOLDER}/config.toml", found.message, hint)]
    return []


def rule_problems(state: State) -> list[Problem]:
    """Rules in force whose promotion does not hold any more."""
    rows = state.connection.execute(
        "SELECT e.id, json_extract(e.provenances, '$[0]') FROM entries e LEFT JOIN promotions p"
        " ON 'event:' || p.id = json_extract(e.provenances, '$[0]')"
        " WHERE e.status = 'active' AND lower(substr(e.id, 1, 11)) = 'procedural/'"
        " AND (p.id IS NULL OR p.revoked OR p.approved_by IS NULL) ORDER BY e.id"
    )
    message = "the rule rests on {}, which is no approved promotion"
    return [
        problem("rule-unpromoted", "error", entry_id, message.format(named), f"decapod knowledge deprecate {entry_id}")
        for entry_id, named in rows
    ]


def state_problems(state: State) -> list[Problem]:
    """What people have to decide."""
    found = rule_problems(state) + [
        problem(
            "diverged",
            "warning",
            entry_id,
            "the entry has several head versions",
            f"decapod knowledge history {entry_id}",
        )
        for entry_id in state.diverged()
    ]
    for key, scope, ids in state.clashes():
        message = f"the merge key {key!r} in scope {scope!r} is held by {', '.join(ids)}"
        found.append(
            problem("key-clash", "warning", ids[0], message, f"decapod knowledge settle {key} --keep {ids[0]}")
        )
    return found


def redaction_problems(workspace: Workspace, state: State) -> list[Problem]:
    """Redacted texts that are still, or again, in a segment or in what is kept of one."""
    from decapod_py.storage.redaction import holding

    redacted = state.redacted()
    if not redacted:
        return []
    again = sorted({f"{FOLDER}/ledgers/{segment}" for segment, _, _ in state.undone_redactions()})
    kept = [f"{FOLDER}/local/kept/{path}" for path in holding(os.path.join(workspace.local, "kept"), redacted)]
    message = "a line has a text that was redacted"
    return [
        problem("redaction-undone", "error", place, message, "decapod doctor --fix takes it out")
        for place in [*again, *kept]
    ]
