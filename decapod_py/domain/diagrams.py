"""Graphs as text that other programs draw. Titles come from strangers: none of them may become part of the drawing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from decapod_py.domain.text import one_line

_LONGEST_LABEL = 80
# Letters and digits of any script, blanks, and what joins two words, as in src/a.py. All else could be syntax.
_IN_MERMAID = re.compile(r"((?<=[^\W_])[-.,:/_](?=[^\W_])| )|[\W_]")

Arrow = tuple[str, str, str]  # from, to, and the word at it


def mermaid(labels: Mapping[str, str], arrows: Iterable[Arrow]) -> str:
    """A Mermaid flowchart, as forges draw it in Markdown."""
    # Ids of ours are never words of Mermaid's, such as `end`.
    numbers = {node: f"n{number}" for number, node in enumerate(labels)}
    lines = ["graph LR"]
    lines += [f'  {numbers[node]}["{_for_mermaid(label)}"]' for node, label in labels.items()]
    lines += [f"  {numbers[source]} -->|{kind}| {numbers[target]}" for source, target, kind in arrows]
    return "\n".join(lines)


def dot(labels: Mapping[str, str], arrows: Iterable[Arrow]) -> str:
    """A digraph for Graphviz."""
    lines = ["digraph knowledge {", "  rankdir=LR;", "  node [shape=box];"]
    lines += [f"  {_for_dot(node)} [label={_for_dot(_cut(label))}];" for node, label in labels.items()]
    lines += [f"  {_for_dot(source)} -> {_for_dot(target)} [label={kind}];" for source, target, kind in arrows]
    return "\n".join([*lines, "}"])


def _for_mermaid(label: str) -> str:
    return _IN_MERMAID.sub(lambda match: match[1] or f"#{ord(match[0])};", _cut(label))


def _for_dot(text: str) -> str:
    escaped = one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _cut(label: str) -> str:
    shown = one_line(label)
    return shown if len(shown) <= _LONGEST_LABEL else shown[: _LONGEST_LABEL - 1] + "…"
