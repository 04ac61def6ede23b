"""The workspace itself, its ledgers, hooks and clients as plain text."""

from __future__ import annotations

from collections.abc import Callable

from decapod_py.domain.text import neutral, one_line
from decapod_py.surfaces.cli.output import to_json
from decapod_py.surfaces.cli.plain.wording import (
    Lines,
    Result,
    counted,
    entries,
    facts,
    joined,
    next_steps,
    problems,
    quantity,
)


def _verified(result: Result) -> Lines:
    yield from problems(result["problems"])
    ledgers = ", ".join(f"{one_line(name)} {number}" for name, number in result["ledgers"].items())
    gaps = f", {quantity(result['gaps'], 'gap')}" if result["gaps"] else ""
    yield (
        f"{'verified' if result['ok'] else 'FAILED'}: {quantity(result['events'], 'event')} in "
        f"{quantity(result['segments'], 'segment')}{gaps}" + (f" ({ledgers})" if ledgers else "")
    )


def _shown(result: Result) -> Lines:
    if result["omitted"]:
        yield f"{result['omitted']} older not shown; --limit shows more"
    yield from (to_json(event) for event in result["events"])


def _restored(result: Result) -> Lines:
    verb = "would be restored" if result["dry_run"] else "restored"
    yield f"{quantity(len(result['restored']), 'segment')} {verb}, {len(result['left'])} left alone"
    yield from (f"  {one_line(path)}" for path in result["restored"])
    if result["left"]:
        yield "git has what is left alone: check out its branch or stash, or run git checkout -- .decapod"


def _packed(result: Result) -> Lines:
    verb = "would be joined" if result["dry_run"] else "joined"
    yield f"{quantity(result['joined'], 'segment')} {verb} into {len(result['written'])}"
    yield from (f"  {one_line(path)}" for path in result["written"])
    if not result["joined"]:
        yield "only committed segments are joined, and none that would be half of the result"
    elif not result["dry_run"]:
        yield "next: git add -A .decapod && git commit"


def _redacted(result: Result) -> Lines:
    verb = "would be redacted" if result["dry_run"] else "redacted"
    yield f"the text of {quantity(len(result['redacted']), 'event')} {verb}: {joined(result['redacted'])}"
    for name, verb in (("segments", "stripped"), ("files", "rewritten")):
        verb = f"would be {verb}" if result["dry_run"] else verb
        yield from (f"  {verb} {one_line(path)}" for path in result[name])
    yield from (f"still there: {one_line(left['path'])}: {one_line(left['why'])}" for left in result["left"])
    history = result["history"]
    first = f", the first {one_line(history['first'])}" if history["first"] else ""
    yield f"git: {quantity(history['commits'], 'commit')}{first}; {one_line(history['note'])}"
    yield from next_steps(result["next"])


def _initialised(result: Result) -> Lines:
    root = one_line(result["root"])
    yield f"workspace ready in {root}" if result["made"] else f"workspace in {root} was ready already; nothing changed"
    yield from (f"  made {one_line(path)}" for path in result["made"])
    yield from next_steps(result["next"])


def _rebuilt(result: Result) -> Lines:
    yield from problems(result["problems"])
    digest = one_line(result["digest"])
    told = f"{quantity(result['events'], 'event')}, {entries(result['entries'])}, digest {digest}"
    if result["checked"]:
        verdict = "database and Markdown equal the fold" if result["ok"] else "DIFFERENT from the fold"
        yield f"{verdict}: {told}"
    else:
        yield f"rebuilt: {told}"


def status_facts(result: Result) -> list[tuple[str, str]]:
    return [
        ("workspace", one_line(result["root"])),
        ("entries", counted(result["entries"]) or "none yet"),
        ("expired", str(result["expired"] or "")),
        ("proposals", f"{result['proposals']} waiting for approval" if result["proposals"] else ""),
        ("tasks", counted(result["tasks"])),
        ("claims", str(result["claims"] or "")),
        ("diverged", joined(result["diverged"])),
        ("clashes", joined(result["clashes"])),
        ("ledgers", f"{quantity(result['events'], 'event')} in {quantity(result['segments'], 'segment')}"),
        ("heads", ", ".join(f"{one_line(name)} {number}" for name, number in result["heads"].items() if number > 1)),
        ("markdown", counted(result["markdown"])),
        ("digest", one_line(result["digest"])),
        ("version", one_line(result["version"])),
    ]


