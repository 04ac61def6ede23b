"""Results as plain text: stable, without colour, for a pipe and for reading. One function a shape, one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from decapod_py.surfaces.cli.output import neutral, one_line, safe_json, to_json

Result = dict[str, Any]
Lines = Iterable[str]


def render(name: str, result: Result) -> str:
    """The result of this operation for a reader."""
    renderer = RENDERERS.get(name, _anything)
    # Each renderer keeps stored text to its line; this catches the field that one day forgets to.
    return neutral("\n".join(renderer(result)))


def quantity(number: int, singular: str, plural: str | None = None) -> str:
    """`1 entry`, `2 entries`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def entries(number: int) -> str:
    return quantity(number, "entry", "entries")


def facts(pairs: list[tuple[str, str]]) -> list[str]:
    """Aligned `name  value` lines; what has no value is left out."""
    told = [(name, value) for name, value in pairs if value]
    width = max((len(name) for name, _ in told), default=0)
    return [f"{name:<{width}}  {value}" for name, value in told]


def indented(text: str, by: str = "    ") -> list[str]:
    return [f"{by}{line}".rstrip() for line in neutral(text).strip("\n").split("\n")]


def joined(texts: Iterable[str]) -> str:
    return ", ".join(one_line(text) for text in texts)


def _added(result: Result) -> Lines:
    yield f"{result['action']} {one_line(result['id'])}"
    if result["superseded_ids"]:
        yield f"superseded: {joined(result['superseded_ids'])}"
    for similar in result["similar"]:
        yield f"similar: {one_line(similar['title'])} ({one_line(similar['id'])}, {similar['similarity']:.0%} alike)"
        yield f"  {one_line(similar['advice'])}"


def entry_facts(entry: Result) -> list[tuple[str, str]]:
    """What `get` says about an entry besides its title and content."""
    return [
        ("id", one_line(entry["id"])),
        ("status", entry_status(entry)),
        ("from", joined(entry["provenances"])),
        ("tags", joined(entry["tags"])),
        ("scope", one_line(entry["scope"]) if entry["scope"] != "root" else ""),
        ("merge key", one_line(entry["merge_key"] or "")),
        ("claim", one_line(entry["claim_id"] or "")),
        ("supersedes", joined(entry["supersedes"])),
        ("lives", _lifetime(entry)),
        ("confidence", "" if entry["confidence"] is None else f"{entry['confidence']:g}"),
        ("written", f"{one_line(entry['created_at'])} by {one_line(entry['author'])}"),
        ("updated", _updated(entry)),
        ("feedback", _counts(entry["feedback"])),
        ("version", one_line(entry["version"])),
        ("heads", joined(entry["heads"]) if entry["diverged"] else ""),
        ("file", one_line(entry["path"])),
    ]


def entry_status(entry: Result) -> str:
    remarks = [one_line(entry["status"])]
    if entry["expired"] and entry["status"] == "active":
        remarks.append("expired")
    if entry["diverged"]:
        remarks.append("diverged")
    return ", ".join(remarks)


def _lifetime(entry: Result) -> str:
    until = f" until {one_line(entry['expires_ts'])}" if entry["expires_ts"] else ""
    return one_line(entry["ttl_policy"]) + until


def _updated(entry: Result) -> str:
    if entry["updated_at"] == entry["created_at"]:
        return ""
    others = f", with {joined(entry['contributors'])}" if entry["contributors"] else ""
    return one_line(entry["updated_at"]) + others


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {one_line(name)}" for name, number in counts.items() if number)


def _entry(entry: Result) -> Lines:
    yield one_line(entry["title"])
    yield from facts(entry_facts(entry))
    yield ""
    yield from indented(entry["content"], by="")
    if entry.get("truncated"):
        yield "[cut; a larger --max-chars shows more]"
    if entry["diverged"]:
        yield ""
        yield settle_step(entry)


def settle_step(entry: Result) -> str:
    return f"next: decapod knowledge settle {one_line(entry['id'])} --keep VERSION, one of its heads"


