"""Where the names of a file stand: Python symbols and Markdown headings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decapod_py.domain.symbols import Unparsable, find_symbol, kinds_with_names, names_in, slug_of

PYTHON = '''\
"""A module."""
import os

LIMIT = 3
NAMES: list[str] = [
    "a",
]
one, (two, *rest) = 1, (2, 3)

@decorated(
    with_="arguments",
)
def plain():
    local = 1
    def inner():
        pass
    return inner

async def later(): ...

class Client:
    timeout: float = 3.0

    @property
    def retry(self):
        return 1

    @retry.setter
    def retry(self, value):
        self.value = value

    class Inner:
        def deep(self): return 1

    if os.name == "nt":
        def platform(self): return "nt"
    else:
        def platform(self): return "posix"

try:
    from fast import loads
except ImportError:
    def loads(text):
        return text
finally:
    DONE = True

if LIMIT > 2:
    def chosen(): return 1
elif LIMIT:
    def chosen(): return 2

with open("x") as file:
    for line in file:
        LAST = line
'''

MARKDOWN = """\
---
title: not a heading
---
# Title

intro

## Usage
text
```sh
# a comment
## Usage
```
### Deep `code` and [link](http://x)
deep

## Usage
again

Setext heading
over two lines
--------------
below

<!--
# hidden
-->

Top
===

~~~
## fenced
```
~~~

| a | b |
---

    # code

## Trailing hashes ##
#no heading
####### too many
## Größe & Maß: what's `new`?
## Usage-1
"""


@pytest.mark.parametrize(
    ("name", "begins", "ends"),
    [
        ("LIMIT", "LIMIT = 3", "LIMIT = 3"),
        ("NAMES", "NAMES: list[str] = [", "]"),
        ("one", "one, (two, *rest) = 1, (2, 3)", "one, (two, *rest) = 1, (2, 3)"),
        ("rest", "one, (two, *rest) = 1, (2, 3)", "one, (two, *rest) = 1, (2, 3)"),
        ("plain", "@decorated(", "return inner"),
        ("plain.inner", "def inner():", "pass"),
        ("later", "async def later(): ...", "async def later(): ..."),
        ("Client", "class Client:", 'def platform(self): return "posix"'),
        ("Client.timeout", "timeout: float = 3.0", "timeout: float = 3.0"),
        ("Client.retry", "@retry.setter", "self.value = value"),
        ("Client.Inner.deep", "def deep(self): return 1", "def deep(self): return 1"),
        ("Client.platform", 'def platform(self): return "posix"', 'def platform(self): return "posix"'),
        ("loads", "def loads(text):", "return text"),
        ("DONE", "DONE = True", "DONE = True"),
        ("chosen", "def chosen(): return 2", "def chosen(): return 2"),
        ("LAST", "LAST = line", "LAST = line"),
    ],
)
def test_a_python_symbol_is_found_with_its_decorators_and_the_last_definition_wins(name, begins, ends):
    first, last = find_symbol("src/a.py", PYTHON, name)
    lines = [line.strip() for line in PYTHON.split("\n")]
    assert (lines[first - 1], lines[last - 1]) == (begins, ends)


@pytest.mark.parametrize("name", ["plain.local", "inner", "Client.missing", "", "os", "limit", "Client."])
def test_a_name_that_nothing_defines_is_not_found(name):
    assert find_symbol("src/a.py", PYTHON, name) is None


def test_python_symbols_are_listed_in_the_order_of_the_file():
    assert names_in("a.pyi", "b = 1\nclass A:\n    def f(self): ...\n") == ["b", "A", "A.f"]


@pytest.mark.parametrize("source", ["def f(:\n", "x = 1\n  y = 2\n", "x = '\0'", "(" * 1_000, "\ud800"])
def test_python_that_does_not_parse_is_unparsable(source):
    with pytest.raises(Unparsable):
        find_symbol("a.py", source, "f")
    assert names_in("a.py", source) == []


def test_an_odd_escape_in_the_source_is_no_warning_of_ours(recwarn):
    assert find_symbol("a.py", "x = '\\d'\n", "x") == (1, 1)
    assert not recwarn.list


def test_a_chain_of_a_thousand_branches_is_walked():
    source = "if 0:\n    pass\n" + "".join(f"elif {number}:\n    x{number} = 1\n" for number in range(300))
    assert find_symbol("a.py", source, "x299") == (602, 602)


def test_a_symbol_spelled_with_other_letters_of_the_same_look_is_found():
    assert find_symbol("a.py", "ﬁle = 1\n", "file") == find_symbol("a.py", "ﬁle = 1\n", "ﬁle") == (1, 1)


def section(text: str, name: str) -> str | None:
    found = find_symbol("README.md", text, name)
    return "\n".join(text.split("\n")[found[0] - 1 : found[1]]) if found else None


@pytest.mark.parametrize("name", ["usage", "Usage", "USAGE"])
def test_a_heading_is_found_by_slug_or_text_in_any_case(name):
    found = section(MARKDOWN, name)
    assert found is not None
    assert found.startswith("## Usage\ntext\n```sh\n# a comment")
    assert found.endswith("\ndeep")