def status_steps(result: Result) -> Lines:
    if result["diverged"]:
        yield f"next: decapod knowledge history {one_line(result['diverged'][0])}, then settle it"
    if result["clashes"]:
        yield "next: decapod knowledge settle KEY --keep ID"
    if result["expired"]:
        yield "next: decapod knowledge decay --dry-run"
    if result["problems"]:
        yield "next: decapod doctor"


def _status(result: Result) -> Lines:
    yield from facts(status_facts(result))
    yield from problems(result["problems"])
    yield from status_steps(result)


def _stats(result: Result) -> Lines:
    plain = ("passages", "tags", "agents", "open_tasks", "open_claims")
    counts = [(name.replace("_", " "), str(result[name])) for name in plain]
    yield from facts([("entries", counted(result["entries"]) or "0"), *counts])


def _diagnosis(result: Result) -> Lines:
    yield from (f"fixed: {one_line(fixed)}" for fixed in result["fixed"])
    yield from problems(result["problems"])
    if not result["problems"]:
        yield "all is well"
    elif not result["fixed"]:
        yield "next: decapod doctor --fix repairs what loses nothing"


def _uninstalled(result: Result) -> Lines:
    yield from (f"removed {one_line(path)}" for path in result["removed"])
    yield from (f"kept {one_line(path)}" for path in result["kept"])
    if not result["removed"]:
        yield "nothing to remove"
    yield from next_steps(result["next"])


def _hooks_installed(result: Result) -> Lines:
    for hook in result["hooks"]:
        first = f", after {one_line(hook['chained'])}" if hook["chained"] else ""
        yield f"{one_line(hook['action'])} {one_line(hook['hook'])}{first}"
    yield f"in {one_line(result['directory'])}"
    yield from next_steps(result["next"])


def _hooks_uninstalled(result: Result) -> Lines:
    yield from (f"removed {one_line(path)}" for path in result["removed"])
    yield from (f"restored {one_line(path)}" for path in result["restored"])
    yield from (f"left {one_line(left['path'])}: {one_line(left['reason'])}" for left in result["left"])
    if not result["removed"] and not result["restored"] and not result["left"]:
        yield "nothing to remove"


def _hooks_status(result: Result) -> Lines:
    for hook in result["hooks"]:
        first = f", after {one_line(hook['chained'])}" if hook["chained"] else ""
        yield f"{one_line(hook['hook']):<13}  {one_line(hook['state'])}{first}"
    yield f"in {one_line(result['directory'])}"
    if result["managed_by"]:
        yield f"{one_line(result['managed_by'])} looks after the hooks here; decapod hooks install says what to add"
    if not result["initialised"]:
        yield "next: decapod init; until then the hooks do nothing"


def _hook_run(result: Result) -> Lines:
    return [one_line(line) for line in result["lines"]]


def _connected(result: Result) -> Lines:
    printed = [file["text"].rstrip("\n") for file in result["files"] if file["action"] == "printed"]
    if printed:
        return [neutral("\n\n".join(printed))]
    files = [f"{one_line(file['action'])} {one_line(file['path'])}" for file in result["files"]]
    return [*files, *next_steps(result["next"])]


RENDERERS: dict[str, Callable[[Result], Lines]] = {
    "init": _initialised,
    "status": _status,
    "stats": _stats,
    "rebuild": _rebuilt,
    "doctor": _diagnosis,
    "uninstall": _uninstalled,
    "ledger.verify": _verified,
    "ledger.show": _shown,
    "ledger.restore": _restored,
    "ledger.pack": _packed,
    "ledger.redact": _redacted,
    "hooks.install": _hooks_installed,
    "hooks.uninstall": _hooks_uninstalled,
    "hooks.status": _hooks_status,
    "hooks.run": _hook_run,
    "connect": _connected,
}
