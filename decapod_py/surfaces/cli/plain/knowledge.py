"""Entries, searches, drift and promotions as plain text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from decapod_py.domain.text import one_line
from decapod_py.surfaces.cli.output import safe_json, to_json
from decapod_py.surfaces.cli.plain.wording import Lines, Result, counted, entries, facts, indented, joined, quantity


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
        ("feedback", counted(entry["feedback"])),
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
        yield "next: where a changed text still holds, decapod knowledge reaffirm ID --reason WHY;"
        yield "      where one is gone, decapod knowledge edit ID --provenance WHERE_IT_IS_NOW; else deprecate it"


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
    formats = ", ".join(f"{count} {name}" for name, count in sorted(result["formats"].items()))
    yield (
        f"{result['read']} read{f' ({formats})' if formats else ''}: {result['added']} {verb}, "
        f"{result['unchanged']} unchanged, {len(result['bad'])} bad"
    )
    if result["left_out"]:
        yield "left out: " + ", ".join(f"{count} {what}" for what, count in result["left_out"].items())
    for bad in result["bad"]:
        place = one_line(bad["file"]) if bad["line"] is None else f"{one_line(bad['file'])}:{bad['line']}"
        yield f"{place}: {one_line(bad['message'])} [{one_line(bad['code'])}]"
    if result["bad"] and not result["added"]:
        yield "nothing was imported: correct these and import again, or import the rest with --keep-going"


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


RENDERERS: dict[str, Callable[[Result], Lines]] = {
    "knowledge.add": _added,
    "knowledge.get": _entry,
    "knowledge.list": _listed,
    "knowledge.history": _history,
    "knowledge.search": _found,
    "knowledge.drift": _drifted,
    "knowledge.reaffirm": _reaffirmed,
    "why": _reasons,
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
}
