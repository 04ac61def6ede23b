"""Results as plain text: stable, without colour, for a pipe and for reading. One function a shape, one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from decapod_py.domain.text import neutral, one_line
from decapod_py.surfaces.cli.output import safe_json, to_json

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
        ("standing", one_line(entry["standing"] or "")),
        ("drift", _citations(entry)),
        ("reaffirmed", one_line(entry["reaffirmed_at"] or "")),
        ("version", one_line(entry["version"])),
        ("heads", joined(entry["heads"]) if entry["diverged"] else ""),
        ("file", one_line(entry["path"])),
    ]


def _citations(entry: Result) -> str:
    """How the citations stand, where there is something to say."""
    if entry["drift"] in (None, "ok"):
        return one_line(entry["drift"] or "")
    told = [one for one in entry["citations"] if one["state"] != "ok"]
    return ", ".join(
        f"{one_line(one['state'])}: {one_line(one['provenance'])}"
        + (f" is {one_line(one['now'])}" if one["now"] else "")
        for one in told
    )


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
    if hit["drift"] not in (None, "ok"):
        parts.append(f"drift: {one_line(hit['drift'])}")
    if hit["standing"] not in (None, "merged"):
        parts.append(one_line(hit["standing"]))
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


def _drifted(result: Result) -> Lines:
    for one in result["citations"]:
        if one["state"] not in ("ok", "unanchored"):
            now = f" -> {one_line(one['now'])}" if one["now"] and one["state"] != "changed" else ""
            why = f" ({one_line(one['why'])})" if one.get("why") else ""
            yield f"{one['state']:<12} {one_line(one['id'])}  {one_line(one['provenance'])}{now}{why}"
            yield f"{'':<12} {one_line(one['title'])}"
            if one["diff"]:
                yield from indented(one["diff"])
    if result["fixed"]:
        yield f"anchored anew: {joined(result['fixed'])}"
    yield drift_summary(result)
    if not result["ok"]:
        yield "next: decapod knowledge reaffirm ID --reason WHY where it still holds; else edit or deprecate the entry"


def drift_summary(result: Result) -> str:
    states = ", ".join(f"{number} {one_line(name)}" for name, number in result["summary"].items())
    return f"{quantity(result['checked'], 'citation')} checked" + (f": {states}" if states else "")


def _reaffirmed(result: Result) -> Lines:
    if not result["reaffirmed"]:
        yield "nothing to reaffirm: what these entries cite is as it was"
    else:
        yield f"reaffirmed {joined(result['reaffirmed'])}"
        yield f"event: {one_line(result['event_id'])}"


def _reasons(result: Result) -> Lines:
    place = one_line(result["path"]) + (f":{result['line']}" if result["line"] else "")
    for one in result["results"]:
        yield reason_line(one)
        yield f"    {one_line(one['snippet'])}"
    if not result["count"]:
        yield f"no entry cites {place}"
    else:
        more = f"; {result['omitted']} more: --limit" if result["omitted"] else ""
        verb = "cites" if result["count"] == 1 else "cite"
        yield f"{entries(result['count'])} {verb} {place}{more}"


def reason_line(one: Result) -> str:
    citation = one["citation"]
    where = one_line(citation["now"] or citation["provenance"]).removeprefix("file:")
    remarks = [one_line(one["standing"])]
    if one["drift"] not in (None, "ok"):
        remarks.append(f"its code {one_line(one['drift'])}" if one["drift"] in ("changed", "moved") else one["drift"])
    rule = "rule " if one["rule"] else ""
    return f"{rule}{one_line(one['id'])}  {one_line(one['title'])}  ({where}; {', '.join(remarks)})"


def _validated(result: Result) -> Lines:
    if "report" in result:
        yield result["report"]
        return
    for finding in result["findings"]:
        yield f"{finding['severity']}: {finding_place(finding)}{one_line(finding['message'])} [{finding['gate']}]"
        yield f"  fix: {one_line(finding['fix'])}"
    for gate in result["gates"]:
        if gate["state"] in ("skipped", "broken"):
            yield f"{gate['state']}: {one_line(gate['gate'])}: {one_line(gate['reason'] or '')}"
    yield validated_summary(result)


def finding_place(finding: Result) -> str:
    if not finding["file"]:
        return ""
    return one_line(finding["file"]) + (f":{finding['line']}" if finding["line"] else "") + ": "


def validated_summary(result: Result) -> str:
    states = [gate["state"] for gate in result["gates"]]
    verdict = "BROKEN" if result["broken"] else "passed" if result["ok"] else "FAILED"
    counts = ", ".join(f"{states.count(name)} {name}" for name in _GATE_STATES if name in states)
    warnings = len(result["findings"]) - result["failing"]
    parts = [f"{quantity(result['failing'], 'failing finding')}", quantity(warnings, "warning")]
    if result["known"]:
        parts.append(f"{result['known']} known")
    return f"{verdict}: {', '.join(parts)} (gates: {counts})"


_GATE_STATES = ("passed", "warned", "failed", "broken", "skipped", "off")


def _reviewed(result: Result) -> Lines:
    if "report" in result:
        yield result["report"]
        return
    for item in result["items"]:
        yield f"{one_line(item['kind'])}: {one_line(item['title'])} ({one_line(item['id'])})"
        if item["detail"]:
            yield f"  {one_line(item['detail'])}"
        if item["diff"]:
            yield from indented(item["diff"])
        yield f"  next: {one_line(item['next'])}"
    yield one_line(result["summary"])


def _synced(result: Result) -> Lines:
    would = "would be " if result["dry_run"] else ""
    for entry_id in result["edited"]:
        yield f"{would}edited {one_line(entry_id)}"
    for moved in result["moved"]:
        yield f"{would}moved {one_line(moved['id'])}: {one_line(moved['was'])} -> {one_line(moved['path'])}"
    for added in result["added"]:
        filled = f" (filled in: {joined(added['filled'])})" if added["filled"] else ""
        yield f"{would}added {one_line(added['id'])} from {one_line(added['path'])}{filled}"
    for entry_id in result["deprecated"]:
        yield f"{would}deprecated {one_line(entry_id)}, whose file is gone; decapod knowledge revive brings it back"
    for restored in result["restored"]:
        yield f"not taken in, and restored, in {one_line(restored['path'])}: {joined(restored['fields'])}"
    for problem in result["problems"]:
        place = one_line(problem["file"]) + (f":{problem['line']}" if problem["line"] else "")
        yield f"problem: {place}: {one_line(problem['message'])} [{one_line(problem['code'])}]"
    counts = {name: len(result[name]) for name in ("edited", "moved", "added", "deprecated")}
    told = ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "nothing to take in"
    yield told + (f", {quantity(len(result['problems']), 'problem')}" if result["problems"] else "")


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


def _retrieval_evaluated(result: Result) -> Lines:
    columns = measure_columns(result["k"])
    rows = [("mode", "kind", "queries", *columns.values())]
    rows += [
        (one_line(row["mode"]), one_line(row["kind"]), str(row["queries"]), *(f"{row[name]:.3f}" for name in columns))
        for row in result["measured"]
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    yield from unmeasured(result)


def measure_columns(k: int) -> dict[str, str]:
    """The heading of each measure, by field; a k of 1 or 5 is measured once."""
    hits = {"hit_at_1": "hit@1", "hit_at_5": "hit@5", "hit_at_k": f"hit@{k}"}
    wanted = {field: name for field, name in hits.items() if field == "hit_at_k" or int(name[4:]) < k}
    return wanted | {"recall": f"recall@{k}", "mrr": f"MRR@{k}", "ndcg": f"nDCG@{k}"}


def unmeasured(result: Result) -> Lines:
    for bad in result["bad"]:
        yield f"line {bad['line']}: {one_line(bad['message'])} [{one_line(bad['code'])}]"
    for unknown in result["unknown"]:
        yield f"line {unknown['line']}: there is no entry {one_line(unknown['id'])!r}"


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
        ("tasks", _counts(result["tasks"])),
        ("claims", str(result["claims"] or "")),
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


def _scanned(result: Result) -> Lines:
    for alike in scan_groups(result):
        finding = alike[0]
        yield f"{scan_place(finding)}: {one_line(finding['message'])} [{one_line(finding['kind'])}]"
        yield from (f"  {name}: {value}" for name, value in scan_facts(alike))
    yield from scan_notes(result)
    if result["adopted"]:
        yield f"adopted {entries(len(result['adopted']))}: decapod knowledge list --tag adopted"
    yield scan_summary(result)


def scan_groups(result: Result) -> list[list[Result]]:
    """Findings of one document that say the same, together: a reader mends them in one go."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for finding in result["findings"]:
        groups.setdefault((finding["file"], finding["kind"], finding["message"]), []).append(finding)
    return list(groups.values())


