"""Layout of languages with braces, where blanks between tokens mean nothing, or next to nothing.

One small lexer for all of them. What it cannot read for sure (a range that begins inside a string or a comment, markup
inside of code) is never called the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from decapod_py.domain.anchors import split_lines

_LINE = r"//[^\n]*"
_BLOCK = r"/\*.*?\*/"
_HASH = r"\#(?!\[)[^\n]*"
_DOUBLE = r'"(?!"")[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_SINGLE = r"'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
_TALL_DOUBLE = r'"[^"\\]*(?:\\.[^"\\]*)*"'  # may hold line breaks
_TALL_SINGLE = r"'[^'\\]*(?:\\.[^'\\]*)*'"
_TEMPLATE = r"`[^`\\]*(?:\\.[^`\\]*)*`"
_TEXT_BLOCK = r'"{3}.*?"{3}"*'
_DIRECTIVE = r"(?<![^\n])[ \t]*\#(?:\\\n|[^\n])*"  # of a preprocessor
_REGEX = r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*"
_NUMBER = r"\.?\d\w*(?:\.\d\w*)?(?:(?<=[eEpP])[+-]\d\w*)?"
_OPERATORS = """
>>>= <=> === !== **= <<= >>= >>> &&= ||= ??= ... ..= ..< ->* &^= <- -> => :: ++ -- && || ?? ?. ?: ** == != <= >= << >>
+= -= *= /= %= &= |= ^= ~= := .. !! &^ |>
"""
_ANY = "|".join(re.escape(operator) for operator in _OPERATORS.split())

# Where JavaScript ends a statement at the end of a line, or reads the next word otherwise.
_ENDS_AT_LINE_END = frozenset(
    {"return", "throw", "break", "continue", "yield", "async", "get", "set", "static", "accessor"}
    | {"type", "declare", "abstract", "interface", "namespace", "module", "let", "await"}
)
_OPERAND_FOLLOWS = frozenset(
    [
        "return",
        "throw",
        "typeof",
        "case",
        "in",
        "of",
        "do",
        "else",
        "void",
        "delete",
        "new",
        "instanceof",
        "yield",
        "await",
    ]
)
_NOT_CALLED = frozenset(
    ["return", "in", "match", "if", "while", "for", "let", "as", "mut", "ref", "move", "case", "is"]
)
_PAIRS = {")": "(", "]": "[", "}": "{"}


class _Language(NamedTuple):
    comments: tuple[str, ...] = (_LINE, _BLOCK)
    strings: tuple[str, ...] = (_DOUBLE, _SINGLE)
    one_quote: bool = False  # 'a' is "a"
    last_comma: str = ""  # the brackets before which a comma means nothing
    tuples: bool = False  # `(a,)` is not `(a)`
    lines: str = ""  # where the end of a line may end a statement: "javascript", "go" or "newline"
    runs: bool = False  # programs define operators of their own, so a run of signs is one
    blanks: bool = False  # style sheets: `a b` is not `ab`, nor `.a .b` `.a.b`


_SCRIPT = _Language(strings=(_DOUBLE, _SINGLE, _TEMPLATE), one_quote=True, last_comma=")]}", lines="javascript")
_C = _Language(
    comments=(_DIRECTIVE, _LINE, _BLOCK),
    strings=(
        r'(?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)"',
        _DOUBLE,
        r"(?<!\w)(?:u8|[uUL])?" + _SINGLE,
    ),
    last_comma="}",
)
_STYLE = _Language(one_quote=True, blanks=True)
_LANGUAGES = {
    "js jsx mjs cjs ts tsx mts cts": _SCRIPT,
    "java": _Language(strings=(_TEXT_BLOCK, _DOUBLE, _SINGLE), last_comma="}"),
    "c h cc cpp cxx hh hpp hxx": _C,
    "cs": _Language(
        comments=(_DIRECTIVE, _LINE, _BLOCK),
        strings=(_TEXT_BLOCK, r'(?:@\$?|\$@)"(?:[^"]|"")*"', _DOUBLE, _SINGLE),
        last_comma="]}",
    ),
    "go": _Language(strings=(_DOUBLE, _SINGLE, "`[^`]*`"), last_comma=")]}", lines="go"),
    "rs": _Language(
        strings=(
            r'b?r(?P<fence>\#*)".*?"(?P=fence)',
            "[bc]?" + _TALL_DOUBLE,
            r"b?'(?:[^'\\\n]|\\(?:[^u\n]|u\{\w*\})\w{0,2})'",
            r"'[^\W\d]\w*",
        ),
        last_comma=")]}",
        tuples=True,
    ),
    "swift": _Language(
        strings=(r'(?P<fence>\#+)"{1,3}.*?"{1,3}(?P=fence)', _TEXT_BLOCK, _DOUBLE),
        last_comma=")]",
        lines="newline",
        runs=True,
    ),
    "kt kts": _Language(strings=(_TEXT_BLOCK, _DOUBLE, _SINGLE), last_comma=")]}", lines="newline"),
    "dart": _Language(
        strings=(r"r?'{3}.*?'{3}", 'r?"{3}.*?"{3}', r"r'[^'\n]*'", r'r"[^"\n]*"', _DOUBLE, _SINGLE),
        last_comma=")]}",
        tuples=True,
    ),
    "php": _Language(comments=(_LINE, _BLOCK, _HASH), strings=(_TALL_DOUBLE, _TALL_SINGLE), last_comma=")]"),
    "css": _STYLE._replace(comments=(_BLOCK,)),
    "scss less": _STYLE,
    "json": _Language(comments=(), strings=(_DOUBLE,)),
    "jsonc": _Language(strings=(_DOUBLE,), last_comma="]}"),
    "json5": _Language(one_quote=True, last_comma="]}"),
    "proto": _Language(),
    "sql": _Language(
        comments=(r"--[^\n]*", _BLOCK),
        strings=(r"\$(?P<fence>\w*)\$.*?\$(?P=fence)\$", "'(?:[^'\\\\]|'')*'", '"[^"\\\\]*"', "`[^`]*`"),
    ),
}
_BY_ENDING = {f".{ending}": language for endings, language in _LANGUAGES.items() for ending in endings.split()}
# What these languages have and the lexer does not read: text around PHP, its here-documents; MySQL's comments.
_BEYOND = {".php": re.compile(r"\?>|<<<"), ".sql": re.compile(r"\#|\bdelimiter\b", re.IGNORECASE)}


class _Token(NamedTuple):
    kind: str
    text: str
    gap: str  # the blanks before it

    @property
    def after_line_end(self) -> bool:
        return "\n" in self.gap


class _Unsure(Exception):
    """The text begins or ends inside a string or a comment, or holds what the lexer does not read."""


def same_braces(ending: str, then: str, now: str) -> bool:
    """Whether two texts have the same tokens, as far as this language is known at all."""
    language = _BY_ENDING.get(ending)
    if language is None:
        return False
    beyond = _BEYOND.get(ending)
    if beyond and (beyond.search(then) or beyond.search(now)):
        return False
    try:
        return _significant(language, then) == _significant(language, now)
    except _Unsure:
        return False


def _significant(language: _Language, text: str) -> list[str]:
    tokens = _tokens(language, "\n".join(line.rstrip() for line in split_lines(text)))
    dropped = set(_meaningless_commas(language, tokens))
    kept = [token for place, token in enumerate(tokens) if place not in dropped]
    if language.blanks:
        return list(_with_blanks(kept))
    return list(_with_line_ends(language, kept, markup=_has_markup(language, text)))


def _tokens(language: _Language, text: str) -> list[_Token]:
    found: list[_Token] = []
    place = 0
    gap = ""
    while place < len(text):
        pattern = _lexer(language, _regex_may_follow(language, found))
        match = pattern.match(text, place)
        assert match is not None  # the last alternative takes any character
        kind = next(
            name for name in ("blank", "comment", "string", "number", "word", "sign") if match[name] is not None
        )
        place = match.end()
        if kind == "blank":
            gap += match[0]
            continue
        found.append(_Token(kind, _told(language, kind, match[0]), gap))
        gap = ""
    return found


@cache
def _lexer(language: _Language, regex_may_follow: bool) -> re.Pattern[str]:
    strings = [*([_REGEX] if regex_may_follow else []), *language.strings]
    word = r"(?:url\([^)'\"]*\)|[\w-]+)" if language.blanks else r"[\w$]+"
    number = r"(?!)" if language.blanks else _NUMBER
    run = r"[-+*/%=<>!&|^~?:@#.\\]+|" if language.runs else f"{_ANY}|"
    alternatives = {
        "blank": r"\s+",
        "comment": "|".join(language.comments) or "(?!)",
        "string": "|".join(strings),
        "number": number,
        "word": word,
        "sign": f"{run}.",
    }
    return re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in alternatives.items()), re.DOTALL)


def _regex_may_follow(language: _Language, found: list[_Token]) -> bool:
    """Whether a slash here may begin a regular expression, in which blanks count. In doubt it does."""
    if language.lines != "javascript":
        return False
    before = next((token for token in reversed(found) if token.kind != "comment"), None)
    if before is None or before.text in _OPERAND_FOLLOWS:
        return True
    return before.kind == "sign" and before.text not in ("]", "++", "--")


def _told(language: _Language, kind: str, text: str) -> str:
    """A token as it is compared."""
    if kind == "comment":
        return _comment(text)
    if kind == "sign" and (text in "'\"`" or "/*" in text or "*/" in text):
        raise _Unsure
    if kind == "string" and text.startswith('""""'):
        raise _Unsure  # some languages take any number of quotes for the fence of a text block
    if kind == "string" and text[0] == "`" and text.count("${") > text.count("}"):
        raise _Unsure  # a template inside of a template
    if kind == "string" and language.one_quote and text[0] in "'\"":
        return '"' + re.sub(r"\\(.)", _without_need, text[1:-1], flags=re.DOTALL) + '"'
    return text


