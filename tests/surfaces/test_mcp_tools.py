"""What an agent is offered: names, schemas, hints, and how much of its context they cost."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from decapod_py.foundation.errors import Call, Misused, Refused
from decapod_py.operations.catalogue import all_operations
from decapod_py.surfaces.mcp import answers, serve, toolsets
from decapod_py.surfaces.mcp.schema import input_schema, output_schema
from decapod_py.surfaces.mcp.server import agent_name, listed

CORE = {
    "status",
    "knowledge_search",
    "knowledge_get",
    "knowledge_add",
    "knowledge_edit",
    "knowledge_history",
    "knowledge_retrieval_log",
    "knowledge_promote",
    "why",
}


def listing(*names: str) -> list[dict[str, Any]]:
    tools = toolsets.tools_of(list(names)).values()
    return [listed(tool).model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools]


def test_the_core_toolset_is_small_and_costs_less_than_12_kilobytes() -> None:
    core = listing("core")

    assert {tool["name"] for tool in core} == CORE
    assert len(json.dumps({"tools": core}, ensure_ascii=False, separators=(",", ":")).encode()) < 12_000


def test_a_listing_is_the_same_every_time() -> None:
    assert json.dumps(listing("all")) == json.dumps(listing("all"))


def test_toolsets_are_joined_without_doubles() -> None:
    names = [tool["name"] for tool in listing("core", "knowledge", "ledger")]

    assert len(names) == len(set(names))
    assert set(names) >= CORE | {"knowledge_list", "ledger_show"}


def test_operations_kept_from_agents_are_in_no_toolset() -> None:
    kept = {operation.tool_name for operation in all_operations() if not operation.tool}

    assert kept.isdisjoint(tool["name"] for tool in listing("all"))


def test_an_unknown_toolset_is_misuse_that_names_the_known_ones() -> None:
    with pytest.raises(Misused, match="nonsense") as caught:
        serve(".", "core,nonsense", None)

    assert caught.value.code == "unknown-toolset"
    assert caught.value.hint == "there are core, knowledge, tasks, agents, links, ledger, all, lithos"


def test_what_only_people_decide_is_not_offered() -> None:
    offered = {name for tool in listing("all") for name in tool["inputSchema"]["properties"]}

    assert offered.isdisjoint({"actor", "approved_by"})


def test_every_schema_is_valid_and_has_an_object_at_its_root() -> None:
    for tool in listing("all"):
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"


def test_hints_follow_the_operation() -> None:
    hints = {tool["name"]: tool["annotations"] for tool in listing("core")}

    assert hints["knowledge_search"] == {"readOnlyHint": True, "openWorldHint": False}
    assert hints["knowledge_add"] == {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": False,
        "openWorldHint": False,
    }


def test_the_listing_tells_the_defaults_that_agents_get() -> None:
    search = next(tool for tool in listing("core") if tool["name"] == "knowledge_search")

    assert search["inputSchema"]["properties"]["max_chars"]["default"] == 6_000


def test_an_optional_argument_is_listed_without_null_title_or_empty_default() -> None:
    schema = {
        "type": "object",
        "title": "Add",
        "additionalProperties": False,
        "properties": {
            "title": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Title"},
            "tags": {"type": "array", "items": {"type": "string"}, "default": [], "title": "Tags"},
            "actor": {"type": "string"},
        },
    }

    assert input_schema(schema, hidden={"actor"}, defaults={"tags": ["a"]}) == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}, "default": ["a"]},
        },
    }


def test_a_definition_is_put_in_place_unless_it_refers_to_itself() -> None:
    leaf = {"type": "object", "properties": {"name": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
    refers = {"type": "object", "properties": {"top": {"$ref": "#/$defs/Tree"}}}

    assert output_schema({**refers, "$defs": {"Tree": leaf}}) == {
        "type": "object",
        "properties": {"top": {"type": "object", "properties": {"name": {}}}},
    }
    assert output_schema({**refers, "$defs": {"Tree": tree}})["$defs"]["Tree"] == tree


def test_a_next_step_is_a_tool_call_or_a_request_to_a_person() -> None:
    settle = Call("knowledge.settle", {"target": "x", "keep": "…"})

    assert answers.spoken(settle, {"knowledge_settle"}) == 'knowledge_settle(target="x", keep="…")'
    assert answers.spoken(settle, set()) == 'ask a person for: decapod knowledge settle target="x" keep="…"'
    assert answers.spoken("decapod init", set()) == "decapod init"


def test_an_error_fits_the_output_schema_of_every_tool() -> None:
    error = answers.refused(Refused("no", "not now"), set()).structured_content

    for tool in listing("all"):
        jsonschema.validate(error, tool["outputSchema"])


def test_text_that_is_no_utf8_does_not_break_the_wire() -> None:
    result = answers.answered({"path": "a\udcffb"}, ["\udcff"])

    assert result.structured_content == {"path": "a?b"}
    assert result.model_dump_json()


@pytest.mark.parametrize(
    ("told", "actor"), [("claude code", "agent:claude code"), ("a\nb\x07", "agent:a b"), (" ", "agent:unnamed")]
)
def test_the_actor_is_the_client_on_one_printable_line(told: str, actor: str) -> None:
    class Client:
        class client_info:  # noqa: N801  (the library's own name)
            name = told

    assert agent_name(Client) == actor
    assert agent_name(None) == "agent:unnamed"
