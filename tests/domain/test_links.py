"""Links as people write them, and which entry each of them means."""

from __future__ import annotations

from hashlib import sha256
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decapod_py.domain.links import (
    Ambiguous,
    Link,
    Named,
    Names,
    keys_mentioned,
    keys_of,
    keys_that_mention,
    keys_to_look_under,
    names_an_attachment,
    parse_links,
)
from decapod_py.foundation.ids import ulid

ULID = ulid(1_700_000_000_000, bytes(10))


def ours(entry_id: str, name: str) -> str:
    """A path as we give it: it ends in a short digest of the id."""
    return f"{name}-{sha256(entry_id.encode()).hexdigest()[:6]}.md"


def targets(text: str) -> list[str]:
    return [link.target for link in parse_links(text)]


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("see [[alpha]].", Link("alpha", None, None, 1)),
        ("see [[folder/alpha|the first]]", Link("folder/alpha", None, "the first", 1)),
        ("\n\nsee [[alpha#Set up]]", Link("alpha", "Set up", None, 3)),
        ("[[ alpha # Set up | it ]]", Link("alpha", "Set up", "it", 1)),
        ("[[alpha#a#b]]", Link("alpha", "a#b", None, 1)),
        ("[[alpha#^block]]", Link("alpha", "^block", None, 1)),
        ("![[alpha]]", Link("alpha", None, None, 1, embed=True)),
        ("| [[alpha\\|text]] |", Link("alpha", None, "text", 1)),
        ("[[#Set up]]", Link("", "Set up", None, 1)),
        ("[[日本語]]", Link("日本語", None, None, 1)),
        ("[[[alpha]]]", Link("alpha", None, None, 1)),
    ],
)
def test_a_link_has_a_target_a_heading_a_text_and_a_line(text: str, link: Link):
    assert parse_links(text) == [link]


@pytest.mark.parametrize("text", ["[[]]", "[[ ]]", "[[a\nb]]", "[a]", "[[a]", "\\[[a]]", "[[|text]]", "x[[", "[[a[b]]"])
def test_what_only_looks_like_a_link_is_none(text: str):
    assert parse_links(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "`[[code]]` [[real]]",
        "``a ` [[code]]`` [[real]]",
        "`over\nlines [[code]]` [[real]]",
        "```\n[[code]]\n```\n[[real]]",
        "~~~ python\n[[code]]\n```\n[[code]]\n~~~\n[[real]]",
        "````\n```\n[[code]]\n```\n[[code]]\n````\n[[real]]",
        "[[real]]\n```\n[[code]] and never closed",
        "- item\n\n  ```\n  [[code]]\n  ```\n  [[real]]",
        "- ```\n  [[code]]\n  ```\n- [[real]]",
        "> ```\n> [[code]]\n> ```\n> [[real]]",
        "> ```\n> [[code]]\n[[real]]",
        "```\n> ```\n[[code]]\n```\n[[real]]",
        "a ` alone\n\n[[real]] and ` alone",
        "\\`[[real]]\\`",
        "`` alone [[real]] ` alone",
        "``` not a fence ``` [[real]]",
    ],
)
def test_links_in_code_do_not_count(text: str):
    assert targets(text) == ["real"]


def test_lines_are_those_of_the_whole_text_code_included():
    text = "```\ncode\n```\n[[a]]\n\n`x\ny` [[b]]\n~~~\n[[no]]\n~~~\n\n[[c]] [[d]]"

    assert [(link.target, link.line) for link in parse_links(text)] == [("a", 4), ("b", 7), ("c", 12), ("d", 12)]


@given(st.text(st.sampled_from("`~[]|#!>\\- \nab"), max_size=80))
def test_no_text_moves_a_link_to_another_line(text: str):
    lines = text.split("\n")

    for link in parse_links(text):
        assert "[[" in lines[link.line - 1]


def test_a_long_text_of_open_backticks_and_brackets_takes_no_time():
    hostile = "".join("`" * (number % 300) + " [[x " for number in range(3_000)) + "[[" * 50_000

    assert parse_links(hostile) == []


def test_images_are_files_and_no_entries():
    assert [names_an_attachment(link) for link in parse_links("![[a.PNG]] [[b.pdf]] [[c.md]] [[d]]")] == [
        True,
        True,
        False,
        False,
    ]