def _without_need(escape: re.Match[str]) -> str:
    """A quote says the same with a backslash and without."""
    return escape[1] if escape[1] in "'\"" else escape[0]


def _comment(text: str) -> str:
    """The words of a comment, without the stars of its lines."""
    if text.lstrip().startswith("#"):
        return " ".join(text.split())  # a directive: there a blank may count
    if text.startswith("/*"):
        text = "/* " + re.sub(r"\n[ \t]*\*(?!/)", "\n", text[2:-2]) + " */"
    else:
        text = re.sub(r"^(//+|--|#+)", r"\1 ", text)
    return " ".join(text.split())


def _meaningless_commas(language: _Language, tokens: list[_Token]) -> Iterator[int]:
    """Commas that may as well be missing before a closing bracket; not in `[,]`, nor where they make a tuple."""
    open_ones: list[tuple[str, bool, int]] = []  # the bracket; whether it may be a tuple; commas so far
    before: _Token | None = None
    comma: int | None = None
    for place, token in enumerate(tokens):
        if token.kind == "comment":
            continue
        if token.text in ("(", "[", "{"):
            open_ones.append((token.text, language.tuples and token.text == "(" and not _called(before), 0))
        elif token.text in _PAIRS:
            opener, tuple_like, commas = (
                open_ones.pop() if open_ones else ("", token.text == ")" and language.tuples, 0)
            )
            fits = token.text in language.last_comma and opener in ("", _PAIRS[token.text])
            if comma is not None and fits and (not tuple_like or commas > 1):
                yield comma
        elif token.text == "," and open_ones:
            open_ones[-1] = (*open_ones[-1][:2], open_ones[-1][2] + 1)
        comma = place if token.text == "," and before is not None and before.text not in ("(", "[", "{", ",") else None
        before = token


