"""Where names are made: make targets, npm scripts, and symbols in any language that says `def`, `class` or the like."""

from __future__ import annotations

import json
import posixpath
import re
from functools import cache

MAKEFILES = ("Makefile", "makefile", "GNUmakefile", "*/Makefile", "*/makefile", "*/GNUmakefile", "*.mk", "*.make")

_RULE = re.compile(r"([^\s#:=$][^#:=$]*?)\s*::?(?![:=])")
_GENERATES_MAKEFILES = frozenset(
    {"cmakelists.txt", "makefile.am", "makefile.in", "configure", "configure.ac", "config.ru"}
)
_COMMON_TARGETS = frozenset(
    {"all", "build", "check", "clean", "dist", "distclean", "docs", "help", "html", "install", "test"}
)

_MAKES = (
    r"def|defp|defn|defmacro|defmodule|class|module|function|func|fn|fun|sub|proc|struct|enum|union|trait|interface|type"
    r"|typealias|typedef|const|let|var|val|static|record|protocol|object|namespace|message|service|rpc"
    r"|macro_rules!|data|newtype|alias|attr_\w+|CREATE TABLE(?: IF NOT EXISTS)?"
)
_NO_TYPE = (
    r"return|else|await|yield|new|throw|case|goto|not|and|or|in|if|while|assert|del|raise|print|import|from|use|go"
    r"|defer"
)

_NAME = re.compile(r"\w+(?:[:.-]+\w+)*")
_LEAST_CONTEXT = 4  # characters around a name that tell a rename from another rule of a makefile


def is_makefile(path: str) -> bool:
    name = posixpath.basename(path)
    return name in ("Makefile", "makefile", "GNUmakefile") or name.endswith((".mk", ".make"))


def make_targets(line: str) -> list[str]:
    """The targets that a line of a makefile has rules for."""
    found = _RULE.match(line)
    return found[1].split() if found else []


def leaves_makefiles_to_a_tool(path: str) -> bool:
    """Whether the file is where a build tool makes makefiles from: then common targets come out of nowhere."""
    return posixpath.basename(path).lower() in _GENERATES_MAKEFILES


def is_common_target(target: str) -> bool:
    return target in _COMMON_TARGETS


def npm_scripts(text: str) -> frozenset[str]:
    """The names of the scripts in a package.json; none where it is no JSON."""
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return frozenset()
    scripts = package.get("scripts") if isinstance(package, dict) else None
    return frozenset(scripts) if isinstance(scripts, dict) else frozenset()


@cache
def definition_of(name: str) -> re.Pattern[str]:
    """What a line looks like that makes this symbol."""
    word = re.escape(name)
    return re.compile(
        rf"(?:\b(?:{_MAKES})|#\s*define)\s+(?:\([^()]*\)\s*|[*&]+|self\.)?(?:\w+(?:\.|::|#))?{word}(?!\w)"
        rf"|^\s*(?:export\s+|self\.|this\.|pub\s+|public\s+|private\s+|protected\s+|final\s+|static\s+|readonly\s+)*{word}"
        rf"\s*(?::[^=(]*)?=(?!=)"
        rf"|^\s*(?:async\s+|static\s+|get\s+|set\s+|public\s+|private\s+|protected\s+)*{word}\s*\([^()]*\)\s*(?::[^{{]*)?\{{"
        rf"|^\s*(?!(?:{_NO_TYPE})\b)[A-Za-z_][\w:<>,*&\[\] ]*[\s*&]{word}\s*\([^;]*$"
        rf"|^{word}\s*\(\)"
    )


def renamed_in(line: str, name: str, added: list[str]) -> str | None:
    """The new name, where the same change wrote the same line with just one other name in its place."""
    before, _, after = line.partition(name)
    if len((before + after).strip()) < _LEAST_CONTEXT:
        return None
    names = {
        other[len(before) : len(other) - len(after)]
        for other in added
        if len(other) > len(before) + len(after) and other.startswith(before) and other.endswith(after)
    }
    found = names.pop() if len(names) == 1 else ""
    return found if found != name and _NAME.fullmatch(found) else None