VAULT = [
    Named("i-exact", "folder/note.md"),
    Named("i-other", "other/note.md"),
    Named("i-single", "deep/er/single.md", ("shared", "Unique Alias")),
    Named("i-top", "top.md", ("note-id-alias", "shared")),
    Named("i-nested-top", "folder/top.md"),
    Named(ULID, ours(ULID, "folder/alpha")),
    Named("i-alpha-beta", "people/release-abcdef.md", ("single", ULID, "i-top")),
    Named("single", "somewhere/else.md"),
    Named("i-gone", None, ("gone-alias",)),
]


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        # 1. the exact path
        ("folder/note", "i-exact"),
        ("folder/note.md", "i-exact"),
        ("other/note", "i-other"),
        ("top", "i-top"),  # a path, though folder/top has that file name too
        # 2. a file name, if it is the only one
        ("note", Ambiguous(("i-exact", "i-other"))),
        ("note.md", Ambiguous(("i-exact", "i-other"))),
        ("else", "single"),
        ("single", "i-single"),  # a file name before the id and the alias
        # 3. an id
        ("i-exact", "i-exact"),
        (ULID, ULID),  # an id before the alias
        ("i-top", "i-top"),
        ("i-gone", "i-gone"),
        # 4. an alias
        ("Unique Alias", "i-single"),
        ("note-id-alias", "i-top"),
        ("shared", Ambiguous(("i-single", "i-top"))),
        ("gone-alias", "i-gone"),
        # the digest is no part of a name of ours, and a file that people made keeps its name
        ("folder/alpha", ULID),
        ("alpha", ULID),
        ("alpha.md", ULID),
        (ours(ULID, "folder/alpha"), ULID),
        (ours(ULID, "alpha"), ULID),
        ("release", None),
        ("release-abcdef", "i-alpha-beta"),
        # nothing
        ("er/single", None),
        ("nothing", None),
        ("../folder/note", None),
    ],
)
def test_the_first_rule_that_matches_wins_and_the_order_of_creation_does_not_matter(target, meant):
    for order in (VAULT, VAULT[::-1], VAULT[4:] + VAULT[:4]):
        assert Names(order).resolve(target) == meant


def test_case_matters_only_where_the_exact_name_is_nobodys():
    names = Names([Named("Upper", "Note.md"), Named("lower", "x/note.md"), Named("one", "One.md", ("Two",))])

    assert names.resolve("Note") == "Upper"
    assert names.resolve("note") == "lower"  # the exact file name before a path in another case
    assert names.resolve("NOTE") == "Upper"
    assert names.resolve("X/NOTE.MD") == "lower"
    assert names.resolve("tWO") == "one"
    assert Names([Named("a", "x/Note.md"), Named("b", "y/nOte.md")]).resolve("note") == Ambiguous(("a", "b"))


def test_an_accent_is_the_same_however_it_is_written():
    assert Names([Named("a", "cafe\u0301.md")]).resolve("caf\u00e9") == "a"


def test_two_of_our_files_with_one_name_are_ambiguous_until_the_digest_or_the_id_is_given():
    first, second = ours("one", "retries"), ours("two", "retries")
    names = Names([Named("one", first), Named("two", second)])

    assert names.resolve("retries") == Ambiguous(("one", "two"))
    assert names.resolve(first.removesuffix(".md")) == "one"
    assert names.resolve("two") == "two"


def test_where_several_bear_a_name_the_one_in_use_is_meant():
    old, new = Named("one", ours("one", "retries"), in_use=False), Named("two", ours("two", "retries"))

    assert [Names(order).resolve("retries") for order in permutations([old, new])] == ["two", "two"]
    assert Names([old]).resolve("retries") == "one"


_PARTS = st.text(st.sampled_from("aAé/.-1"), min_size=1, max_size=5)
_ENTRIES = st.builds(
    lambda entry_id, path, digested, aliases: Named(
        entry_id, ours(entry_id, path) if digested else f"{path}.md" if path else None, tuple(aliases)
    ),
    st.one_of(st.just(ULID), _PARTS),
    st.one_of(st.just(""), _PARTS),
    st.booleans(),
    st.lists(_PARTS, max_size=2),
)


@given(st.lists(_ENTRIES, max_size=6, unique_by=lambda entry: entry.id), st.data())
def test_what_a_target_may_mean_is_found_by_its_keys_alone(entries: list[Named], data: st.DataObject):
    named = [name for entry in entries for name in (entry.id, entry.path or "x", *entry.aliases)]
    target = data.draw(st.one_of(_PARTS, *([st.sampled_from(named)] if named else [])))
    target = data.draw(st.sampled_from([target, target.upper(), f"{target}.md", target.removesuffix(".md")]))

    looked_at = [
        entry for entry in entries if entry.id == target.strip().upper() or keys_of(entry) & keys_to_look_under(target)
    ]
    mentioned = [entry for entry in entries if keys_that_mention(entry) & keys_mentioned([target])]

    assert Names(looked_at).resolve(target) == Names(entries).resolve(target)
    assert Names(mentioned).resolve(target) == Names(entries).resolve(target)
