"""Names inside files: where a Python symbol or a Markdown section stands.

`Client.retry` is a method of a class, `LIMIT` an assignment. Where a name is defined more than once (overloads, a
property and its setter, both branches of an `if`), the last definition is meant: it is the one that Python keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.anchors import split_lines

if TYPE_CHECKING:
    import ast

_PYTHON = (".py", ".pyi")
_MARKDOWN = (".md", ".markdown")
_LARGEST = 8_000_000  # characters; no one names a place in more

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
# What a line under which `---` stands must not be: a quote, a list item, a table row, code.
_NO_PARAGRAPH = re.compile(r" {0,3}(>|[-+*][ \t]|\d{1,9}[.)][ \t]|\||<)|\t| {4}|[ \t]*$")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_EMPHASIS = re.compile(r"(?<!\w)(_{1,3})(?=\S)([^_]+)(?<=\S)\1(?!\w)")


class Unparsable(Exception):
    """Python that does not parse: nobody can say what stands where."""


class Heading(NamedTuple):
    """A heading of a Markdown file and the section below it."""

    text: str
    level: int
    slug: str
    first: int
    last: int


class Table:
    """The names of one file and their lines."""

    def __init__(self, exact: dict[str, tuple[int, int]], spelled: dict[str, tuple[int, int]] | None = None) -> None:
        self._exact = exact
        self._spelled = spelled  # headings by their text, case-folded; symbols have one spelling only

    def find(self, name: str) -> tuple[int, int] | None:
        """The first and last line of a name."""
        if self._spelled is None:
            return self._exact.get(_identifier(name))
        found = self._exact.get(name.strip().lower())
        return found or self._spelled.get(_folded(name)) or self._spelled.get(_folded(_plain(name)))

    def names(self) -> list[str]:
        return list(self._exact)


def kinds_with_names(path: str) -> bool:
    """Whether files of this kind have names that can be cited."""
    return path.lower().endswith(_PYTHON + _MARKDOWN)


def find_symbol(path: str, text: str, name: str) -> tuple[int, int] | None:
    """The lines of a symbol or of a heading's section, or nothing; raises Unparsable."""
    return table_of(path, text).find(name)


def names_in(path: str, text: str) -> list[str]:
    """Every name a citation of this file could use; none where it does not parse."""
    try:
        return table_of(path, text).names()
    except Unparsable:
        return []


@lru_cache(maxsize=16)
def table_of(path: str, text: str) -> Table:
    """All names of a file; raises Unparsable. Many citations of one file come one after the other."""
    if path.lower().endswith(_PYTHON):
        return Table(_python_symbols(text))
    if path.lower().endswith(_MARKDOWN):
        headings = list(headings_of(text))
        spelled: dict[str, tuple[int, int]] = {}
        for heading in headings:
            for text_of in (heading.text, _plain(heading.text)):
                spelled.setdefault(_folded(text_of), (heading.first, heading.last))
        return Table({heading.slug: (heading.first, heading.last) for heading in headings}, spelled)
    return Table({})


def parsed(text: str) -> ast.Module:
    """The syntax tree of Python source. What Python says about odd escapes is for its author, not for our users."""
    import ast
    import warnings

    if len(text) > _LARGEST:
        raise Unparsable(f"it has more than {_LARGEST} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as problem:
        raise Unparsable(f"line {problem.lineno}: {problem.msg}") from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as problem:
        raise Unparsable(str(problem) or "it is nested too deeply") from None


def _python_symbols(text: str) -> dict[str, tuple[int, int]]:
    """Every dotted name with its lines, in the order of the file."""
    import ast

    found: dict[str, tuple[int, int]] = {}
    # A stack and no recursion: a chain of a thousand `elif` is a thousand deep.
    waiting: list[tuple[ast.AST, str, bool]] = [(parsed(text), "", True)]
    while waiting:
        block, prefix, binds = waiting.pop()
        for child in ast.iter_child_nodes(block):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                _note(found, prefix + child.name, first, child.end_lineno)
                waiting.append((child, f"{prefix}{child.name}.", isinstance(child, ast.ClassDef)))
            elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                # What a function assigns is its own business; a module's or a class's names are everybody's.
                for name in _assigned(child) if binds else ():
                    _note(found, prefix + name, child.lineno, child.end_lineno)  # type: ignore[union-attr]
                waiting.append((child, prefix, binds))
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _note(found: dict[str, tuple[int, int]], name: str, first: int, last: int | None) -> None:
    if name not in found or found[name][0] <= first:
        found[name] = (first, last or first)


def _assigned(statement: ast.AST) -> Iterator[str]:
    import ast

    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = list(statement.targets)
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    elif type(statement).__name__ == "TypeAlias":  # newer Pythons only
        targets = [statement.name]  # type: ignore[attr-defined]
    while targets:
        target = targets.pop()
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Tuple | ast.List):
            targets += target.elts
        elif isinstance(target, ast.Starred):
            targets.append(target.value)


