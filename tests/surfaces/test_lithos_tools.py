"""The Lithos tools on a real repository: what they take, what they answer, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support import StandingClock, decapod, git

from decapod_py.foundation.errors import DecapodError
from decapod_py.surfaces.mcp import toolsets
from decapod_py.surfaces.mcp.adapting import ask
from decapod_py.surfaces.mcp.server import listed
from decapod_py.views import embedding
from decapod_py.workspace import Workspace

Tools = Callable[..., Any]

# Name, required arguments, optional ones, and the defaults of the specification.
SPECIFIED: dict[str, tuple[set[str], set[str], dict[str, Any]]] = {
    "lithos_write": (
        {"title", "content", "agent"},
        {"tags", "confidence", "path", "id", "source_task", "expected_version"},
        {},
    ),
    "lithos_read": (set(), {"id", "path", "max_length"}, {}),
    "lithos_delete": ({"id"}, {"agent"}, {}),
    "lithos_search": ({"query"}, {"limit", "tags", "author", "path_prefix"}, {"limit": 10}),
    "lithos_semantic": ({"query"}, {"limit", "threshold", "tags"}, {"limit": 10, "threshold": 0.3}),
    "lithos_list": (set(), {"path_prefix", "tags", "author", "since", "limit", "offset"}, {"limit": 50, "offset": 0}),
    "lithos_links": ({"id"}, {"direction", "depth"}, {"direction": "both", "depth": 1}),
    "lithos_tags": (set(), set(), {}),
    "lithos_agent_register": ({"id"}, {"name", "type", "metadata"}, {}),
    "lithos_agent_info": ({"id"}, set(), {}),
    "lithos_agent_list": (set(), {"type", "active_since"}, {}),
    "lithos_task_create": ({"title", "agent"}, {"description", "tags"}, {}),
    "lithos_task_claim": ({"task_id", "aspect", "agent"}, {"ttl_minutes"}, {"ttl_minutes": 60}),
    "lithos_task_renew": ({"task_id", "aspect", "agent"}, {"ttl_minutes"}, {"ttl_minutes": 60}),
    "lithos_task_release": ({"task_id", "aspect", "agent"}, set(), {}),
    "lithos_task_complete": ({"task_id", "agent"}, set(), {}),
    "lithos_task_status": (set(), {"task_id"}, {}),
    "lithos_finding_post": ({"task_id", "agent", "summary"}, {"knowledge_id"}, {}),
    "lithos_finding_list": ({"task_id"}, {"since"}, {}),
    "lithos_stats": (set(), set(), {}),
}


@pytest.fixture
def workspace(repository: Path, clock: StandingClock) -> Iterator[Workspace]:
    opened = Workspace(str(repository), actor="agent:tester", agent=True, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def tools(workspace: Workspace) -> Tools:
    """Calls a tool the way the server does: `tools("read", id=...)`; the answer fits what was listed."""
    known = toolsets.tools_of(["lithos"])

    def call(name: str, /, **arguments: Any) -> Any:
        tool = known[f"lithos_{name}"]
        workspace.warnings.clear()
        answer = tool.run(workspace, arguments)
        jsonschema.validate(answer, tool.output_schema())
        return answer

    return call


@pytest.fixture
def refused(tools: Tools, repository: Path) -> Callable[..., DecapodError]:
    """Asserts that a call is refused with this code, and that no event was written."""

    def check(code: str, name: str, /, **arguments: Any) -> DecapodError:
        before = ledgers(repository)
        with pytest.raises(DecapodError) as refusal:
            tools(name, **arguments)
        assert refusal.value.code == code, refusal.value.message
        assert ledgers(repository) == before
        return refusal.value

    return check


def ledgers(repository: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (repository / ".decapod" / "ledgers").rglob("*.jsonl")}


def write(tools: Tools, title: str = "Retries", content: str = "They stop at three.", **fields: Any) -> Any:
    return tools("write", **{"title": title, "content": content, "agent": "zero", **fields})


def test_the_tools_have_the_names_arguments_and_defaults_of_the_specification() -> None:
    shown = {tool.name: listed(tool).input_schema for tool in toolsets.tools_of(["lithos"]).values()}

    assert {name: set(schema.get("required", ())) for name, schema in shown.items()} == {
        name: required for name, (required, _, _) in SPECIFIED.items()
    }
    for name, (required, optional, defaults) in SPECIFIED.items():
        fields = shown[name].get("properties", {})
        assert fields.keys() == required | optional, name
        assert {field: said["default"] for field, said in fields.items() if "default" in said} == defaults, name


def test_twenty_tools_cost_less_than_13_kilobytes() -> None:
    said = [listed(tool).model_dump_json(by_alias=True, exclude_none=True) for tool in toolsets.TOOLSETS["lithos"]()]

    assert len(said) == 20
    assert sum(map(len, said)) < 13_000


def test_what_is_written_is_read_with_the_front_matter_of_lithos(tools: Tools, repository: Path) -> None:
    written = write(tools, content="See [[backoff|how long]].", tags=["http", "net"], confidence=0.5, path="guides")

    assert written.keys() == {"id", "path"}
    assert (repository / ".decapod" / "knowledge" / written["path"]).is_file()
    assert written["path"].startswith("guides/retries-")
    read = tools("read", id=written["id"])
    version = read["metadata"]["version"]
    assert read == {
        "id": written["id"],
        "title": "Retries",
        "content": "See [[backoff|how long]].",
        "metadata": {
            "id": written["id"],
            "title": "Retries",
            "author": "zero",
            "contributors": [],
            "created_at": "2026-03-01T12:00:00.000Z",
            "updated_at": "2026-03-01T12:00:00.000Z",
            "tags": ["http", "net"],
            "confidence": 0.5,
            "aliases": [],
            "source": None,
            "supersedes": None,
            "path": written["path"],
            "version": version,
            "status": "active",
            "provenance": ["person:zero"],
            "drift": None,
            "standing": "local",
        },
        "links": [{"target": "backoff", "display": "how long"}],
        "truncated": False,
    }
    for path in (written["path"], written["path"].removesuffix(".md"), f".decapod/knowledge/{written['path']}"):
        assert tools("read", path=path) == read


def test_an_update_keeps_what_is_left_out_and_clears_what_is_empty(tools: Tools) -> None:
    written = write(tools, tags=["http"], confidence=0.5, source_task="the meeting of March")

    write(tools, title="Retry", content="At four.", id=written["id"], agent="one")
    write(tools, title="Retry", content="At five.", id=written["id"], agent="one")
    write(tools, title="Retry", content="At six.", id=written["id"], agent="zero")
    kept = tools("read", id=written["id"])
    told = ("author", "contributors", "tags", "confidence", "source", "path", "title")
    assert [kept["metadata"][name] for name in told] == [
        "zero",
        ["one"],
        ["http"],
        0.5,
        "the meeting of March",
        written["path"],
        "Retry",
    ]
    assert kept["content"] == "At six."

    again = write(tools, id=written["id"], tags=[], source_task="", path=None)
    cleared = tools("read", id=again["id"])["metadata"]
    assert (again, cleared["tags"], cleared["source"], cleared["confidence"]) == (written, [], None, 0.5)


def test_a_near_duplicate_is_told_beside_the_answer(tools: Tools, workspace: Workspace) -> None:
    first = write(tools)

    assert write(tools).keys() == {"id", "path"}
    assert workspace.warnings == [f"{first['id']} says nearly the same: Retries"]


def test_an_update_of_what_is_out_of_use_says_that_searches_do_not_show_it(tools: Tools, workspace: Workspace) -> None:
    item = write(tools)["id"]
    ask(workspace, "knowledge.deprecate", id=item, reason="Old.")

    write(tools, id=item, content="They stop at four.")

    assert workspace.warnings == [
        f"{item} is deprecated: lists and searches do not show it until somebody runs decapod knowledge revive {item}"
    ]


def test_an_update_of_what_is_unknown_or_deleted_is_refused(tools: Tools, refused: Any) -> None:
    error = refused("not-found", "write", title="T", content="X", agent="zero", id="01J00000000000000000000000")
    assert error.hint == ("lithos.search", {"query": "01J00000000000000000000000"})
    written = write(tools)
    tools("delete", id=written["id"], agent="zero")
    refused("deleted", "write", title="T", content="X", agent="zero", id=written["id"])


def test_an_item_stays_in_the_folder_it_was_created_in(tools: Tools, refused: Any) -> None:
    written = write(tools, path="guides")

    assert write(tools, id=written["id"], path="guides/") == written
    refused("path-fixed", "write", title="T", content="X", agent="zero", id=written["id"], path="elsewhere")
    refused("bad-folder", "write", title="T", content="X", agent="zero", path="../outside")
    refused("bad-folder", "write", title="T", content="X", agent="zero", path="procedural")


def test_an_expected_version_is_compared_and_the_refusal_carries_the_present_one(tools: Tools, refused: Any) -> None:
    written = write(tools)
    first = tools("read", id=written["id"])["metadata"]["version"]
    write(tools, id=written["id"], content="At four.", expected_version=first)
    second = tools("read", id=written["id"])["metadata"]["version"]

    update = {"title": "T", "content": "At five.", "agent": "one", "id": written["id"]}
    error = refused("version-conflict", "write", **update, expected_version=first)
    assert error.details == {"current_version": second}
    assert error.hint == ("lithos.read", {"id": written["id"]})
    assert tools("write", **update, expected_version=second) == written
    refused("bad-request", "write", title="T", content="X", agent="zero", expected_version=second)


def test_provenance_is_the_task_the_source_or_the_agent(tools: Tools, repository: Path, refused: Any) -> None:
    task = tools("task_create", title="Research", agent="zero")["task_id"]
    commit = git(repository, "rev-parse", "HEAD").strip()
    found = {
        None: "person:zero",
        "": "person:zero",
        "heard in the corridor": "person:zero",
        "note: see below": "person:zero",
        "01J00000000000000000000000": "person:zero",
        task: f"event:{task}",
        "https://example.com/x": "url:https://example.com/x",
        "file:src/a.py#L3-L9": "file:src/a.py#L3-L9",
        f"commit:{commit}": f"commit:{commit}",
    }
    for source, provenance in found.items():
        metadata = tools("read", id=write(tools, title=f"From {source}", source_task=source)["id"])["metadata"]
        assert (metadata["provenance"], metadata["source"]) == ([provenance], source or None)

    refused("no-such-file", "write", title="T", content="X", agent="zero", source_task="file:src/none.py")


def test_a_source_that_is_named_later_is_added_to_the_provenance(tools: Tools) -> None:
    written = write(tools)
    task = tools("task_create", title="Research", agent="zero")["task_id"]
    for _ in range(2):
        write(tools, id=written["id"], content="At four.", source_task=task)

    assert tools("read", id=written["id"])["metadata"]["provenance"] == ["person:zero", f"event:{task}"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"title": "T", "content": "X"}),
        ("delete", {"id": "x"}),
        ("task_create", {"title": "T"}),
        ("task_claim", {"task_id": "x", "aspect": "docs"}),
        ("task_complete", {"task_id": "x"}),
        ("finding_post", {"task_id": "x", "summary": "s"}),
    ],
)
@pytest.mark.parametrize("agent", ["", "  ", "\u200b"])
def test_an_agent_without_a_name_is_refused(refused: Any, name: str, arguments: Any, agent: str) -> None:
    refused("empty", name, **arguments, agent=agent)


def test_an_agent_takes_no_rule_out_of_use_and_rewrites_none(tools: Tools, repository: Path, refused: Any) -> None:
    source = write(tools, source_task="file:src/a.py#L3")["id"]
    asked = ("--source-entry-id", source, "--evidence-ref", "file:src/a.py#L3", "--reason", "it holds")
    proposal = decapod(repository, "knowledge", "promote", *asked, "--actor", "Bea")["event_id"]
    decapod(repository, "knowledge", "approve", proposal, "--actor", "Ana")
    decapod(repository, "knowledge", "add", "--id", "procedural/retries", "--provenance", f"event:{proposal}")

    refused("rule-protected", "delete", id="procedural/retries", agent="zero")
    with pytest.raises(DecapodError):
        write(tools, id="procedural/retries", content="As often as you like.")
    assert tools("read", id="procedural/retries")["content"] == "They stop at three."


def test_a_text_is_cut_where_a_sentence_ends_and_never_longer_than_asked(tools: Tools) -> None:
    text = "One sentence. Another sentence.\n\n" + "A paragraph of words that goes on and on. " * 40
    written = write(tools, content=f"{text}\n\n[[beyond]]")

    for most in (1, 2, 13, 20, 64, 65, 500):
        read = tools("read", id=written["id"], max_length=most)
        assert (len(read["content"]) <= most, read["truncated"]) == (True, True)
        assert read["links"] == [{"target": "beyond", "display": None}]
    assert tools("read", id=written["id"], max_length=20)["content"] == "One sentence."
    assert tools("read", id=written["id"], max_length=100)["content"].endswith("on and on.")
    assert not tools("read", id=written["id"], max_length=100_000)["truncated"]


def test_errors_are_those_of_the_specification(tools: Tools, refused: Any, workspace: Workspace) -> None:
    unknown = "01J00000000000000000000000"
    refused("not-found", "read", id=unknown)
    refused("not-found", "read", path="nothing.md")
    refused("not-found", "read", path="../config.toml")
    assert tools("delete", id=unknown, agent="zero") == {"success": False}
    assert tools("links", id=unknown) == {"outgoing": [], "incoming": []}
    assert workspace.warnings == [f"there is no entry {unknown!r}"]
    assert tools("task_claim", task_id=unknown, aspect="docs", agent="zero") == {"success": False}
    assert tools("task_renew", task_id=unknown, aspect="docs", agent="zero") == {"success": False}
    assert tools("task_release", task_id=unknown, aspect="docs", agent="zero") == {"success": False}
    assert tools("task_complete", task_id=unknown, agent="zero") == {"success": False}
    assert tools("task_status", task_id=unknown) == {"tasks": []}
    assert tools("finding_list", task_id=unknown) == {"findings": []}
    assert tools("agent_info", id="nobody")["last_seen_at"] is None
    refused("not-found", "finding_post", task_id=unknown, agent="zero", summary="s")
    refused("bad-request", "read")
    refused("bad-request", "read", id="a", path="b.md")
    refused("bad-request", "write", title="T", content="X", agent="zero", colour="red")
    refused("bad-request", "write", title="T", content="X", agent="zero", confidence=1.5)
    refused("bad-request", "task_claim", task_id="x", aspect="a", agent="zero", ttl_minutes=481)
    refused("bad-request", "links", id="x", depth=4)
    refused("bad-time", "list", since="whenever")


def test_a_deleted_item_is_gone_for_readers_and_deleting_it_again_fails(tools: Tools, refused: Any) -> None:
    written = write(tools)

    assert tools("delete", id=written["id"], agent="zero") == {"success": True}
    assert tools("delete", id=written["id"]) == {"success": False}
    refused("not-found", "read", id=written["id"])
    refused("not-found", "read", path=written["path"])
    assert tools("search", query="retries") == {"results": []}
    assert tools("list") == {"items": [], "total": 0}


def test_claims_conflict_are_renewed_by_their_holder_and_end_with_the_task(
    tools: Tools, workspace: Workspace, clock: StandingClock
) -> None:
    task = tools("task_create", title="Research", agent="zero", tags=["a"], description="All of it.")["task_id"]
    claim = {"task_id": task, "aspect": "docs"}

    assert tools("task_claim", **claim, agent="zero") == {"success": True, "expires_at": "2026-03-01T13:00:00.000Z"}
    assert tools("task_claim", **claim, agent="one") == {"success": False}
    assert workspace.warnings == ["docs is held by zero until 2026-03-01T13:00:00.000Z"]
    assert tools("task_renew", **claim, agent="one") == {"success": False}
    assert tools("task_release", **claim, agent="one") == {"success": False}
    renewed = tools("task_renew", **claim, agent="zero", ttl_minutes=120)
    assert renewed == {"success": True, "new_expires_at": "2026-03-01T14:00:00.000Z"}
    held = {"agent": "zero", "aspect": "docs", "expires_at": "2026-03-01T14:00:00.000Z"}
    assert tools("task_status") == {"tasks": [{"id": task, "title": "Research", "status": "open", "claims": [held]}]}
    clock.forward(days=1)
    assert tools("task_status", task_id=task)["tasks"][0]["claims"] == []
    assert tools("task_renew", **claim, agent="zero") == {"success": False}
    assert tools("task_claim", **claim, agent="one")["success"]
    assert tools("task_release", **claim, agent="one") == {"success": True}
    tools("task_claim", **claim, agent="one")
    assert tools("task_complete", task_id=task, agent="zero") == {"success": True}
    assert tools("task_status", task_id=task)["tasks"][0] == {
        "id": task,
        "title": "Research",
        "status": "completed",
        "claims": [],
    }
    assert tools("task_claim", **claim, agent="zero") == {"success": False}
    assert tools("task_status") == {"tasks": []}


def test_findings_name_the_item_that_says_more(tools: Tools, clock: StandingClock, refused: Any) -> None:
    task = tools("task_create", title="Research", agent="zero")["task_id"]
    item = write(tools)["id"]
    first = tools("finding_post", task_id=task, agent="zero", summary="Found.", knowledge_id=item)
    clock.forward(days=1)
    second = tools("finding_post", task_id=task, agent="one", summary="And lost.")

    shown = tools("finding_list", task_id=task)["findings"]
    assert shown == [
        {
            "id": first["finding_id"],
            "agent": "zero",
            "summary": "Found.",
            "knowledge_id": item,
            "created_at": "2026-03-01T12:00:00.000Z",
        },
        {
            "id": second["finding_id"],
            "agent": "one",
            "summary": "And lost.",
            "knowledge_id": None,
            "created_at": "2026-03-02T12:00:00.000Z",
        },
    ]
    assert tools("finding_list", task_id=task, since="2026-03-02")["findings"] == shown[1:]
    refused("not-found", "finding_post", task_id=task, agent="zero", summary="s", knowledge_id="nothing")


def test_agents_are_known_from_what_they_do_and_may_say_more(tools: Tools, clock: StandingClock) -> None:
    write(tools)
    assert tools("agent_info", id="zero")["name"] is None
    clock.forward(days=1)
    said = {"name": "Agent One", "type": "custom", "metadata": {"version": 2}}
    assert tools("agent_register", id="one", **said) == {"success": True, "created": True}
    assert tools("agent_register", id="one", name="One") == {"success": True, "created": False}

    assert tools("agent_info", id="one") == {
        "id": "one",
        "name": "One",
        "type": "custom",
        "first_seen_at": "2026-03-02T12:00:00.000Z",
        "last_seen_at": "2026-03-02T12:00:00.000Z",
        "metadata": {"version": 2},
    }
    assert [agent["id"] for agent in tools("agent_list")["agents"]] == ["one", "zero"]
    seen = {"id": "one", "name": "One", "type": "custom", "last_seen_at": "2026-03-02T12:00:00.000Z"}
    assert tools("agent_list", type="custom") == {"agents": [seen]}
    assert tools("agent_list", active_since="2026-03-02") == {"agents": [seen]}


def test_filters_come_before_the_limit(tools: Tools) -> None:
    for number in range(12):
        write(tools, title=f"Walrus {number}", content="walrus " * 20, agent="crowd")
    wanted = write(tools, title="Other", content="One walrus, late.", tags=["big animals", "a, b", "Sea"], path="north")

    def only(**filters: Any) -> list[str]:
        return [hit["id"] for hit in tools("search", query="walrus", limit=1, **filters)["results"]]

    assert only() != [wanted["id"]]
    for filters in (
        {"tags": ["big animals"]},
        {"tags": ["a, b"]},
        {"tags": ["sea", "a, b"]},
        {"author": "zero"},
        {"path_prefix": "north"},
        {"path_prefix": "north/"},
    ):
        assert only(**filters) == [wanted["id"]], filters
        listed = tools("list", limit=1, **filters)
        assert ([item["id"] for item in listed["items"]], listed["total"]) == ([wanted["id"]], 1)
    assert only(tags=["sea", "none"]) == only(tags=["a"]) == []


@pytest.mark.parametrize(
    "query", ["what's new: deploy", 'an "open quote deploy', "(deploy", "deploy AND", "title:deploy", "deploy^2 ~ *"]
)
def test_no_query_is_too_odd_to_be_answered(tools: Tools, query: str) -> None:
    written = write(tools, title="Deploys", content="A new way to deploy.")

    (hit,) = tools("search", query=query)["results"]
    assert hit.keys() == {"id", "title", "snippet", "score", "path"}
    assert (hit["id"], hit["path"]) == (written["id"], written["path"])
    assert "deploy" in hit["snippet"].lower()


def test_a_limit_of_nothing_is_refused_and_the_next_question_answered(tools: Tools, refused: Any) -> None:
    write(tools)
    for name, arguments in (("search", {"query": "retries"}), ("list", {}), ("semantic", {"query": "retries"})):
        refused("bad-request", name, **arguments, limit=0)

    assert len(tools("search", query="retries")["results"]) == 1


def test_a_list_has_pages_a_total_and_a_beginning_in_time(tools: Tools, clock: StandingClock) -> None:
    ids = []
    for number in range(5):
        ids.append(write(tools, title=f"Item {number}", content=f"Text {number}.", tags=["x"])["id"])
        clock.forward(days=1)

    page = tools("list", limit=2, offset=1)
    assert ([item["id"] for item in page["items"]], page["total"]) == ([ids[3], ids[2]], 5)
    assert page["items"][0] == {
        "id": ids[3],
        "title": "Item 3",
        "path": page["items"][0]["path"],
        "updated": "2026-03-04T12:00:00.000Z",
        "tags": ["x"],
    }
    for since in ("2026-03-04T00:00:00Z", "2026-03-04T00:00:00", "2026-03-04T00:00", "2026-03-04"):
        assert tools("list", since=since)["total"] == 2
    assert len(tools("agent_list", active_since="2026-03-04T00:00:00.5")["agents"]) == 1
    assert tools("list", offset=9) == {"items": [], "total": 5}


def test_links_are_followed_by_any_name_and_not_in_code(tools: Tools) -> None:
    late = write(tools, title="Alpha", content="See [[beta#how]], `[[code]]` and [[nowhere]].")
    beta = write(tools, title="Beta", content="See [[notes/gamma|that]].")
    gamma = write(tools, title="Gamma", content="The end.", path="notes")
    code = write(tools, title="Code", content="```\n[[alpha]]\n```")

    def ids(found: list[Any]) -> list[str]:
        return [one["id"] for one in found]

    assert tools("links", id=late["id"]) == {"outgoing": [{"id": beta["id"], "title": "Beta"}], "incoming": []}
    far = tools("links", id=late["id"], depth=2)
    assert ids(far["outgoing"]) == [beta["id"], gamma["id"]]
    assert ids(tools("links", id=gamma["id"], depth=3)["incoming"]) == [beta["id"], late["id"]]
    assert tools("links", id=beta["id"], direction="incoming")["outgoing"] == []
    assert tools("links", id=code["id"]) == {"outgoing": [], "incoming": []}


def test_tags_and_numbers_are_counted(tools: Tools) -> None:
    nothing = dict.fromkeys(("documents", "chunks", "agents", "active_tasks", "open_claims", "tags"), 0)
    assert tools("stats") == nothing
    write(tools, tags=["http", "net"])
    write(tools, title="Other", content="Long. " * 300, tags=["http"])
    task = tools("task_create", title="Research", agent="one")["task_id"]
    tools("task_claim", task_id=task, aspect="docs", agent="two")

    assert tools("tags") == {"tags": {"http": 2, "net": 1}}
    stats = tools("stats")
    assert stats.pop("chunks") > 2
    assert stats == {"documents": 2, "agents": 3, "active_tasks": 1, "open_claims": 1, "tags": 2}


def test_titles_of_any_script_have_files_of_their_own(tools: Tools, repository: Path) -> None:
    titles = ["Повторы", "重试", "再試行", "ลองใหม่", "!!!", "???"]
    written = [write(tools, title=title, content=f"Text of {title}.") for title in titles]

    assert len({one["path"] for one in written}) == len(titles)
    for title, one in zip(titles, written, strict=True):
        assert tools("read", path=one["path"])["title"] == title
    assert written[0]["path"].startswith("повторы-")


def test_a_text_that_begins_with_its_title_keeps_one_heading(tools: Tools, repository: Path) -> None:
    written = write(tools, title="Retries", content="# Retries\n\nThey stop at three.")

    assert (repository / ".decapod" / "knowledge" / written["path"]).read_text().count("# Retries") == 1
    assert tools("read", id=written["id"])["content"] == "# Retries\n\nThey stop at three."


def test_a_secret_is_refused(refused: Any) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    refused("secret", "write", title="T", content=f"token {token}", agent="zero")


def test_meaning_finds_the_best_passage_above_the_threshold(tools: Tools) -> None:
    pytest.importorskip("wordllama")
    passage = "A car needs petrol, oil and an engine that starts when it is cold."
    text = f"{'Nothing about that here, only weather and rain. ' * 15}\n\n{passage}\n\n{'Rain again. ' * 50}"
    written = write(tools, title="Notes", content=text, tags=["cars"])
    write(tools, title="Weather", content="It rains in the hills.")

    (hit,) = tools("semantic", query="fuel for the motor of a vehicle", tags=["cars"])["results"]
    assert hit == {
        "id": written["id"],
        "title": "Notes",
        "snippet": hit["snippet"],
        "similarity": hit["similarity"],
        "path": written["path"],
    }
    assert passage in hit["snippet"]
    assert len(hit["snippet"]) <= 1_000
    assert 0.3 <= hit["similarity"] <= 1
    assert tools("semantic", query="fuel for the motor of a vehicle", threshold=0.99) == {"results": []}
    assert len(tools("semantic", query="fuel for the motor of a vehicle", threshold=0)["results"]) == 2


def test_without_the_extra_meaning_is_refused_with_the_way_to_get_it(
    refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "is_installed", lambda: False)

    assert refused("no-semantic", "semantic", query="car").hint == embedding.INSTALL
