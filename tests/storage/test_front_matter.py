"""Front matter and body: one state is one byte string, and what people leave behind is read or refused."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from decapod_py.domain.text import tidy
from decapod_py.storage.front_matter import Damaged, conflict_sides, parse, render, unknown_lines

texts = st.text(st.characters(exclude_categories=["Cs"]))
awkward = st.sampled_from(
    [
        *[
            "yes",
            "No",
            "ON",
            "off",
            "y",
            "N",
            "true",
            "False",
            "null",
            "Null",
            "~",
            "",
            " ",
            "=",
            "<<",
            ".inf",
            "-.INF",
            ".nan",
        ],
        *[
            "1",
            "1.0",
            "-1",
            "+1",
            "1e5",
            "1.0e+5",
            "0x1f",
            "0o17",
            "017",
            "0b1",
            "1_000",
            "12:30",
            "12:30:45.5",
            "0",
            ".",
        ],
        *["2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01 00:00:00", "01234567890123456789012345", "1234e5"],
        *[
            "- x",
            "-",
            "---",
            "...",
            "? x",
            "a: b",
            "a:",
            "a #b",
            "#",
            "#tag",
            "a:b",
            ":a",
            "[a]",
            "{a: b}",
            "&a",
            "*a",
            "!a",
        ],
        *[
            "%a",
            "@a",
            "`a`",
            "|",
            ">",
            "'a'",
            '"a"',
            "it's",
            "a\\b",
            " a",
            "a ",
            "\ta",
            "a\t",
            "a  b",
            "a\nb",
            "a\n",
            "\na",
        ],
        *[
            "a\rb",
            "a\r\nb",
            "\x85",
            "a\u2028b",
            "a\u2029b",
            "\ufeff",
            "\ufeffa",
            "\x00",
            "\x1b[0m",
            "\x7f",
            "\x9b",
            "\ufffe",
        ],
        *["\U0001f600", "\U0001fffe", "a\u202eb", "日本語", "½", "a, b", "[[wiki|link]]", "01JABCDEFGHJKMNPQRSTVWXYZ0"],
        *["file:src/a.py#L3-L9", "url:https://a.b/c?d=e&f#g", "cmd:git log --oneline"],
    ]
)
scalars = texts | awkward
values = scalars | st.lists(scalars) | st.integers() | st.floats(allow_nan=False)
names = st.from_regex(r"[a-z][a-z_]{0,10}x", fullmatch=True)  # no word that YAML reads as something else
all_fields = st.dictionaries(names, values, max_size=5).map(lambda fields: list(fields.items()))


def header_of(data: bytes) -> str:
    return data.decode().split("\n---\n")[0].removeprefix("---\n")


@given(all_fields, texts | awkward)
@example([("title", "a")], "---\nid: other\n---\n")
@example([("title", "a")], "\n \n    code\n\n")
def test_what_is_written_is_what_is_read(fields, body):
    data = render(fields, body)

    assert parse(data, markers_are_text=True) == (dict(fields), tidy(body))


@given(all_fields, texts | awkward)
def test_writing_again_what_was_read_changes_no_byte(fields, body):
    data = render(fields, body)
    read, read_body = parse(data, markers_are_text=True)

    assert render(list(read.items()), read_body) == data


@given(st.lists(values, min_size=1, max_size=3), st.sampled_from(["SafeLoader", "CSafeLoader"]))
def test_every_value_survives_the_standard_safe_loader(written, loader):
    data = render([(f"key{number}x", value) for number, value in enumerate(written)], "")

    read = yaml.load(header_of(data), Loader=getattr(yaml, loader))

    assert list(read.values()) == written
    assert [type(value) for value in read.values()] == [type(value) for value in written]


@given(all_fields, texts)
def test_a_file_with_windows_line_ends_reads_the_same(fields, body):
    data = render(fields, body)

    assert parse(data.replace(b"\n", b"\r\n"), markers_are_text=True) == parse(data, markers_are_text=True)


@given(texts)
def test_tidying_twice_is_tidying_once(text):
    once = tidy(text)

    assert tidy(once) == once
    assert "\r" not in once


def test_tidying_keeps_the_indent_of_the_first_line_and_line_ends_within():
    assert tidy("\r\n \t\r\n    code  \r\rmore \t\n\n") == "    code  \n\nmore"


def test_the_layout_is_plain_where_that_is_safe():
    fields = [
        ("id", "01JABCDEFGHJKMNPQRSTVWXYZ0"),
        ("title", "Don't retry (ever), über 3 times"),
        ("provenance", ["file:src/a.py#L3-L9", "cmd:git log --oneline"]),
        ("tags", []),
        ("confidence", 0.8),
        ("tiny", 1e-05),
        ("answer", "no"),
        ("created_at", "2026-01-01T00:00:00.000Z"),
    ]

    assert render(fields, "\nThe body.\n").decode() == (
        "---\n"
        "id: 01JABCDEFGHJKMNPQRSTVWXYZ0\n"
        "title: Don't retry (ever), über 3 times\n"
        "provenance:\n"
        "  - file:src/a.py#L3-L9\n"
        "  - cmd:git log --oneline\n"
        "tags: []\n"
        "confidence: 0.8\n"
        "tiny: 1.0e-05\n"
        'answer: "no"\n'
        'created_at: "2026-01-01T00:00:00.000Z"\n'
        "---\n"
        "\n"
        "The body.\n"
    )


def test_an_empty_body_leaves_just_the_front_matter():
    assert render([("id", "a")], " \n\n") == b"---\nid: a\n---\n"


def test_text_that_would_mislead_a_reviewer_is_written_as_escapes():
    assert render([("title", "a\u202eb\ufeff\x85")], "") == b'---\ntitle: "a\\u202eb\\ufeff\\x85"\n---\n'


def test_no_text_hides_in_a_file_as_a_line_of_its_own():
    data = render([("title", "a\n---\nb"), ("tags", ["\n---\n"])], "c")

    assert parse(data) == ({"title": "a\n---\nb", "tags": ["\n---\n"]}, "c")


@pytest.mark.parametrize("loader", ["C", "pure Python"])
def test_what_people_write_is_read_as_they_see_it(monkeypatch, loader):
    if loader == "pure Python":
        monkeypatch.delattr(yaml, "CBaseLoader")
    data = (
        b"\xef\xbb\xbf--- \n"
        b"title: 12:30\n"
        b"created_at: 2026-01-01T00:00:00Z\n"
        b"answer: no\n"
        b"tags: [a, 'b', 3]\n"
        b"empty:\n"
        b"draft: true\n"
        b"code: 007\n"
        b"weight: .5\n"
        b"count: -4\n"
        b"2024: good\n"
        b"nested: {a: {b: c}}\n"
        b"text: |\n"
        b"  one\n"
        b"  two\n"
        b"# a comment\n"
        b"---\t\n"
        b"Body.\n"
    )

    assert parse(data) == (
        {
            "title": "12:30",
            "created_at": "2026-01-01T00:00:00Z",
            "answer": "no",
            "tags": ["a", "b", 3],
            "empty": None,
            "draft": True,
            "code": "007",
            "weight": 0.5,
            "count": -4,
            "2024": "good",
            "nested": {"a": {"b": "c"}},
            "text": "one\ntwo\n",
        },
        "Body.",
    )


def test_a_file_without_front_matter_is_all_body():
    assert parse(b"\n# Title\n\n---\n\nText\n") == ({}, "# Title\n\n---\n\nText")


@pytest.mark.parametrize("header", ["", "\n", "# only a comment\n"])
def test_empty_front_matter_has_no_fields(header: str):
    assert parse(f"---\n{header}---\nBody".encode()) == ({}, "Body")


def test_infinities_and_nan_are_numbers():
    fields, _ = parse(render([("a", math.inf), ("b", -math.inf), ("c", math.nan)], ""))

    assert (fields["a"], fields["b"]) == (math.inf, -math.inf)
    assert math.isnan(fields["c"])


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"", "empty", 1),
        (b" \r\n\t", "empty", 1),
        (bytes(4096), "empty", 1),
        (b"---\nid: a\n---\n\n\xff\n", "not-utf8", 5),
        ("---\nid: a\n---\n".encode("utf-16"), "not-utf8", 1),
        (b"---", "unclosed", 1),
        (b"---\nid: a\n", "unclosed", 1),
        (b"---\nid: a\ntags: [\n---\n", "bad-yaml", 4),
        (b"---\nid: a\n  b: c\n---\n", "bad-yaml", 3),
        (b"---\nid: a\x07\n---\n", "bad-yaml", 1),
        (b"---\nid: a\n...\nb: c\n---\n", "bad-yaml", 4),
        (b"---\n? [a]\n: b\n---\n", "bad-yaml", 2),
        (b"---\na: &x [b]\nc: *x\n---\n", "bad-yaml", 3),
        (b"---\na: &x [*x]\n---\n", "bad-yaml", 2),
        (b"---\na: " + b"[" * 200_000 + b"\n---\n", "bad-yaml", 2),
        (b"---\nid: a\nid: b\n---\n", "duplicate-key", 3),
        (b"---\na:\n  b: 1\n  'b': 2\n---\n", "duplicate-key", 4),
        (b"---\n- a\n---\n", "not-a-mapping", 2),
        (b"---\n\njust text\n---\n", "not-a-mapping", 3),
        (b"---\nid: a\n<<<<<<< HEAD\ntitle: b\n=======\ntitle: c\n>>>>>>> x\n---\n", "conflict-markers", 3),
        (b"---\r\nid: a\r\n---\r\n\r\n>>>>>>> left over\r\n", "conflict-markers", 5),
    ],
)
def test_damage_has_a_code_and_a_line(data: bytes, code: str, line: int):
    with pytest.raises(Damaged) as damage:
        parse(data)

    assert (damage.value.code, damage.value.line) == (code, line)
    assert "\n" not in damage.value.message


@given(st.binary())
@example(b"---\n!!int x: !!bool y\n---\n")
@example(b"---\na: !!timestamp x\n---\n")
def test_any_bytes_are_read_or_damage(data: bytes):
    try:
        fields, body = parse(b"---\n" + data)
    except Damaged:
        return
    assert all(isinstance(name, str) for name in fields)
    assert tidy(body) == body


def test_a_heading_underlined_with_seven_equals_signs_is_no_conflict():
    assert parse(b"---\nid: a\n---\n\nHeading\n=======\n") == ({"id": "a"}, "Heading\n=======")


def test_a_conflict_splits_into_the_two_full_texts():
    data = b"a\r\n<<<<<<< HEAD\r\nb1\r\n||||||| base\r\nb0\r\n=======\r\nb2\r\n>>>>>>> other\r\nc\r\n"

    assert conflict_sides(data) == (b"a\nb1\nc\n", b"a\nb2\nc\n")


@pytest.mark.parametrize(
    "data",
    [
        b"<<<<<<< HEAD\na\n",
        b"<<<<<<< HEAD\na\n=======\nb\n",
        b"a\n>>>>>>> other\n",
        b"<<<<<<< HEAD\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n",
    ],
)
def test_markers_that_do_not_pair_up_have_no_sides(data: bytes):
    assert conflict_sides(data) is None


@pytest.mark.parametrize(
    ("header", "others"),
    [
        ('{"title":"J","x y":["w"],"tags":["m"]}', 'x y: ["w"]'),
        ('{title: J, q: "a  b", day: 2026-01-01,\n  r: [1,\n  2], s: }', 'q: "a  b"\nday: 2026-01-01\nr: [1, 2]\ns:'),
        ("# mine\n{title: J, q: 1}", "# mine\nq: 1"),
        ("meta: {a: 1,\ntitle: h, b: 2}\ntags: [t]", "meta: {a: 1,\ntitle: h, b: 2}"),
        ("  title: J\n  q:\n    - a", "q:\n  - a"),
        ('q: "a\n# b"\ntitle: J', 'q: "a\n# b"'),
        ("q: |\n  a\n  # b\n\n  title: c\n# ours\ntitle: J", "q: |\n  a\n  # b\n\n  title: c"),
        ("? q\n: a\ntitle: J", "? q\n: a"),
        ('{"title": "\U0001f600", "\u00e9": "\U0001f600"}', '\u00e9: "\U0001f600"'),
    ],
)
def test_other_keys_are_taken_whole(header: str, others: str):
    assert unknown_lines(f"---\n{header}\n---\n".encode(), ["title", "tags"]) == others


@pytest.mark.parametrize("header", ["{m: {a: 1, # c\n b: 2}}", '{m: "a\n\n b"}', 'm: "a\n---b"'])
def test_other_keys_that_would_change_below_ours_are_damage(header: str):
    with pytest.raises(Damaged, match="begin a line with each key"):
        unknown_lines(f"---\n{header}\n---\n".encode(), ["title", "tags"])


_PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
_NESTED = st.recursive(
    _PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)


@given(
    st.dictionaries(st.sampled_from(["title", "tags", "q", "x y", "z"]), _NESTED),
    st.sampled_from([True, False, None]),
)
def test_other_keys_mean_the_same_below_ours_or_are_damage(fields, flow):
    data = f"---\n{yaml.safe_dump(fields, default_flow_style=flow, allow_unicode=True)}---\n".encode()
    try:
        wanted = {name: value for name, value in parse(data)[0].items() if name not in ("title", "tags")}
        others = unknown_lines(data, ["title", "tags"])
    except Damaged:
        return
    assert parse(render([("title", "J")], "", others))[0] == {"title": "J", **wanted}


def test_nothing_heavy_is_imported_before_a_file_is_parsed():
    script = (
        "import sys; before = set(sys.modules);"
        "import decapod_py.views.markdown, decapod_py.domain.naming;"
        "print(*sorted({'yaml', 'pydantic', 'dataclasses', 'pathlib'} & (set(sys.modules) - before)))"
    )

    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == ""