def _identifier(name: str) -> str:
    """Python takes letters that look the same for the same name."""
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFKC", name)


def headings_of(text: str) -> Iterator[Heading]:
    """The headings of a Markdown text, each with its section: up to the next one of its level or a higher one."""
    lines = split_lines(text)
    found = list(_heading_lines(lines))
    slugs = _slugs([title for title, _, _ in found])
    ends = _section_ends([level for _, level, _ in found], [first for _, _, first in found], len(lines))
    for (title, level, first), slug, last in zip(found, slugs, ends, strict=True):
        while last > first and not lines[last - 1].strip():
            last -= 1
        yield Heading(title, level, slug, first, last)


def _section_ends(levels: list[int], firsts: list[int], last: int) -> list[int]:
    """For each heading the line before the next of the same or a higher level."""
    ends = [last] * len(levels)
    open_ones: list[int] = []
    for place, level in enumerate(levels):
        while open_ones and levels[open_ones[-1]] >= level:
            ends[open_ones.pop()] = firsts[place] - 1
        open_ones.append(place)
    return ends


def _heading_lines(lines: list[str]) -> Iterator[tuple[str, int, int]]:
    """Title, level and line of each heading; not what stands in code, a comment or the front matter."""
    paragraph: list[str] = []  # the lines that an underline would turn into a heading
    for number, line in _outside_code(lines):
        atx = _ATX.fullmatch(line)
        underline = _UNDERLINE.fullmatch(line)
        if atx:
            yield (atx[2] or "").strip(), len(atx[1]), number
            paragraph = []
        elif underline and paragraph:
            yield " ".join(part.strip() for part in paragraph), 1 if "=" in line else 2, number - len(paragraph)
            paragraph = []
        elif paragraph:
            paragraph = [*paragraph, line] if line.strip() else []
            # A long paragraph is no heading, and would be carried along line by line.
            if len(paragraph) > 20 or _NO_PARAGRAPH.match(line.lstrip()):
                paragraph = []
        elif not _NO_PARAGRAPH.match(line):
            paragraph = [line]


def _outside_code(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The lines that can be headings; an empty one in place of a fenced block, a comment or the front matter."""
    fence = ""
    commented = False
    start = _after_front_matter(lines)
    for number, line in enumerate(lines[start:], start + 1):
        line = line.rstrip()
        if fence:
            closing = _FENCE.fullmatch(line)
            if closing and closing[1].startswith(fence) and not closing[2].strip():
                fence = ""
            yield number, ""
        elif commented:
            commented = "-->" not in line
            yield number, ""
        elif opening := _FENCE.fullmatch(line):
            fence = opening[1]
            yield number, ""
        elif line.lstrip().startswith("<!--"):
            commented = "-->" not in line
            yield number, ""
        else:
            yield number, line


def _after_front_matter(lines: list[str]) -> int:
    if not lines or lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:1_000], 2):
        if line.rstrip() in ("---", "..."):
            return number
    return 0


def _slugs(titles: list[str]) -> list[str]:
    """The fragment GitHub gives each heading: a number tells apart what would be the same."""
    given: dict[str, int] = {}
    slugs = []
    for title in titles:
        slug = plain_slug = slug_of(title)
        while slug in given:
            given[plain_slug] += 1
            slug = f"{plain_slug}-{given[plain_slug]}"
        given[slug] = 0
        slugs.append(slug)
    return slugs


def slug_of(title: str) -> str:
    """A heading as GitHub writes it in an address."""
    kept = [character for character in _plain(title).lower() if character == " " or _in_slug(character)]
    return "".join(kept).replace(" ", "-")


def _in_slug(character: str) -> bool:
    if character.isalnum() or character in "-_":
        return True
    if character.isascii():
        return False
    from unicodedata import category

    return category(character)[0] in "LMN" or category(character) == "Pc"


def _plain(title: str) -> str:
    """A heading's text without its markup."""
    return _EMPHASIS.sub(r"\2", _TAG.sub("", _LINK.sub(r"\1", title))).replace("`", "").replace("*", "").strip()


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())