def scan_facts(alike: list[Result]) -> list[tuple[str, str]]:
    finding, lines = alike[0], [str(other["line"]) for other in alike[1:]]
    facts = [
        ("says", one_line(finding["mention"])),
        ("also in line", ", ".join(lines)),
        ("since", scan_since(finding)),
        ("fix", one_line(finding["fix"])),
    ]
    return [(name, value) for name, value in facts if value]


def scan_place(finding: Result) -> str:
    return f"{one_line(finding['file'])}:{finding['line']}"


def scan_since(finding: Result) -> str:
    since = finding["since"]
    if since is None:
        return "the working tree; it is not committed"
    return f"{one_line(since['commit'])[:10]} {one_line(since['date'])} {one_line(since['subject'])}"


def scan_notes(result: Result) -> Lines:
    return (f"note: {one_line(note)}" for note in result["notes"])


def scan_summary(result: Result) -> str:
    read = f"{quantity(result['checked'], 'mention')} in {quantity(result['files'], 'document')}"
    asked = f" since {one_line(result['base'])[:10]}" if result["base"] else ""
    if result["ok"]:
        return f"nothing is broken{asked}: of {read}, {result['good']} are good; the rest is not known to this history"
    count = len(result["findings"]) + result["omitted"]
    more = f", {result['omitted']} not shown (--limit)" if result["omitted"] else ""
    return f"{count} broken{asked}{more}: of {read}, {result['good']} are good"


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