def _listed(result: Result) -> Lines:
    listed = result["entries"]
    width = max((len(one_line(entry["id"])) for entry in listed), default=0)
    for entry in listed:
        tags = "".join(f" #{one_line(tag)}" for tag in entry["tags"])
        remarks = "" if entry_status(entry) == "active" else f" ({entry_status(entry)})"
        yield f"{one_line(entry['id']):<{width}}  {one_line(entry['title'])}{remarks}{tags}"
    yield listed_summary(result)


def listed_summary(result: Result) -> str:
    if not result["total"]:
        return "no entries; record one: decapod knowledge add NOTE --from FILE:LINES"
    if result["count"] == result["total"]:
        return entries(result["total"])
    return f"{result['count']} of {entries(result['total'])}; --limit and --offset show more"


def _history(result: Result) -> Lines:
    yield f"{one_line(result['id'])}: {quantity(result['count'] + result['omitted'], 'event')}, newest first"
    for event in result["events"]:
        yield history_heading(event)
        yield from (f"  {line}" for line in facts(history_facts(event)))
        if event["content"]:
            yield from indented(event["content"])
    if result["omitted"]:
        yield f"{result['omitted']} older not shown; --limit shows more"


def history_heading(event: Result) -> str:
    head = " (head)" if event["is_head"] else ""
    return f"{one_line(event['ts'])}  {one_line(event['type'])} by {one_line(event['actor'])}{head}"


def history_facts(event: Result) -> list[tuple[str, str]]:
    return [
        ("event", one_line(event["event_id"])),
        ("was", joined(event["was"])),
        ("status", one_line(event["status"] or "")),
        ("title", one_line(event["title"] or "")),
        ("from", joined(event["provenances"])),
        ("reason", one_line(event["reason"] or "")),
    ]


def _found(result: Result) -> Lines:
    for number, hit in enumerate(result["results"], 1):
        yield f"{number}. {one_line(hit['title'])}"
        yield f"   {hit_line(hit)}"
        yield from indented(hit.get("content") or hit["snippet"], by="   ")
        if "explain" in hit:
            yield f"   why: {explanation(hit['explain'])}"
    yield found_summary(result)


def hit_line(hit: Result) -> str:
    parts = [one_line(hit["id"]), f"score {hit['score']:.3f}", one_line(hit["provenance"])]
    parts += [f"#{one_line(tag)}" for tag in hit["tags"]]
    if hit["status"] != "active":
        parts.append(one_line(hit["status"]))
    return "  ".join(part for part in parts if part)


def explanation(parts: Result) -> str:
    return ", ".join(f"{one_line(name)} {_brief(value)}" for name, value in parts.items())