def _called(before: _Token | None) -> bool:
    if before is None:
        return False
    return (before.kind == "word" and before.text not in _NOT_CALLED) or before.text in (">", "!")


def _has_markup(language: _Language, text: str) -> bool:
    return language.lines == "javascript" and re.search(r"</[\w>]|/>", text) is not None


def _with_line_ends(language: _Language, tokens: list[_Token], *, markup: bool) -> Iterator[str]:
    """The tokens, and a line end wherever it says something."""
    inside: list[str] = []
    before: _Token | None = None
    line_ended = False
    for place, token in enumerate(tokens):
        line_ended = line_ended or token.after_line_end
        if token.kind == "comment":
            yield token.text
            continue
        if before is not None and line_ended and _line_end_counts(language, before, token, inside):
            yield "\n"
        if markup and before is not None and _blank_counts(tokens, place, before):
            yield " "
        if token.text in _PAIRS:
            del inside[-1:]
        elif token.text in ("(", "[", "{"):
            inside.append(token.text)
        yield token.text
        before, line_ended = token, False


def _line_end_counts(language: _Language, before: _Token, token: _Token, inside: list[str]) -> bool:
    if language.lines == "javascript":
        return before.text in _ENDS_AT_LINE_END or token.text in ("++", "--")
    ends_a_statement = before.kind != "sign" or before.text in (")", "]", "}", "++", "--", "?", "!", "!!")
    if language.lines == "go":
        return ends_a_statement and token.text not in (")", "]", "}")
    if language.lines == "newline":
        return ends_a_statement and inside[-1:] not in (["("], ["["]) and token.text not in (")", "]", "}", ".", "?.")
    return False


def _blank_counts(tokens: list[_Token], place: int, before: _Token) -> bool:
    """Between the parts of JSX a blank is shown, unless it ends a line; between attributes it is nothing."""
    token = tokens[place]
    if not token.gap or token.after_line_end or token.text in ("/", ">", "/>"):
        return False
    following = tokens[place + 1].text if place + 1 < len(tokens) else ""
    if before.text in (">", "}"):
        return following != "="
    return token.text in ("<", "{") and before.kind in ("word", "number", "string")


def _with_blanks(tokens: list[_Token]) -> Iterator[str]:
    """The tokens of a style sheet, and a blank wherever there is one that can count."""
    declared = _in_declarations(tokens)
    before = ""
    for place, token in enumerate(tokens):
        beside_nothing = before in ("", "{", "}", ";", ",", "(", ">") or token.text in ("{", "}", ";", ",", ")", ">")
        beside_colon = declared[place] and (token.text == ":" or before == ":")
        if token.gap and not beside_nothing and not beside_colon and token.kind != "comment":
            yield " "
        yield token.text
        if token.kind != "comment":
            before = token.text


def _in_declarations(tokens: list[_Token]) -> list[bool]:
    """For each token whether it is in `name: value`, where blanks at the colon mean nothing; not in a selector."""
    ends = [False] * len(tokens)
    declared = False
    for place in range(len(tokens) - 1, -1, -1):
        if tokens[place].text in ("{", "}", ";"):
            declared = tokens[place].text != "{"
        ends[place] = declared
    return ends