def _proofs_run(result: Result) -> Lines:
    for receipt in result["receipts"]:
        yield f"{_proof_outcome(receipt)}  {one_line(receipt['proof'])}, {receipt['duration_ms'] / 1000:.1f} s"
        if receipt["paths_changed"]:
            yield "  its files changed while it ran, so this counts for nothing: keep what it writes out of its paths"
    failed = sum(not receipt["passed"] for receipt in result["receipts"])
    yield f"{quantity(len(result['receipts']), 'proof')} run, {failed} failed"


def _proof_outcome(receipt: Result) -> str:
    if receipt["timed_out"]:
        return "timed out"
    return "passed" if receipt["passed"] else f"FAILED with exit code {receipt['exit_code']}"


def _proofs_listed(result: Result) -> Lines:
    width = max((len(one_line(proof["name"])) for proof in result["proofs"]), default=0)
    for proof in result["proofs"]:
        optional = "" if proof["required"] else " (not required)"
        yield f"{one_line(proof['name']):<{width}}  {one_line(proof['state'])}{optional}: {one_line(proof['reason'])}"
        receipt = proof["receipt"]
        if receipt:
            yield f"  {_proof_outcome(receipt)} {one_line(receipt['ts'])} for {one_line(receipt['actor'])}"
    yield from _proofs_steps(result)


def _proofs_steps(result: Result) -> Lines:
    if not result["proofs"]:
        yield "no proofs; a [[proof]] in .decapod/config.toml names a command to run"
    elif not result["trusted"]:
        yield "next: decapod trust; until then none of them runs here"
    elif any(proof["required"] and proof["state"] != "good" for proof in result["proofs"]):
        yield "next: decapod proof run"


def _trusted(result: Result) -> Lines:
    config = one_line(result["config"])
    if not result["trusted"]:
        yield f"{config} is no longer trusted here" if result["changed"] else f"{config} was not trusted here"
        return
    yield f"{config} is trusted here until it changes"
    for proof in result["proofs"]:
        # Line by line, as the shell reads it: on one line, what follows a comment would look like a part of it.
        yield f"  {one_line(proof['name'])} may run:"
        yield from indented(proof["run"])
    if result["proofs"]:
        yield "next: decapod proof run"
    else:
        yield "there is no [[proof]] in it, so there is nothing to run"


def _task_created(result: Result) -> Lines:
    yield f"created {one_line(result['task_id'])}"
    yield f"next: decapod tasks claim {one_line(result['task_id'])} ASPECT"


