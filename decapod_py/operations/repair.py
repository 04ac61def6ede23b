"""`decapod rebuild` and `doctor`: proving and restoring that everything derived equals the fold."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from decapod_py.foundation.clock import DAY
from decapod_py.foundation.errors import Refused
from decapod_py.foundation.files import read_bytes
from decapod_py.foundation.ids import milliseconds_of
from decapod_py.operations.catalogue import operation
from decapod_py.operations.problems import (
    config_problems,
    database_problems,
    ledger_problems,
    markdown_problems,
    problem,
    redaction_problems,
    state_problems,
)
from decapod_py.storage import git, kept, segments
from decapod_py.views import pages, projection
from decapod_py.views.state import State
from decapod_py.workspace import FOLDER

if TYPE_CHECKING:
    from decapod_py.operations.requests import Doctor, Rebuild
    from decapod_py.operations.shapes import Diagnosis, Problem, Rebuilt
    from decapod_py.workspace import Workspace


@operation(writes=True, idempotent=True, tool=False)
def rebuild(workspace: Workspace, request: Rebuild) -> Rebuilt:
    """Make the database anew from the ledgers, and the Markdown that is missing or out of date.

    With --check nothing is changed: it proves that both equal the fold of the ledgers, and says where not.
    """
    if request.check:
        return _check(workspace)
    unlike = workspace.rebuild()
    state = workspace.state()
    return {
        "ok": not _wrong(unlike) and not _errors(ledger_problems(state)),
        "checked": False,
        "events": state.count("events"),
        "entries": state.count("entries"),
        "digest": state.digest(),
        "problems": [*ledger_problems(state), *markdown_problems(unlike)],
    }


def _check(workspace: Workspace) -> Rebuilt:
    workspace.state()
    with workspace.locked():  # what somebody writes meanwhile is no difference
        return _compared(workspace)


def _compared(workspace: Workspace) -> Rebuilt:
    found = workspace.state()
    fresh = projection.folded_from_nothing(found.connection, workspace.ledgers, workspace.progress)
    truth = State(fresh, workspace.ledgers)
    unlike = pages.survey(workspace.pages(fresh))
    problems = [*ledger_problems(truth), *database_problems(found.connection, fresh), *markdown_problems(unlike)]
    result: Rebuilt = {
        "ok": not _wrong(unlike) and not _errors(problems),
        "checked": True,
        "events": truth.count("events"),
        "entries": truth.count("entries"),
        "digest": truth.digest(),
        "problems": problems,
    }
    fresh.close()
    return result


def _wrong(unlike: list[pages.Page]) -> list[pages.Page]:
    """Files that should say something else; one that no entry has is nobody's yet."""
    return [page for page in unlike if page.state != "unknown"]


def _errors(problems: list[Problem]) -> list[Problem]:
    return [found for found in problems if found["severity"] == "error"]


@operation(writes=True, idempotent=True, tool=False)
def doctor(workspace: Workspace, request: Doctor) -> Diagnosis:
    """Say in words what is wrong with this workspace; --fix repairs what loses nothing."""
    fixed: list[str] = []
    if request.fix:
        fixed = _fix(workspace)
    problems = [
        *config_problems(workspace),
        *_git_problems(workspace),
        *_check(workspace)["problems"],
        *state_problems(workspace.state()),
        *redaction_problems(workspace, workspace.state()),
        *_clock_problems(workspace),
        *_swept_problems(workspace),
        *_stray_problems(workspace),
        *_claims_problems(workspace),
    ]
    # What a crash or a fast clock left behind is told, and needs nobody: a doctor that never is content is not heard.
    waiting = [found for found in problems if found["code"] not in ("torn-line", "clock")]
    return {"ok": not waiting, "problems": problems, "fixed": fixed}


def _fix(workspace: Workspace) -> list[str]:
    fixed = []
    workspace.state()  # forgets what is gone, so that the Markdown comes back with the events
    with workspace.locked():
        swept = kept.swept_segments(workspace.ledgers, workspace.local, workspace.root, workspace.repository)
        for path in swept.lost:
            kept.restore(workspace.ledgers, workspace.local, path)
            fixed.append(f"brought back {FOLDER}/ledgers/{path}")
    if workspace.state().redacted():
        scrubbed = workspace.obey_redactions()
        again = [f"ledgers/{path}" for path in scrubbed.segments] + [f"local/kept/{path}" for path in scrubbed.kept]
        fixed += [f"took redacted text out of {FOLDER}/{path}" for path in again]
    before = {found["place"] for found in _check(workspace)["problems"]}
    if before:
        workspace.rebuild()
        after = {found["place"] for found in _check(workspace)["problems"]}
        fixed += [f"repaired {place}" for place in sorted(before - after)]
    return fixed


def _git_problems(workspace: Workspace) -> list[Problem]:
    if workspace.repository is None:
        return []
    sample = f"{FOLDER}/ledgers/knowledge.events/2026-01/x.jsonl"
    found = []
    try:
        rule = git.ask(workspace.root, "check-ignore", "--no-index", "--verbose", "--", sample, accept=(0, 1)).strip()
        if rule:
            message = f"git ignores the ledgers: {rule.split(chr(9))[0]}"
            found.append(
                problem(
                    "git-ignores", "error", f"{FOLDER}/ledgers", message, f"add !/{FOLDER}/ and !/{FOLDER}/** after it"
                )
            )
        tracked = git.ask(workspace.root, "ls-files", "--", f"{FOLDER}/local")
        if tracked:
            message = "the local folder is committed, and conflicts at every merge"
            found.append(
                problem("local-tracked", "error", f"{FOLDER}/local", message, f"git rm -r --cached {FOLDER}/local")
            )
    except git.GitFailed as failure:
        found.append(problem("git-failed", "warning", workspace.root, str(failure), "run git status here"))
    if read_bytes(os.path.join(workspace.root, FOLDER, ".gitattributes")) is None:
        message = "without it a clone may change line ends in the ledgers"
        found.append(problem("no-gitattributes", "warning", f"{FOLDER}/.gitattributes", message, "decapod init"))
    return found


def _clock_problems(workspace: Workspace) -> list[Problem]:
    newest = workspace.state().newest_id()
    if newest is None or milliseconds_of(newest) - workspace.clock() < DAY:
        return []
    from ulid import ULID

    message = f"the newest event's id says {ULID.from_str(newest).datetime:%Y-%m-%d}: some clock ran fast"
    return [problem("clock", "warning", f"event {newest}", message, "none is needed; order is kept all the same")]


def _stray_problems(workspace: Workspace) -> list[Problem]:
    """Files among the ledgers that are not read: a renamed segment takes its events out of sight."""
    return [
        problem("stray-file", "warning", f"{FOLDER}/ledgers/{path}", "the file is no segment", "give it its name back")
        for path in segments.strays(workspace.ledgers)
    ]


def _claims_problems(workspace: Workspace) -> list[Problem]:
    """Claims that cannot be read: then no agent can take one."""
    try:
        workspace.claims.board(workspace.clock())
    except Refused as found:
        return [problem(found.code, "error", workspace.claims.path, found.message, str(found.hint))]
    return []


def _swept_problems(workspace: Workspace) -> list[Problem]:
    swept = kept.swept_segments(workspace.ledgers, workspace.local, workspace.root, workspace.repository)
    return [
        problem("swept", "warning", f"{FOLDER}/ledgers/{path}", "git swept this segment away", "decapod ledger restore")
        for path in swept.lost
    ]
