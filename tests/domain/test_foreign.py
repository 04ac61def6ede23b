"""What other tools and habits write into Markdown, read as what it says."""

from __future__ import annotations

import pytest

from decapod_py.domain.foreign import adr, agent_files, basic_memory
from decapod_py.domain.instructions import SECTION
from decapod_py.foundation.errors import Refused

NYGARD = "# 1. Use queues\n\nDate: 2016-02-12\n\n## Status\n\n{}\n\n## Context\n\nWe accepted loss before.\n"


@pytest.mark.parametrize(
    ("written", "status", "tags"),
    [
        ("Accepted", "active", ()),
        ("Proposed", "active", ("status/proposed",)),
        ("Rejected", "deprecated", ("status/rejected",)),
        ("Deprecated", "deprecated", ()),
        ("Accepted\n\nSuperceded by [2. Use logs](0002-use-logs.md)", "superseded", ()),
        ("~~Accepted~~ Deprecated", "deprecated", ()),
        ("{proposed | rejected | accepted}", "active", ()),
        ("", "active", ()),
    ],
)
def test_a_status_section_becomes_a_status_of_ours(written: str, status: str, tags: tuple[str, ...]) -> None:
    record = adr.read({}, NYGARD.format(written))
    assert (record.status, record.tags, record.date) == (status, tags, "2016-02-12")


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ({"status": "deprecated", "date": "2024-05-06"}, "# Use queues\n"),
        ({}, "# Use queues\n\n* Status: deprecated\n* Deciders: Ada\n* Date: 2024-05-06\n"),
        ({}, "# Use queues\n\n**Status:** Deprecated\n**Date**: 2024-05-06\n"),
        ({}, "# Use queues\n\n- Status: deprecated\n- Date: 2024-05-06\n\n## Status quo\n\nAccepted by all.\n"),
    ],
)
def test_a_status_may_stand_in_front_matter_or_in_a_list(fields: dict[str, str], body: str) -> None:
    record = adr.read(fields, body)
    assert (record.status, record.date) == ("deprecated", "2024-05-06")


@pytest.mark.parametrize(
    ("written", "superseded_by", "supersedes"),
    [
        ("Superseded by [ADR-0005](0005-x.md)", ("0005-x.md",), ()),
        ("Superseded by [5. X](./0005-x.md#context)", ("0005-x.md",), ()),
        ("Superseded by ADR-0005", ("5",), ()),
        ("superseded by [[0005-x|five]]", ("0005-x",), ()),
        ("Accepted\n\nSupercedes [3. Old](0003-old.md)", (), ("0003-old.md",)),
        ("Accepted, supersedes ADR-3 and ADR-4", (), ("3", "4")),
        ("Superseded by events", (), ()),
    ],
)
def test_which_record_replaces_which_is_read_from_links_and_numbers(
    written: str, superseded_by: tuple[str, ...], supersedes: tuple[str, ...]
) -> None:
    record = adr.read({}, NYGARD.format(written))
    assert (record.superseded_by, record.supersedes) == (superseded_by, supersedes)


@pytest.mark.parametrize(
    ("path", "body", "known"),
    [
        ("docs/adr/0001-use-queues.md", "# Use queues\n", True),
        ("decisions/ADR-7-x.md", "# X\n", True),
        ("notes/0001-use-queues.md", NYGARD.format("Accepted"), True),
        ("notes/0001-use-queues.md", "# Use queues\n", False),
        ("docs/adr/README.md", "# Decisions\n", False),
        ("decisions/2024-05-06.md", "# Monday\n", False),
        ("notes/100 ideas.md", "# Ideas\n\nStatus: good\n", False),
    ],
)
def test_a_decision_record_is_numbered_and_among_others_or_has_a_status(path: str, body: str, known: bool) -> None:
    assert adr.recognises(path, {}, body) is known


def test_observations_give_their_categories_and_tags() -> None:
    body = (
        "# Coffee\n\n## Observations\n- [method] Pour over is clean #brewing #slow (at home)\n- [ ] buy beans\n"
        "- [x] grind\n- [link](http://a/#b) no\n- [[Other]] no\n- [tech] see a#b\n"
        "\n## Relations\n- relates_to [[Tea]]\n"
    )
    assert basic_memory.observed_tags(body) == ["method", "brewing", "slow", "tech"]
    assert basic_memory.recognises({"type": "note", "permalink": "coffee"})
    assert not basic_memory.recognises({"type": "note"})


AGENTS = (
    "---\nowner: us\n---\nBe brief.\n\n# Project\n\n## Build\n\nRun `make`.\n\n```\n# not a heading\n```\n\n"
    f"{SECTION}\nTests\n-----\n\nRun them.\n\n## Build\n\nTwice.\n"
)


def test_each_heading_has_its_own_text_and_address() -> None:
    found = [(one.title, one.slug, one.text.strip()) for one in agent_files.sections(AGENTS, "AGENTS.md")]
    assert found == [
        (None, "", "Be brief."),
        ("Build", "build", "Run `make`.\n\n```\n# not a heading\n```"),
        ("Tests", "tests", "Run them."),
        ("Build", "build-1", "Twice."),
    ]


def test_a_section_knows_its_lines() -> None:
    lines = AGENTS.split("\n")
    for section in list(agent_files.sections(AGENTS, "AGENTS.md"))[1:]:
        assert lines[section.first - 1].strip("# ") == section.title


def test_broken_markers_are_refused() -> None:
    with pytest.raises(Refused, match="decapod:begin"):
        list(agent_files.sections("<!-- decapod:begin -->\nx\n", "AGENTS.md"))