def _claimed(result: Result) -> Lines:
    aspect, task = one_line(result["aspect"]), one_line(result["task_id"])
    if result["ok"]:
        yield f"{one_line(result['agent'])} holds {aspect} of {task} until {one_line(result['expires_at'])}"
    elif result["held_by"]:
        yield f"held: {one_line(result['held_by'])} holds {aspect} of {task} until {one_line(result['expires_at'])}"
    else:
        yield f"free: nobody holds {aspect} of {task} any more; claim it again"


def _released(result: Result) -> Lines:
    if result["ok"]:
        yield f"released {one_line(result['aspect'])} of {one_line(result['task_id'])}"
    elif result["held_by"]:
        yield from _claimed(result)
    else:
        yield f"free: nobody holds {one_line(result['aspect'])} of {one_line(result['task_id'])}"


def _task_decided(result: Result) -> Lines:
    already = "" if result["changed"] else "already "
    yield f"{one_line(result['task_id'])} is {already}{one_line(result['status'])}"
    for claim in result["released"]:
        yield f"released {one_line(claim['aspect'])}, held by {one_line(claim['agent'])}"


def _tasks_listed(result: Result) -> Lines:
    for task in result["tasks"]:
        yield task_heading(task)
        yield from (f"  {line}" for line in facts(task_facts(task)))
        yield from indented(task.get("description", ""), by="  ") if task.get("description") else ()
    yield tasks_summary(result)


def task_heading(task: Result) -> str:
    title = one_line(task["title"]) if task["here"] else "(recorded in another worktree)"
    tags = "".join(f" #{one_line(tag)}" for tag in task["tags"])
    remark = "" if task["status"] == "open" else f" ({one_line(task['status'])})"
    return f"{one_line(task['id'])}  {title}{remark}{tags}"


def task_facts(task: Result) -> list[tuple[str, str]]:
    """Who works on a task, and what came of it."""
    decided = f"{one_line(task['decided_at'])} by {one_line(task['decided_by'])}" if "decided_at" in task else ""
    return [
        *((one_line(claim["aspect"]), _holder(claim)) for claim in task["claims"]),
        ("findings", str(task["findings"] or "")),
        ("decided", decided),
        ("reason", one_line(task.get("reason", ""))),
    ]


def _holder(claim: Result) -> str:
    return f"held by {one_line(claim['agent'])} until {one_line(claim['expires_at'])}"


def tasks_summary(result: Result) -> str:
    if result["count"] == result["total"]:
        return quantity(result["total"], "task")
    return f"{result['count']} of {quantity(result['total'], 'task')}; --limit shows more"


def _finding_posted(result: Result) -> Lines:
    yield f"recorded finding {one_line(result['finding_id'])} for {one_line(result['task_id'])}"


def _findings_listed(result: Result) -> Lines:
    for finding in result["findings"]:
        entry = f" [{one_line(finding['knowledge_id'])}]" if finding["knowledge_id"] else ""
        yield f"{one_line(finding['created_at'])}  {one_line(finding['agent'])}{entry}"
        yield from indented(finding["summary"], by="  ")
    if result["count"] == result["total"]:
        yield quantity(result["total"], "finding")
    else:
        yield f"the newest {result['count']} of {quantity(result['total'], 'finding')}; --limit shows more"


def _agent_registered(result: Result) -> Lines:
    word = "registered" if result["created"] else "updated" if result["changed"] else "unchanged"
    yield f"{word} {one_line(result['agent'])}"


def _agent(result: Result) -> Lines:
    yield from facts([*agent_facts(result), ("metadata", to_json(result["metadata"]) if result["metadata"] else "")])
    for claim in result["claims"]:
        yield f"holds {one_line(claim['aspect'])} of {one_line(claim['task_id'])} until {one_line(claim['expires_at'])}"


def agent_facts(agent: Result) -> list[tuple[str, str]]:
    return [
        ("id", one_line(agent["id"])),
        ("name", one_line(agent["name"] or "")),
        ("type", one_line(agent["type"] or "")),
        ("first seen", one_line(agent["first_seen_at"])),
        ("last seen", one_line(agent["last_seen_at"])),
    ]


