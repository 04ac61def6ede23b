"""Hand edits, links and tags as plain text."""

from __future__ import annotations

from collections.abc import Callable

from decapod_py.domain.text import one_line
from decapod_py.surfaces.cli.output import to_json
from decapod_py.surfaces.cli.plain.wording import Lines, Result, joined, quantity


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
    for entry_id in result["revived"]:
        yield f"{would}revived {one_line(entry_id)}, whose file came back"
    new = {added["path"] for added in result["added"]}
    for restored in result["restored"]:
        done = "kept as original_..." if restored["path"] in new else "restored"
        yield f"not taken in, and {done}, in {one_line(restored['path'])}: {joined(restored['fields'])}"
    for problem in result["problems"]:
        place = one_line(problem["file"]) + (f":{problem['line']}" if problem["line"] else "")
        yield f"problem: {place}: {one_line(problem['message'])} [{one_line(problem['code'])}]"
    counts = {name: len(result[name]) for name in ("edited", "moved", "added", "deprecated", "revived")}
    told = ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "nothing to take in"
    yield told + (f", {quantity(len(result['problems']), 'problem')}" if result["problems"] else "")


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


RENDERERS: dict[str, Callable[[Result], Lines]] = {
    "sync": _synced,
    "links.show": _links_shown,
    "links.broken": _links_checked,
    "links.graph": _link_graph,
    "tags": _tags,
}
