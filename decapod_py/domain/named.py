"""What counts as the name of a path, of a line in a file, or of a symbol, and what is only an example of one."""

from __future__ import annotations

import posixpath
import re
from typing import Literal, NamedTuple

Kind = Literal["path", "line", "symbol", "make-target", "npm-script", "command"]


class Mention(NamedTuple):
    """One name in a document."""

    line: int
    kind: Kind
    text: str  # as written
    names: tuple[str, ...]  # the paths it may stand for, the parts of a symbol, or the one target or script
    at: int | None = None  # the line of the file, for `path:12`
    link: bool = False  # counted from the document's folder, as links are
    tree: int | None = None  # the first line of the drawn tree it is in


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LONGEST = 300
_CODE = words_of(
    "bash bat c cc clj cljs cpp cs css cxx dart ex exs erl go gradle groovy h hh hpp hs html ipynb java jl js jsx"
    " kt kts less lua m mjs cjs ml mli mm nim php pl pm proto ps1 py pyi pyx r rb rs scala scss sh sol sql svelte"
    " swift tcl tf thrift ts tsx vue zig zsh"
)
_OTHER_FILES = words_of(
    "adoc am cfg cnf conf config csv dockerfile env example gif graphql ico in ini jpeg jpg j2 json json5 jsonc"
    " jsonl key lock log markdown md mdc mdx mk mod patch pdf pem png properties puml rst sample svg tmpl toml tpl"
    " tsv txt webp xml yaml yml"
)
_WHOLE_NAMES = words_of(
    "Makefile GNUmakefile Dockerfile Jenkinsfile Procfile Vagrantfile Gemfile Rakefile Justfile justfile Pipfile"
    " Brewfile Tiltfile Earthfile"
)
_AT_A_LINE = re.compile(r"(.+?)(?::(\d{1,7})(?:[-:]\d{1,7})?|#L(\d{1,7})(?:C\d+)?(?:-L?\d{1,7}(?:C\d+)?)?)")
_NO_PATH = re.compile(r"""[<>{}*?$\[\]|"'\\…=,;!`\x00-\x1f]|\.\.\.|://|//|%[A-Za-z_(]|^[~#+-]|^mailto:""")
_PLACEHOLDER = re.compile(
    r"(^|/)(path/to|foo|bar|baz|qux|x+|y+|your([-_].*)?|my[-_].*|some[-_].*|any|name|file|filename|dirname|example"
    r"|placeholder|foobar|whatever|n+|YYYY.*|XXX.*|NNN.*|0001-.*)(\.\w+)?(/|$)",
    re.IGNORECASE,
)
_TOP_LEVEL_DOMAINS = words_of("com org net io dev ai app co edu gov")
_SYMBOL = re.compile(r"[~!@]?([A-Za-z_]\w*(?:(?:\.|::|#)~?[A-Za-z_]\w*)*)(\([^`]{0,200}\))?;?", re.ASCII)
_SEPARATOR = re.compile(r"\.|::|#")
_DISTINCTIVE = re.compile(
    r"_*[a-z][a-z0-9]*_\w+|_*[A-Z][A-Z0-9]*_\w+|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w*|[a-z]+[a-z0-9]*[A-Z]\w*",
    re.ASCII,
)
_SHORTEST_SYMBOL = 4


def as_path(text: str, *, blanks: bool = False) -> tuple[str, int | None] | None:
    """The path, and the line in it, that a word stands for; nothing if it is no path or only an example of one."""
    if len(text) > _LONGEST or (" " in text and not blanks) or text != text.strip():
        return None
    found = _AT_A_LINE.fullmatch(text)
    path = found[1] if found else text
    at = int(found[2] or found[3]) if found else None
    if _NO_PATH.search(path) or _PLACEHOLDER.search(path) or not _looks_like_a_path(path):
        return None
    return path, at


def _looks_like_a_path(path: str) -> bool:
    name = posixpath.basename(path.rstrip("/"))
    if name in ("", ".", ".."):
        return False
    if "/" not in path.rstrip("/"):
        return " " not in name and (has_file_extension(name) or name in _WHOLE_NAMES or path.endswith("/"))
    if path.startswith("/") or " " in path or ":" in path:  # a route, a sentence, an address
        return has_file_extension(name)
    return True


def has_file_extension(name: str) -> bool:
    _, dot, extension = name.rpartition(".")
    return bool(dot) and name != f".{extension}" and extension.lower() in _CODE | _OTHER_FILES


def is_bare(path: str) -> bool:
    """A file name without a folder: it may be a file of this repository, or of the reader's."""
    return "/" not in path


def is_telling(path: str) -> bool:
    """Whether the end of a path says enough to know the file by it, wherever it lies."""
    stem, _, extension = posixpath.basename(path).rpartition(".")
    if is_bare(path):
        return extension.lower() in _CODE and bool(re.search(r"\w[-_]\w", stem)) and len(stem) >= 8
    return has_file_extension(posixpath.basename(path))


def as_symbol(text: str) -> tuple[str, ...] | None:
    """The parts of a symbol that can be looked for: `Client.retry()` as `Client` and `retry`."""
    if len(text) > _LONGEST or "/" in text:
        return None
    found = _SYMBOL.fullmatch(text)
    if not found:
        return None
    parts = tuple(part.lstrip("~") for part in _SEPARATOR.split(found[1]))
    if parts[-1].lower() in _TOP_LEVEL_DOMAINS or _PLACEHOLDER.search("/".join(parts)):
        return None
    if len(parts) == 1 and (len(parts[0]) < _SHORTEST_SYMBOL or not (found[2] or is_distinctive(parts[0]))):
        return None
    return parts


def is_distinctive(word: str) -> bool:
    """Whether nobody would write the word but as a name: `snake_case`, `CamelCase` or `UPPER_CASE`."""
    return _DISTINCTIVE.fullmatch(word) is not None
