"""What `ledger redact` decides: which events have the text, where it still is afterwards, what remains to be done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.entry import ROOT_SCOPE
from decapod_py.domain.fold import EVENTS, RENEWALS, texts
from decapod_py.domain.naming import slug
from decapod_py.domain.text import has_surrogates
from decapod_py.foundation.errors import Call, Refused, refused_by_the_machine
from decapod_py.foundation.faults import step
from decapod_py.foundation.files import read_bytes
from decapod_py.foundation.ids import is_ulid
from decapod_py.operations.knowledge.entries import find_entry
from decapod_py.storage import git, redaction
from decapod_py.workspace import FOLDER
from decapod_py.writer import Draft

if TYPE_CHECKING:
    from decapod_py.domain.event import Event
    from decapod_py.operations.shapes import GitHistory, LeftText, Redacted
    from decapod_py.views.state import State
    from decapod_py.workspace import Scrubbed, Workspace

_MOST_HASHES = 20
_NOT_SAID = ("salt", "_")  # in a text, and nobody's words
_HASHED = ("tags", "aliases", "merge_key", "claim_id", "scope", "source")  # words that a hash covers
_UNTOLD: tuple[object, ...] = (None, "", [], ROOT_SCOPE)
_FREE = ("url:", "cmd:")  # provenances that may hold any words


class Target(NamedTuple):
    """The events whose text goes."""

    events: list[Event]  # with whatever text their lines still have
    paths: dict[str, str]  # where the Markdown of each entry is that they say something about

    @property
    def ids(self) -> list[str]:
        return list(dict.fromkeys(event["event_id"] for event in self.events))

    @property
    def said(self) -> list[str]:
        """Titles, contents, reasons: what could be recognised elsewhere."""
        return [value for event in self.events for value in _said(event).values() if isinstance(value, str)]


def preview(workspace: Workspace, given: str) -> Redacted:
    """What would go."""
    state = workspace.state()
    target = _target(workspace, state, given)
    segments = redaction.holding(workspace.ledgers, set(target.ids))
    files = [path for path in target.paths.values() if os.path.exists(os.path.join(workspace.knowledge, path))]
    return {
        "dry_run": True,
        "redacted": target.ids,
        "entries": list(target.paths),
        "event_ids": [event["event_id"] for event in _spoken(state, target)],
        "segments": [f"{FOLDER}/ledgers/{path}" for path in segments],
        "files": [f"{FOLDER}/knowledge/{path}" for path in files],
        "left": [],
        "history": _history(workspace, target),
        "next": [],
    }


def redact(workspace: Workspace, given: str, actor: str, reason: str) -> Redacted:
    """Records the redaction first: from then on every reader obeys. Then the texts go, file by file."""
    with workspace.locked():  # or somebody could record another text of the entry in between
        workspace.refuse_at_work()
        with workspace.writing() as writer:
            target = _target(workspace, writer.state, given)
            _refuse_repeating(reason, target)
            before = _read_files(workspace, target)
            missing = _unspoken(writer.state, target)
            if missing:
                writer.append(actor, _draft(missing, reason))
            event_ids = [event["event_id"] for event in _spoken(writer.state, target)]
        step("redaction-recorded")
        scrubbed = _scrub(workspace)
        after = _read_files(workspace, target)
    history = _history(workspace, target)
    return {
        "dry_run": False,
        "redacted": target.ids,
        "entries": list(target.paths),
        "event_ids": event_ids,
        "segments": [f"{FOLDER}/ledgers/{path}" for path in scrubbed.segments],
        "files": [f"{FOLDER}/knowledge/{path}" for path in before if before[path] != after[path]],
        "left": _left(workspace, target, scrubbed),
        "history": history,
        "next": _steps(target, history),
    }


def _target(workspace: Workspace, state: State, given: str) -> Target:
    meant = _events_meant(workspace, state, given.strip())
    events = [event for event in meant if _said(event) or state.is_redacted(event["event_id"])]
    if not events:
        raise Refused("no-text", f"{given!r} has no text that could be redacted", Call("ledger.show"))
    named = dict.fromkeys(entry_id for event in events for entry_id in _entries_told(event))
    entries = [entry for entry_id in named if (entry := state.entry(entry_id))]
    return Target(events, {entry.id: entry.path for entry in entries})


def _events_meant(workspace: Workspace, state: State, wanted: str) -> list[Event]:
    """One event, or those of an entry; an entry that is named like an event wins, unless `event:` comes first."""
    event_id = wanted.removeprefix("event:")
    is_entry = event_id == wanted and not has_surrogates(wanted) and state.entry(wanted)
    events = state.unredacted_events(event_id.upper()) if is_ulid(event_id.upper()) and not is_entry else []
    if not events and event_id != wanted:
        raise Refused("no-such-event", f"no ledger has the event {event_id!r}", Call("ledger.show"))
    return events or _events_of_entry(workspace, state, find_entry(state, wanted).id)


def _events_of_entry(workspace: Workspace, state: State, entry_id: str) -> list[Event]:
    """The events that say something about an entry; one that only supersedes it speaks of another."""
    found = []
    for event in state.unredacted_events_of(f"e:{entry_id}"):
        if entry_id in _entries_told(event):
            found.append(event)
            others = len(_entries_told(event)) - 1
            if others and _said(event):
                workspace.warnings.append(
                    f"event {event['event_id']} is about {others} other entries too: what they cited goes as well"
                )
        elif _said(event) and event["type"] != "event.redacted":
            workspace.warnings.append(
                f"event {event['event_id']} ({event['type']}) names this entry and has a text of its own: it stays"
            )
    return found


def _entries_told(event: Event) -> list[str]:
    """The entries that an event's text is about."""
    if event["ledger"] != EVENTS or not event["type"].startswith("entry."):
        return []
    if event["type"] in RENEWALS:
        return texts(event, "entry_ids")
    named = event.get("entry_id")
    return [named] if isinstance(named, str) else []


