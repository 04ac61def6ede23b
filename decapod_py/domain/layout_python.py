"""Layout of Python: two texts are one program, with the same comments, if their syntax trees are the same.

A cited range may begin or end in the middle of a statement. What parses after a helping line or two is compared as a
tree; the rest token by token, where a formatter's parentheses count as a change because nobody can say what they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from keyword import kwlist, softkwlist
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.anchors import split_lines
from decapod_py.domain.symbols import Unparsable, parsed

if TYPE_CHECKING:
    import ast

_TOKEN = re.compile(
    r"""
      (?P<comment>\#[^\n]*)
    | (?P<string>[rRbBuUfFtT]{0,2}(?:
          \"{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"{3}
        | '{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'{3}
        | "(?!"")[^"\\\n]*(?:\\.[^"\\\n]*)*"
        | '(?!'')[^'\\\n]*(?:\\.[^'\\\n]*)*'))
    | (?P<number>0[xXoObB]\w+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJ]?)
    | (?P<word>\w+)
    | (?P<newline>\n[ \t\f]*)
    | (?P<blank>(?:[ \t\f]|\\\n)+)
    | (?P<operator>\*\*=?|//=?|>>=?|<<=?|!=|->|:=|\.\.\.|[-+*/%@&|^=<>]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENERS, _CLOSERS = "([{", ")]}"
_KEYWORDS = frozenset([*kwlist, *softkwlist])
_CONTINUES = {"elif": "if 1:", "else": "if 1:", "except": "try:", "finally": "try:"}


class _Token(NamedTuple):
    kind: str
    text: str
    depth: int  # in how many brackets it stands; an opener counts as outside of its own


def same_python(then: str, now: str) -> bool:
    """Whether two pieces of Python are the same but for layout."""
    if _is_cut_in_a_string(then) != _is_cut_in_a_string(now):
        return False
    if not _is_cut_in_a_string(then):
        return _same(then, now)
    mended = [(mend(then), mend(now)) for mend in (_opened, _closed)]
    return any(_same(*pair) for pair in mended if not any(map(_is_cut_in_a_string, pair)))


def _same(then: str, now: str) -> bool:
    one, other = _tokens(then), _tokens(now)
    trees = _tree(then, one), _tree(now, other)
    if trees[0] is None or trees[1] is None:
        return list(_significant(one)) == list(_significant(other))
    return (
        trees[0] == trees[1]
        and _numbers(one) == _numbers(other)
        and _placed_comments(one) == _placed_comments(other)
        and _falls(one) == _falls(other)
    )


def _opened(text: str) -> str:
    """A range that begins inside of a docstring, with the docstring's beginning."""
    closing = re.search(r"^([ \t]*)[^\n]*?(\"{3}|'{3})", text, re.MULTILINE)
    return f"{closing[1]}{closing[2]}\n{text}" if closing else text


def _closed(text: str) -> str:
    """A range that ends inside of a docstring, with the docstring's end."""
    opening = re.findall(r"\"{3}|'{3}", text)
    return f"{text}\n{opening[-1]}" if opening else text


def _is_cut_in_a_string(text: str) -> bool:
    """Whether the text begins or ends inside of a string, or is no Python at all: a quote has no other."""
    return any(kind == "operator" and shown in "'\"\\" for kind, shown in _lexed(text))


def _lexed(text: str) -> list[tuple[str, str]]:
    lines = [line.rstrip() for line in split_lines(text)]
    return [(match.lastgroup or "", match[0]) for match in _TOKEN.finditer("\n" + "\n".join(lines))]


def _tokens(text: str) -> list[_Token]:
    """The tokens of a fragment; its indentation is in the newline tokens, also the first line's."""
    return _with_depth([part for part in _lexed(text) if part[0] != "blank"])


def _with_depth(found: list[tuple[str, str]]) -> list[_Token]:
    """A fragment that closes more than it opens began inside of those brackets."""
    depth = lowest = 0
    depths = []
    for kind, shown in found:
        opens, closes = kind == "operator" and shown in _OPENERS, kind == "operator" and shown in _CLOSERS
        depth -= closes
        depths.append(depth)
        lowest = min(lowest, depth)
        depth += opens
    return [_Token(kind, shown, at - lowest) for (kind, shown), at in zip(found, depths, strict=True)]


def _tree(text: str, tokens: list[_Token]) -> str | None:
    """The syntax tree of a fragment, as text, with the lines it needs around it to parse at all."""
    import ast

    indents = _statement_indents(tokens)
    if not indents:
        return None
    lines = [line.rstrip() for line in split_lines(text)]
    lines = [*_headers(indents, tokens), *lines]
    if _ends_in_a_header(tokens):
        last = next(line for line in reversed(lines) if line and not line.lstrip().startswith("#"))
        lines.append(last[: len(last) - len(last.lstrip())] + " pass")
    try:
        module = parsed("\n".join(lines) + "\n")
        _make_plain(module, lines)
        outermost = module.body[0]
        if all(indents) and isinstance(outermost, ast.If):
            module.body = outermost.body  # the header that only gives it something to stand under
        return ast.dump(module)
    except (Unparsable, RecursionError):
        return None


def _headers(indents: list[str], tokens: list[_Token]) -> list[str]:
    """The lines under which a fragment can stand that begins inside of blocks it does not show."""
    levels = [indents[0]]
    for indent in indents:
        if _columns(indent) < _columns(levels[0]):
            levels.insert(0, indent)
    if levels[0]:
        levels.insert(0, "")
    headers = [f"{level}if 1:" for level in levels[:-1]]
    first_word = next(token.text for token in tokens if token.kind not in ("comment", "newline"))
    if first_word in _CONTINUES:
        headers += [f"{indents[0]}{_CONTINUES[first_word]}", f"{indents[0]} pass"]
    return headers


def _ends_in_a_header(tokens: list[_Token]) -> bool:
    last = next((token for token in reversed(tokens) if token.kind not in ("comment", "newline")), None)
    return last is not None and last.text == ":" and last.depth == 0


def _statement_indents(tokens: list[_Token]) -> list[str]:
    """What each logical line is indented by."""
    indents: list[str] = []
    begins: str | None = None
    for token in tokens:
        if token.kind == "newline":
            begins = token.text[1:] if token.depth == 0 else None
        elif token.kind != "comment":
            if begins is not None:
                indents.append(begins)
            begins = None
    return indents


def _columns(indent: str) -> int:
    return len(indent.replace("\f", "").expandtabs())


def _falls(tokens: list[_Token]) -> list[int]:
    """By how many columns the fragment falls below where it began: blocks it ends without having shown them.

    How deep those were nobody can tell from a tree, so the columns themselves must agree.
    """
    falls = []
    levels = [_columns(indent) for indent in _statement_indents(tokens)]
    lowest = levels[0] if levels else 0
    for level in levels:
        if level < lowest:
            falls.append(lowest - level)
            lowest = level
    return falls


def _make_plain(module: ast.Module, lines: list[str]) -> None:
    """Takes out of a tree what layout may do to it: the indentation of docstrings, `u` prefixes, `del (a, b)`."""
    import ast

    for node in ast.walk(module):
        if isinstance(node, ast.Constant):
            node.kind = None
        elif isinstance(node, ast.Delete):
            node.targets = [part for target in node.targets for part in _parts(target)]
        elif isinstance(node, ast.Expr):
            _make_plain_expression(node, lines)


def _make_plain_expression(node: ast.Expr, lines: list[str]) -> None:
    """A string that stands alone is a docstring; any other expression may be a line out of a call or a list.

    There, `(a, b)` is one argument and `a, b` are two, and without its last comma `"a", "b",` runs into the next line:
    how it begins and ends counts.
    """
    import ast
    from inspect import cleandoc

    value = node.value
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        value.value = "\n".join(part.rstrip() for part in cleandoc(value.value).split("\n")).strip()
        return
    begins = _bytes(lines[node.lineno - 1])[node.col_offset :][:1]
    ends = _bytes(lines[(node.end_lineno or 1) - 1])[: node.end_col_offset][-1:]
    if begins == b"(" or ends == b",":
        node.value = ast.Tuple([ast.Constant(begins == b"("), ast.Constant(ends == b","), value], ast.Load())


def _bytes(line: str) -> bytes:
    return line.encode("utf-8", "replace")  # a tree counts its columns in bytes


def _parts(target: ast.expr) -> list[ast.expr]:
    """`del (a, b)` is `del a, b`."""
    import ast

    return [part for item in target.elts for part in _parts(item)] if isinstance(target, ast.Tuple) else [target]


def _numbers(tokens: list[_Token]) -> list[str]:
    """A tree knows a number's value only; 0xFF that became 255 is an edit."""
    return [_number(token.text) for token in tokens if token.kind == "number"]


def _number(text: str) -> str:
    """A number as formatters write it: 0XFF, .5 and 5. have one spelling."""
    text = text.lower()
    return re.sub(r"^(?=\.)", "0", re.sub(r"\.(?!\d)", ".0", text))


def _placed_comments(tokens: list[_Token]) -> list[tuple[int, str]]:
    """Every comment with the statement it belongs to. A formatter moves it about inside of that one only."""
    comments: list[tuple[int, str]] = []
    statement = 0
    between = True  # nothing of the next statement has been seen yet
    lambdas: list[int] = []
    for token in tokens:
        if token.kind == "comment":
            # After a statement and in front of the next one are two places.
            comments.append((statement, _comment(token.text)))
            continue
        if token.kind == "newline" or token.text == ";" or _ends_header(token, lambdas):
            statement += not between and token.depth == 0
            between = between or token.depth == 0
        else:
            between = False
        if token.text == "lambda":
            lambdas.append(token.depth)
    return comments


def _ends_header(token: _Token, lambdas: list[int]) -> bool:
    if token.text != ":" or token.depth:
        return False
    if lambdas and lambdas[-1] == 0:
        lambdas.pop()
        return False
    return True


def _comment(text: str) -> str:
    """A comment as formatters write it: with a blank after its sign."""
    return re.sub(r"^(#+)[ \t]*", r"\1 ", text).rstrip()


def _significant(tokens: list[_Token]) -> Iterator[object]:
    """A fragment that does not parse, token by token, with its logical lines and their levels."""
    dropped = set(_meaningless_commas(tokens))
    levels = _Levels()
    line_begins: int | None = None
    for place, token in enumerate(tokens):
        if token.kind == "newline":
            line_begins = _columns(token.text[1:]) if token.depth == 0 else None
        elif token.kind == "comment":
            yield "comment", _comment(token.text)
        elif place not in dropped:
            if line_begins is not None:
                yield "line", levels.step(line_begins)
            line_begins = None
            yield _significance(token)


def _significance(token: _Token) -> object:
    if token.kind == "number":
        return _number(token.text)
    return _string(token.text) if token.kind == "string" else token.text


def _string(text: str) -> object:
    """What a string says, whatever its quotes; a string that computes says what is written."""
    import ast
    import warnings

    prefix = text[: len(text) - len(text.lstrip("rRbBuUfFtT"))].lower()
    if "f" in prefix or "t" in prefix:
        quote = text[len(prefix) :][:3] if text.endswith(('"""', "'''")) else text[-1]
        body = text[len(prefix) + len(quote) : -len(quote)]
        return (prefix, body) if not set(body) & set("'\"\\") else text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
    return "string", value


class _Levels:
    """Indentation as steps in and out, so that two blanks and four are the same."""

    def __init__(self) -> None:
        self._open: list[int] = []

    def step(self, indent: int) -> tuple[str, int]:
        if not self._open:
            self._open = [indent]
            return "in", 0
        if indent > self._open[-1]:
            self._open.append(indent)
            return "in", 1
        left = 0
        lowest = self._open[0]
        while self._open and self._open[-1] > indent:
            self._open.pop()
            left += 1
        if self._open and self._open[-1] == indent:
            return "out", left
        self._open.append(indent)
        return ("below", lowest - indent) if indent < lowest else ("between", indent)


def _meaningless_commas(tokens: list[_Token]) -> Iterator[int]:
    """Commas before a closing bracket that may as well be missing; `(a,)` and `x[a,]` are tuples and keep theirs."""
    # For each open bracket, also those of which the beginning is not here: whether a last comma means nothing in it,
    # and how many commas it has so far. With two of them, the last one makes no tuple.
    open_ones = [(False, 0)] * (tokens[0].depth if tokens else 0)
    before: _Token | None = None
    last_comma: int | None = None
    for place, token in enumerate(tokens):
        if token.kind in ("newline", "comment"):
            continue
        if token.kind == "operator" and token.text in _OPENERS:
            open_ones.append((_takes_a_last_comma(token.text, before), 0))
        elif token.kind == "operator" and token.text in _CLOSERS:
            free, commas = open_ones.pop()
            if last_comma is not None and (free or commas > 1):
                yield last_comma
        elif token.text == "," and open_ones:
            open_ones.append((open_ones[-1][0], open_ones.pop()[1] + 1))
        last_comma = place if token.text == "," else None
        before = token


def _takes_a_last_comma(opener: str, before: _Token | None) -> bool:
    called = before is not None and (
        (before.kind == "word" and before.text not in _KEYWORDS) or before.text in (")", "]", "}")
    )
    if opener == "(":
        return called
    return opener == "{" or (before is not None and not called and before.kind != "string")
