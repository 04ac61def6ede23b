"""`decapod links` and `decapod tags`: how entries hang together, and which links lead nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import decapod, refusal, run

from decapod_py.views.graph import KINDS, Graph
from decapod_py.views.surroundings import Surroundings
from decapod_py.workspace import Workspace


@pytest.fixture
def links(opened: Any) -> Any:
    return opened.links


def add(knowledge: Any, entry_id: str, text: str = "x", **more: Any) -> None:
    knowledge.add(id=entry_id, **{"title": entry_id.title(), "text": text, "provenance": ["person:ada"], **more})


def ids(linked: list[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in linked]


def shown(links: Any, entry_id: str, **options: Any) -> tuple[list[str], list[str]]:
    found = links.show(id=entry_id, **options)
    return ids(found["outgoing"]), ids(found["incoming"])


def test_links_lead_both_ways(knowledge, links):
    add(knowledge, "beta", "[[alpha]] and [[beta]] and [[alpha#Set up|again]] and `[[gamma]]`")
    add(knowledge, "alpha")  # after the link to it
    add(knowledge, "gamma", "```\n[[alpha]]\n```")

    assert links.show(id="beta") == {
        "id": "beta",
        "title": "Beta",
        "outgoing": [{"id": "alpha", "title": "Alpha", "status": "active", "kinds": ["link"]}],
        "incoming": [],
        "omitted": 0,
    }
    assert shown(links, "alpha") == ([], ["beta"])
    assert shown(links, "gamma") == ([], [])


def test_depth_counts_steps_and_lists_each_entry_once_without_the_one_asked_about(knowledge, links):
    for name, follows in {"a": "[[b]] [[c]]", "b": "[[d]]", "c": "[[d]]", "d": "[[e]] [[a]]", "e": "[[f]]"}.items():
        add(knowledge, name, follows)
    add(knowledge, "f")

    assert [shown(links, "a", direction="outgoing", depth=depth)[0] for depth in (1, 2, 3)] == [
        ["b", "c"],
        ["b", "c", "d"],
        ["b", "c", "d", "e"],
    ]
    assert shown(links, "a", direction="incoming", depth=3) == ([], ["d", "b", "c"])
    assert shown(links, "f", direction="outgoing", depth=3) == ([], [])
    assert links.show(id="a", depth=3, limit=1)["omitted"] == 2 + 3


def test_what_is_superseded_cited_and_promoted_is_an_edge_too(knowledge, links):
    add(knowledge, "old", provenance=["file:src/a.py#L1-L2"], merge_key="k")
    cited = ["file:src/a.py#L3", "url:https://example.com"]
    add(knowledge, "new", "[[old]]", provenance=cited, merge_key="k", on_conflict="supersede")
    promotion = knowledge.promote(
        source_entry_id="new", evidence_refs=["cmd:make test"], reason="It held", approved_by="Bea"
    )["event_id"]
    knowledge.add(id="procedural/new", provenance=[f"event:{promotion}"])

    found = links.show(id="new")
    assert {one["id"]: (one["kinds"], one["status"]) for one in found["outgoing"]} == {
        "file:src/a.py": (["provenance"], None),
        "old": (["link", "supersedes"], "superseded"),
    }
    assert [(one["id"], one["kinds"]) for one in found["incoming"]] == [("procedural/new", ["promotion"])]
    assert shown(links, "new", kinds=["link"]) == (["old"], [])
    drawn = links.graph(format="json")
    assert {(edge["from"], edge["to"], edge["kind"]) for edge in drawn["edges"]} == {
        ("old", "file:src/a.py", "provenance"),
        ("new", "file:src/a.py", "provenance"),
        ("new", "old", "link"),
        ("new", "old", "supersedes"),
        ("procedural/new", "new", "promotion"),
        ("procedural/new", "old", "link"),  # a rule says what its source says
        ("procedural/new", f"event:{promotion}", "provenance"),
    }
    assert {node["id"] for node in drawn["nodes"]} == {
        end for edge in drawn["edges"] for end in (edge["from"], edge["to"])
    }


def test_broken_and_ambiguous_links_are_told_with_file_and_line(knowledge, links, repository: Path):
    add(knowledge, "one/note")
    add(knowledge, "two/note")
    add(knowledge, "fine", "[[one/note]] ![[picture.png]] [[#Here]]")
    assert links.broken() == {"ok": True, "count": 0, "links": [], "omitted": 0}
    add(knowledge, "source", "First\n\n[[note]] and\n[[nowhere#Heading|text]]", tags=["a", "b"])

    found = links.broken()
    assert (found["ok"], found["count"]) == (False, 2)
    assert [(one["link"], one["problem"], one["candidates"]) for one in found["links"]] == [
        ("[[note]]", "ambiguous", ["one/note", "two/note"]),
        ("[[nowhere#Heading]]", "broken", []),
    ]
    for one in found["links"]:
        line = (repository / one["file"]).read_text().splitlines()[one["line"] - 1]
        assert one["link"].strip("[]") in line
    assert links.broken(limit=1)["omitted"] == 1
    assert run(repository, "links", "broken").returncode == 1


def test_links_of_entries_that_are_not_in_use_are_nobodys_problem(knowledge, links):
    add(knowledge, "source", "[[nowhere]] [[target]]")
    add(knowledge, "target")
    knowledge.delete(id="target", reason="gone")
    assert [one["link"] for one in links.broken()["links"]] == ["[[nowhere]]", "[[target]]"]

    knowledge.deprecate(id="source", reason="old")
    assert links.broken()["ok"]


def test_aliases_and_names_of_files_that_people_made_are_found(repository: Path):
    vault = repository / ".decapod" / "knowledge"
    (vault / "people").mkdir()
    (vault / "people" / "release-abcdef.md").write_text("---\naliases: [How we ship]\n---\nShip on Mondays.\n")
    (vault / "index.md").write_text(
        "[[How we ship]], [[people/release-abcdef]], [[Release-ABCDEF.md]]; not [[release]]\n"
    )
    decapod(repository, "sync")

    done = run(repository, "links", "broken", "--json")
    assert [one["link"] for one in json.loads(done.stdout)["links"]] == ["[[release]]"]
    entries = {one["path"]: one["id"] for one in decapod(repository, "knowledge", "list")["entries"]}
    found = decapod(repository, "links", "show", entries[".decapod/knowledge/index.md"], "--kind", "link")
    assert ids(found["outgoing"]) == [entries[".decapod/knowledge/people/release-abcdef.md"]]


HOSTILE = 'x"]; end --> y|z| <script>alert(1)</script> `#quot;` \\" } \\N [[a]]'


def test_a_hostile_title_stays_a_label_in_mermaid(knowledge, links):
    add(knowledge, "end", "[[evil]]", title="1. End")
    add(knowledge, "evil", title=HOSTILE)

    assert links.graph(kinds=["link"])["text"].split("\n") == [
        "graph LR",
        '  n0["1#46; End"]',
        '  n1["x#34;#93;#59; end #45;#45;#62; y#124;z#124; #60;script#62;alert#40;1#41;#60;#47;script#62; '
        '#96;#35;quot#59;#96; #92;#34; #125; #92;N #91;#91;a#93;#93;"]',
        "  n0 -->|link| n1",
    ]


def test_a_hostile_title_stays_a_label_in_dot(knowledge, links):
    add(knowledge, "end", "[[evil]]", title="End\u2028of line")
    add(knowledge, "evil", title=HOSTILE)

    assert links.graph(format="dot", kinds=["link"])["text"].split("\n")[3:] == [
        '  "end" [label="End of line"];',
        '  "evil" [label="x\\"]; end --> y|z| <script>alert(1)</script> `#quot;` \\\\\\" } \\\\N [[a]]"];',
        '  "end" -> "evil" [label=link];',
        "}",
    ]


def test_a_graph_says_what_it_leaves_out(knowledge, links, repository: Path):
    add(knowledge, "a", "[[b]] [[c]]")
    add(knowledge, "b")
    add(knowledge, "c")

    assert links.graph(limit=1)["omitted"] == 1
    assert run(repository, "links", "graph", "--limit", "1").stdout.splitlines()[-1] == (
        "%% 1 edge left out; --limit shows more"
    )


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("show", "nothing"), (1, "not-found")),
        (("show", "a", "--depth", "4"), (2, "bad-arguments")),
        (("show", "a", "--depth", "0"), (2, "bad-arguments")),
        (("show", "a", "--direction", "up"), (2, "bad-arguments")),
        (("show", "a", "--kind", "cites"), (2, "unknown-kind")),
        (("graph", "--format", "svg"), (2, "bad-arguments")),
        (("graph", "--kind", "cites"), (2, "unknown-kind")),
    ],
)
def test_bad_questions_are_refused(repository: Path, arguments, answer):
    assert refusal(repository, "links", *arguments) == answer


def test_tags_are_counted_over_entries_in_use_whatever_their_case(knowledge, opened):
    add(knowledge, "a", tags=["HTTP", "a tag, with a comma"])
    add(knowledge, "b", tags=["http", "Retry"])
    add(knowledge, "c", tags=["http"])
    add(knowledge, "d", tags=["gone", "retry"])
    knowledge.deprecate(id="d", reason="old")

    assert list(opened.tags()["tags"].items()) == [("http", 3), ("a tag, with a comma", 1), ("Retry", 1)]


def test_text_for_people(knowledge, repository: Path):
    add(knowledge, "beta", "[[alpha]] [[no]]", tags=["x"])
    add(knowledge, "alpha")

    assert run(repository, "links", "show", "alpha").stdout == "<- beta  Beta  (link)\n0 outgoing, 1 incoming\n"
    assert run(repository, "tags").stdout == "1  x\n1 tag\n"
    assert run(repository, "links", "broken").stdout.splitlines()[-1] == ("1 link leads nowhere, or to several entries")


def test_around_each_entry_is_what_the_whole_graph_says(knowledge, opened, repository: Path):
    vault = repository / ".decapod" / "knowledge"
    (vault / "people").mkdir()
    (vault / "people" / "Release-ABCDEF.md").write_text(
        "---\naliases: [How we ship, note-0]\n---\n[[NOTE-1]] [[n2.md]]\n"
    )
    (vault / "people" / "cafe\u0301.md").write_text("[[release-abcdef]] [[how we ship]]\n")
    opened.sync()
    generated = knowledge.add(title="Made up", text="[[caf\u00e9]] [[people/CAF\u00c9.md]]", provenance=["person:ada"])[
        "id"
    ]
    targets = ["made-up", generated.lower(), "twin", "one/twin", "Note-1", "n2.md", "nowhere", "How we ship"]
    for number in range(8):
        text = " ".join(f"[[{targets[(number * 3 + step) % len(targets)]}]]" for step in range(4))
        add(knowledge, f"note-{number}" if number % 2 else f"folder/n{number}", text, merge_key=f"k{number}")
        add(knowledge, f"new-{number}", text, merge_key=f"k{number}", on_conflict="supersede")
    for name in ("one/twin", "two/twin"):
        add(knowledge, name, f"[[{name}]] [[{generated}]]")
    knowledge.edit(id="note-1", text="[[made-up]]")
    add(knowledge, "last", "[[note-1]] [[note-3]]")
    knowledge.delete(id="note-3", reason="gone")

    state = Workspace(str(repository)).state()
    edges = Graph(state.connection).edges()
    assert {edge.kind for edge in edges} == {"link", "supersedes"}
    for entry in state.entries("status != 'deleted'"):
        around = Surroundings(state.connection)
        onward = {(one.node.id, kind) for one in around.reachable(entry.id, 1, KINDS) for kind in one.kinds}
        back = {
            (one.node.id, kind) for one in around.reachable(entry.id, 1, KINDS, backwards=True) for kind in one.kinds
        }
        assert onward == {(edge.target, edge.kind) for edge in edges if edge.source == entry.id}
        assert back == {(edge.source, edge.kind) for edge in edges if edge.target == entry.id}


def test_a_database_that_was_caught_up_notes_links_as_a_rebuild_does(knowledge, opened):
    add(knowledge, "a", "[[b]]")
    add(knowledge, "b", "[[a]]")
    knowledge.edit(id="a", text="[[c]]")
    knowledge.delete(id="b", reason="gone")

    assert opened.rebuild(check=True)["problems"] == []