def test_a_second_heading_of_the_same_text_has_a_number():
    assert section(MARKDOWN, "usage-1") == "## Usage\nagain"
    assert names_in("a.markdown", "# A\n# A\n# A\n# a-1\n") == ["a", "a-1", "a-2", "a-1-1"]


def test_markup_in_a_heading_is_no_part_of_its_name():
    assert section(MARKDOWN, "deep-code-and-link") == "### Deep `code` and [link](http://x)\ndeep"
    assert section(MARKDOWN, "Deep code and link") == section(MARKDOWN, "deep-code-and-link")


def test_an_underlined_heading_may_have_two_lines():
    found = section(MARKDOWN, "Setext heading over two lines")
    assert found is not None
    assert found.startswith("Setext heading\nover two lines\n------")
    assert section(MARKDOWN, "top").startswith("Top\n===\n")


def test_what_stands_in_code_comments_and_front_matter_is_no_heading():
    assert names_in("a.md", MARKDOWN) == [
        "title",
        "usage",
        "deep-code-and-link",
        "usage-1",
        "setext-heading-over-two-lines",
        "top",
        "trailing-hashes",
        "größe--maß-whats-new",
        "usage-1-1",
    ]


def test_a_section_ends_at_the_next_heading_of_its_level_or_a_higher_one():
    text = "# A\n## B\nb\n### C\nc\n\n\n## D\nd\n# E\n"
    assert section(text, "a") == "# A\n## B\nb\n### C\nc\n\n\n## D\nd"
    assert section(text, "b") == "## B\nb\n### C\nc"
    assert section(text, "e") == "# E"


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Hello, World!", "hello-world"),
        ("snake_case and _emphasis_", "snake_case-and-emphasis"),
        ("a - b", "a---b"),
        ("**Bold** `x()`", "bold-x"),
        ("日本語 ガイド", "日本語-ガイド"),
        ("हिन्दी", "हिन्दी"),
        ("<a name='x'></a>Anchor", "anchor"),
    ],
)
def test_slugs_are_those_of_github(title, slug):
    assert slug_of(title) == slug


def test_only_python_and_markdown_have_names():
    assert [kinds_with_names(path) for path in ("a.py", "A.PYI", "b.md", "c.markdown", "d.js", "Makefile")] == [
        *(True, True, True, True, False, False)
    ]
    assert find_symbol("a.js", "function f() {}", "f") is None
    assert names_in("a.js", "function f() {}") == []


@given(st.sampled_from(["a.py", "a.md"]), st.text(st.sampled_from("#=-`~ \n\tab:()'\"\\\r\0")), st.text())
def test_any_text_is_looked_through(path, text, name):
    names = names_in(path, text)
    for known in names:
        found = find_symbol(path, text, known)
        assert found and 1 <= found[0] <= found[1]
    if names:
        find_symbol(path, text, name)