def _said(event: Event) -> dict[str, object]:
    """The text of an event but for what nobody wrote."""
    text = event.get("text")
    return {name: value for name, value in text.items() if name not in _NOT_SAID} if isinstance(text, dict) else {}


def _spoken(state: State, target: Target) -> list[Event]:
    """The redactions that are about these events."""
    return [event for event in state.redactions() if set(texts(event, "redacts")) & set(target.ids)]


def _unspoken(state: State, target: Target) -> list[Event]:
    """The events that no redaction hides wherever they are folded."""
    redactions = _spoken(state, target)
    return [event for event in target.events if not any(_hides(redaction, event) for redaction in redactions)]


def _hides(redaction: Event, event: Event) -> bool:
    """A fold sees a redaction only if it is in the event's ledger and names the entries."""
    return (
        redaction["ledger"] == event["ledger"]
        and event["event_id"] in texts(redaction, "redacts")
        and set(_entries_told(event)) <= set(texts(redaction, "entry_ids"))
    )


def _draft(events: list[Event], reason: str) -> Draft:
    """One for all of them: those of an entry are in one ledger."""
    fields = {
        "redacts": list(dict.fromkeys(event["event_id"] for event in events)),
        "entry_ids": list(dict.fromkeys(entry_id for event in events for entry_id in _entries_told(event))),
    }
    return Draft(events[0]["ledger"], "event.redacted", fields, {"reason": reason})


def _refuse_repeating(reason: str, target: Target) -> None:
    if reason in target.said or any(piece in reason for piece in redaction.telling_pieces(target.said)):
        raise Refused("leaks-again", "the reason repeats the text that is to go", "say why, and not what")


def _scrub(workspace: Workspace) -> Scrubbed:
    try:
        return workspace.obey_redactions()
    except Exception as problem:
        refused = refused_by_the_machine(problem)
        if not refused:
            raise
        message = "the redaction is recorded, and every reader obeys it, but the text is still in some file"
        hint = "do the same again: no second event is written"
        raise Refused("unfinished", f"{message}: {refused.message}", hint) from problem


def _read_files(workspace: Workspace, target: Target) -> dict[str, bytes | None]:
    return {path: read_bytes(os.path.join(workspace.knowledge, path)) for path in target.paths.values()}