def _brief(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return one_line(value if isinstance(value, str) else to_json(value))


def found_summary(result: Result) -> str:
    if not result["count"]:
        return f"nothing found for {one_line(result['query'])!r}; fewer or other words, or --status any, may find it"
    more = f"; {result['omitted']} more: --limit or --max-chars" if result["omitted"] else ""
    return quantity(result["count"], "result") + more


def _changed(result: Result) -> Lines:
    yield f"{one_line(result['action'])} {one_line(result['id'])}"
    if result["superseded_ids"]:
        yield f"superseded: {joined(result['superseded_ids'])}"
    yield f"event: {one_line(result['event_id'])}"


def _decayed(result: Result) -> Lines:
    verb = "would become" if result["dry_run"] else "became"
    stale = result["stale_ids"]
    yield f"{entries(len(stale))} {verb} stale (policy {one_line(result['policy'])}, as of {one_line(result['as_of'])})"
    yield from (f"  {one_line(entry_id)}" for entry_id in stale)
    if result["dry_run"] and stale:
        yield "nothing was written; without --dry-run it is"
    if result["event_id"]:
        yield f"event: {one_line(result['event_id'])}"


def _promotion(result: Result) -> Lines:
    yield f"{result['state']}: {one_line(result['source_entry_id'])} as {result['target_class']} knowledge"
    yield from facts(
        [
            ("event", one_line(result["event_id"])),
            ("version", one_line(result["source_version"])),
            ("evidence", joined(result["evidence_refs"])),
            ("reason", one_line(result["reason"])),
            ("asked by", one_line(result["actor"])),
            ("approved by", one_line(result["approved_by"] or "")),
        ]
    )
    yield from promotion_step(result)


def promotion_step(result: Result) -> list[str]:
    event = one_line(result["event_id"])
    steps = {
        "proposed": f"next: someone else runs decapod knowledge approve {event}",
        "approved": f"next: decapod knowledge add --id procedural/NAME --provenance event:{event} ...",
    }
    return [steps[result["state"]]] if result["state"] in steps else []


def _logged(result: Result) -> Lines:
    yield f"recorded {one_line(result['event_id'])} in {one_line(result['file'])}"


def _imported(result: Result) -> Lines:
    verb = "would be added" if result["dry_run"] else "added"
    yield (
        f"{quantity(result['read'], 'line')} read: {result['added']} {verb}, "
        f"{result['unchanged']} unchanged, {len(result['bad'])} bad"
    )
    for bad in result["bad"]:
        yield f"line {bad['line']}: {one_line(bad['message'])} [{one_line(bad['code'])}]"
    if result["bad"] and not result["ok"]:
        yield "correct these lines and import again"


def _exported(result: Result) -> Lines:
    if result["output"] is None:
        return [safe_json(line) for line in result.get("lines", [])]
    return [f"{entries(result['count'])} written to {one_line(result['output'])}"]


def problems(found: list[Result]) -> Lines:
    """Problems with their fix, the way every check reports them."""
    for problem in found:
        place = f"{one_line(problem['place'])}: " if problem["place"] else ""
        yield f"{problem['severity']}: {place}{one_line(problem['message'])} [{one_line(problem['code'])}]"
        if problem["fix"]:
            yield f"  fix: {one_line(problem['fix'])}"


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


def _initialised(result: Result) -> Lines:
    root = one_line(result["root"])
    yield f"workspace ready in {root}" if result["made"] else f"workspace in {root} was ready already; nothing changed"
    yield from (f"  made {one_line(path)}" for path in result["made"])
    yield from next_steps(result["next"])


def next_steps(steps: list[str]) -> Lines:
    return (f"next: {one_line(step)}" for step in steps)


def _rebuilt(result: Result) -> Lines:
    yield from problems(result["problems"])
    digest = one_line(result["digest"])
    counted = f"{quantity(result['events'], 'event')}, {entries(result['entries'])}, digest {digest}"
    if result["checked"]:
        verdict = "database and Markdown equal the fold" if result["ok"] else "DIFFERENT from the fold"
        yield f"{verdict}: {counted}"
    else:
        yield f"rebuilt: {counted}"


def status_facts(result: Result) -> list[tuple[str, str]]:
    return [
        ("workspace", one_line(result["root"])),
        ("entries", _counts(result["entries"]) or "none yet"),
        ("expired", str(result["expired"] or "")),
        ("proposals", f"{result['proposals']} waiting for approval" if result["proposals"] else ""),
        ("diverged", joined(result["diverged"])),
        ("clashes", joined(result["clashes"])),
        ("ledgers", f"{quantity(result['events'], 'event')} in {quantity(result['segments'], 'segment')}"),
        ("heads", ", ".join(f"{one_line(name)} {number}" for name, number in result["heads"].items() if number > 1)),
        ("markdown", _counts(result["markdown"])),
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


def _anything(result: Result) -> Lines:
    return facts(
        [
            (one_line(name), one_line(value) if isinstance(value, str) else to_json(value))
            for name, value in result.items()
        ]
    )


RENDERERS: dict[str, Callable[[Result], Lines]] = {
    "init": _initialised,
    "status": _status,
    "rebuild": _rebuilt,
    "doctor": _diagnosis,
    "uninstall": _uninstalled,
    "knowledge.add": _added,
    "knowledge.get": _entry,
    "knowledge.list": _listed,
    "knowledge.history": _history,
    "knowledge.search": _found,
    "knowledge.edit": _changed,
    "knowledge.deprecate": _changed,
    "knowledge.revive": _changed,
    "knowledge.delete": _changed,
    "knowledge.settle": _changed,
    "knowledge.decay": _decayed,
    "knowledge.promote": _promotion,
    "knowledge.approve": _promotion,
    "knowledge.revoke-promotion": _promotion,
    "knowledge.retrieval-log": _logged,
    "knowledge.import": _imported,
    "knowledge.export": _exported,
    "ledger.verify": _verified,
    "ledger.show": _shown,
    "ledger.restore": _restored,
    "ledger.pack": _packed,
}
