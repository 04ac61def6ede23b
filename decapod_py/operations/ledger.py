"""`decapod ledger`: verify, show, restore, pack, redact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from decapod_py.foundation.clock import parse_time
from decapod_py.foundation.errors import Refused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.discretion import recorded_reason
from decapod_py.operations.knowledge.entries import find_entry
from decapod_py.workspace import FOLDER

if TYPE_CHECKING:
    from decapod_py.operations.requests import Pack, Redact, Restore, Show, Verify
    from decapod_py.operations.shapes import Packed, Redacted, Restored, Shown, Verified
    from decapod_py.workspace import Workspace


@operation()
def verify(workspace: Workspace, request: Verify) -> Verified:
    """Check every line, hash, digest and link of the ledgers.

    A missing parent is a gap: a partial cherry-pick makes one and the merge heals it, and so does tampering.
    """
    from decapod_py.views.verification import verify as verify_ledgers

    found = verify_ledgers(workspace.ledgers, request.allow_gaps, workspace.progress)
    return {
        "ok": not any(finding.severity == "error" for finding in found.findings),
        "events": found.events,
        "segments": found.segments,
        "ledgers": found.ledgers,
        "gaps": found.gaps,
        "problems": [finding._asdict() for finding in found.findings],  # type: ignore[misc]
    }


@operation()
def show(workspace: Workspace, request: Show) -> Shown:
    """Show events as they were recorded, newest last."""
    state = workspace.state()
    conditions: dict[str, Any] = {}
    if request.ledger is not None:
        conditions["ledger = ?"] = request.ledger
    if request.type is not None:
        conditions["type = ?"] = request.type
    if request.since is not None:
        conditions["recorded >= ?"] = parse_time(request.since)
    if request.entry is not None:
        entry_id = find_entry(state, request.entry).id
        conditions["number IN (SELECT event FROM event_subjects WHERE subject = ?)"] = f"e:{entry_id}"
    where = " AND ".join(conditions) or "1"
    total = state.count("events", where, conditions.values())
    events = state.events(where, conditions.values(), request.limit)
    return {"count": len(events), "omitted": total - len(events), "events": events}


@operation(writes=True, idempotent=True, tool=False)
def restore(workspace: Workspace, request: Restore) -> Restored:
    """Bring back segments that a git clean or reset swept away and no commit has."""
    from decapod_py.storage import kept

    workspace.state()  # forgets what is gone, so that the Markdown comes back with the events
    with workspace.locked():
        swept = kept.swept_segments(workspace.ledgers, workspace.local, workspace.root, workspace.repository)
        if not request.dry_run:
            for path in swept.lost:
                kept.restore(workspace.ledgers, workspace.local, path)
    if not request.dry_run:
        workspace.state()
    return {
        "dry_run": request.dry_run,
        "restored": [f"{FOLDER}/ledgers/{path}" for path in swept.lost],
        "left": [f"{FOLDER}/ledgers/{path}" for path in swept.elsewhere],
    }


@operation(writes=True, idempotent=True, tool=False)
def pack(workspace: Workspace, request: Pack) -> Packed:
    """Join small committed segments into one a ledger and month; events keep their identity."""
    from decapod_py.storage import kept, packing

    with workspace.writing() as writer:
        if workspace.repository is None:
            raise Refused("no-git", "only committed segments are joined, and there is no git here")
        plan = packing.plan(workspace.ledgers, workspace.root)
        written = (
            [] if request.dry_run else packing.join(workspace.ledgers, workspace.local, plan, writer.state.redacted())
        )
        if not request.dry_run:
            kept.prune(workspace.ledgers, workspace.local, workspace.root, workspace.clock())
    if not request.dry_run:
        workspace.state()
    return {
        "dry_run": request.dry_run,
        "joined": sum(len(paths) for paths in plan.values()),
        "written": [f"{FOLDER}/ledgers/{path}" for path in written],
    }


@operation(writes=True, destructive=True, idempotent=True, tool=False)
def redact(workspace: Workspace, request: Redact) -> Redacted:
    """Remove a leaked text from ledgers, database and Markdown, and say what git and others still have.

    TARGET is an event, or an entry: then every text of it. Hashes never covered the text, so the chains still verify.
    Doing the same again finishes what was interrupted, and cleans what a merge brought back.
    """
    from decapod_py.operations import redacting

    actor = workspace.actor(request.actor)
    reason = recorded_reason(workspace, request.reason)
    assert reason
    if request.dry_run:
        return redacting.preview(workspace, request.target)
    return redacting.redact(workspace, request.target, actor, reason)