def _agents_listed(result: Result) -> Lines:
    width = max((len(one_line(agent["id"])) for agent in result["agents"]), default=0)
    for agent in result["agents"]:
        more = [one_line(agent[field]) for field in ("name", "type") if agent[field]]
        remark = f"  ({', '.join(more)})" if more else ""
        yield f"{one_line(agent['id']):<{width}}  {one_line(agent['last_seen_at'])}{remark}"
    if result["count"] == result["total"]:
        yield quantity(result["total"], "agent")
    else:
        yield f"{result['count']} of {quantity(result['total'], 'agent')}; --limit shows more"


def _links_shown(result: Result) -> Lines:
    for way in ("outgoing", "incoming"):
        for one in result[way]:
            yield f"{_ARROWS[way]} {linked_line(one)}"
    more = f"; {result['omitted']} left out, --limit shows more" if result["omitted"] else ""
    yield f"{len(result['outgoing'])} outgoing, {len(result['incoming'])} incoming{more}"


_ARROWS = {"outgoing": "->", "incoming": "<-"}


def linked_line(one: Result) -> str:
    title = f"  {one_line(one['title'])}" if one["title"] != one["id"] else ""
    remarks = [*one["kinds"], *([one_line(one["status"])] if one["status"] not in (None, "active") else [])]
    return f"{one_line(one['id'])}{title}  ({', '.join(remarks)})"


def _links_checked(result: Result) -> Lines:
    for link in result["links"]:
        named = f": {joined(link['candidates'])}" if link["candidates"] else ""
        yield f"{one_line(link['file'])}:{link['line']}: {link['problem']} {one_line(link['link'])}{named}"
        yield f"  fix: {one_line(link['fix'])}"
    if result["omitted"]:
        yield f"{result['omitted']} left out; --limit shows more"
    lost = quantity(result["count"], "link leads", "links lead")
    yield "every link leads to an entry" if result["ok"] else f"{lost} nowhere, or to several entries"


def _link_graph(result: Result) -> Lines:
    if "text" not in result:
        yield to_json({name: result[name] for name in ("nodes", "edges", "omitted")})
        return
    yield result["text"]
    if result["omitted"]:
        remark = "//" if result["format"] == "dot" else "%%"
        yield f"{remark} {quantity(result['omitted'], 'edge')} left out; --limit shows more"


def _tags(result: Result) -> Lines:
    width = max((len(str(count)) for count in result["tags"].values()), default=0)
    for tag, count in result["tags"].items():
        yield f"{count:>{width}}  {one_line(tag)}"
    yield quantity(len(result["tags"]), "tag")


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
    "scan": _scanned,
    "uninstall": _uninstalled,
    "knowledge.add": _added,
    "knowledge.get": _entry,
    "knowledge.list": _listed,
    "knowledge.history": _history,
    "knowledge.search": _found,
    "knowledge.drift": _drifted,
    "knowledge.reaffirm": _reaffirmed,
    "why": _reasons,
    "validate": _validated,
    "review": _reviewed,
    "sync": _synced,
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
    "eval.retrieval": _retrieval_evaluated,
    "ledger.verify": _verified,
    "ledger.show": _shown,
    "ledger.restore": _restored,
    "ledger.pack": _packed,
    "ledger.redact": _redacted,
    "links.show": _links_shown,
    "links.broken": _links_checked,
    "links.graph": _link_graph,
    "tags": _tags,
    "tasks.create": _task_created,
    "tasks.claim": _claimed,
    "tasks.renew": _claimed,
    "tasks.release": _released,
    "tasks.complete": _task_decided,
    "tasks.cancel": _task_decided,
    "tasks.reopen": _task_decided,
    "tasks.status": _tasks_listed,
    "tasks.list": _tasks_listed,
    "tasks.post-finding": _finding_posted,
    "tasks.findings": _findings_listed,
    "agents.register": _agent_registered,
    "agents.info": _agent,
    "agents.list": _agents_listed,
    "hooks.install": _hooks_installed,
    "hooks.uninstall": _hooks_uninstalled,
    "hooks.status": _hooks_status,
    "hooks.run": _hook_run,
    "connect": _connected,
    "proof.run": _proofs_run,
    "proof.list": _proofs_listed,
    "trust": _trusted,
}