def _left(workspace: Workspace, target: Target, scrubbed: Scrubbed) -> list[LeftText]:
    """What still has the text, or may, as far as this working tree can tell."""
    left: dict[str, str] = {}
    for page in scrubbed.left:
        if page.entry_id in target.paths:
            left[f"{FOLDER}/knowledge/{page.path}"] = f"the file is {page.state} and not overwritten: look at it"
    if not scrubbed.forgotten:
        left[f"{FOLDER}/local/knowledge.db"] = "somebody reads the database; do the same again when they are done"
    left |= {place: why for place, why in _same_words(workspace, target) if place.partition(":")[0] not in left}
    named = [f"{FOLDER}/knowledge/{path}" for path in target.paths.values() if _is_named_after(path, target)]
    left |= {place: "its name is made of the title, and stays in the ledger" for place in named if place not in left}
    words = _hashed_words(target)
    if words:
        ledger = f"{FOLDER}/ledgers/{target.events[0]['ledger']}"
        left[ledger] = f"the hash of an event covers its {', '.join(words)}: what these say stays, also in the Markdown"
    return [{"path": path, "why": why} for path, why in left.items()]


def _hashed_words(target: Target) -> list[str]:
    """The fields, besides the text, in which somebody wrote words of their own."""
    cited = any(given.startswith(_FREE) for event in target.events for given in texts(event, "provenance"))
    told = [name for name in _HASHED if any(event.get(name) not in _UNTOLD for event in target.events)]
    return (["provenance"] if cited else []) + told


def _same_words(workspace: Workspace, target: Target) -> Iterator[tuple[str, str]]:
    """Lines of other events and files that say the same."""
    pieces = redaction.telling_pieces(target.said)
    folder = os.path.join(workspace.root, FOLDER)
    for path, number, line in redaction.places_of(folder, pieces, workspace.database_path):
        place = os.path.relpath(path, workspace.root).replace(os.sep, "/")
        yield f"{place}:{number}", f"the line says the same{redaction.speaker(line)}"


def _is_named_after(path: str, target: Target) -> bool:
    titles = [title for event in target.events if isinstance(title := _said(event).get("title"), str)]
    return any(path.startswith(f"{slug(title)}-") for title in titles)


def _history(workspace: Workspace, target: Target) -> GitHistory:
    """The commits that have it, as far as git tells."""
    nothing: GitHistory = {"commits": 0, "first": None, "hashes": [], "note": "there is no git here"}
    if workspace.repository is None:
        return nothing
    files = [f"{FOLDER}/knowledge/{path}" for path in target.paths.values()]
    try:
        commits = redaction.commits_touching(workspace.root, target.ids, files)
    except git.GitFailed as problem:
        note = f"git's history could not be read to its end: {problem.message or 'it takes too long'}"
        return {**nothing, "note": note}
    if not commits:
        return {**nothing, "note": "no commit of any branch, tag or stash here has it"}
    note = "these commits brought the text or changed its file; every commit between the first and the redaction has it"
    return {"commits": len(commits), "first": commits[-1], "hashes": commits[:_MOST_HASHES], "note": note}


def _steps(target: Target, history: GitHistory) -> list[str]:
    """What no command here can do, said in the order in which it helps."""
    steps = ["if it is a secret, make it void where it is used before anything else: whoever read it still knows it"]
    if any(event.get("anchors") for event in target.events):
        steps[0] += "; the digest of what was cited stays, and a short secret can be guessed from it"
    if _hashed_words(target):
        steps.append(
            "if the leaked words are in a provenance, tag, key, scope, source or id too: those stay. Only taking the"
            " whole line out of the ledger, here and in every commit, removes them; ledger verify then reports a gap"
        )
    if history["note"] == "there is no git here":
        return steps
    steps.append("git add -A .decapod && git commit -m 'Redact a leaked text'")
    if history["commits"]:
        callback = redaction.history_callback(target.ids)
        steps += [
            "git's history still has it. In a fresh clone, with the leaked words as lines WORDS==>[redacted] in"
            f" ../leaked.txt: git filter-repo --replace-text ../leaked.txt --blob-callback '{callback}'",
            "git push --force --all && git push --force --tags; everybody clones anew: an old clone brings it back",
            "forks, pull requests, caches and CI logs of the forge keep it: ask its support to remove them",
        ]
    steps += [
        "here, once history is rewritten or if it was only staged or stashed: git stash drop,"
        " git reflog expire --expire=now --all, git gc --prune=now",
        "in other clones and worktrees that have this: decapod doctor --fix cleans their database and kept segments",
    ]
    return steps
