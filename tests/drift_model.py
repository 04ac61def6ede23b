"""A small tree of Python, JavaScript and Markdown that knows what was done to it.

Each function is a list of statements, each section a list of paragraphs, and every one of them has a number that
changes when its text does. So what has become of a citation is known without looking for its text anywhere: a
statement's lines are those that `ast` gives it (Python, which a real formatter lays out anew) or those the model wrote
(the others).
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from random import Random
from typing import NamedTuple

_NOUNS = (
    "retry", "limit", "token", "cursor", "batch", "queue", "worker", "lease", "socket", "header", "payload", "ledger",
    "anchor", "window", "budget", "ticket", "shard", "replica", "quota", "stream", "parser", "cache", "bucket",
    "region", "signal", "handle", "timer", "owner", "record",
)  # fmt: skip
_VERBS = (
    "load", "store", "merge", "split", "trim", "flush", "reset", "close", "apply", "fetch", "count", "check", "drain",
    "send", "pack", "prune",
)  # fmt: skip
_REASONS = (
    "because", "otherwise", "a", "slow", "peer", "keeps", "every", "other", "one", "waiting", "until", "the",
    "connection", "is", "dropped", "by", "the", "proxy", "in", "between", "and", "nobody", "notices", "before", "the",
    "weekly", "report", "says", "that", "half", "of", "the", "requests", "were", "answered", "twice", "which", "is",
    "what", "happened", "in", "spring", "when", "the", "second", "data", "centre", "had", "been", "added", "without",
    "telling", "anyone", "about", "it",
)  # fmt: skip

Signature = tuple[object, ...]


class Place(NamedTuple):
    """Where something stands: a file, and its lines unless it is all of it."""

    path: str
    first: int | None = None
    last: int | None = None


@dataclass
class Part:
    """A statement or a paragraph; `number` is another one once it says something else."""

    number: int
    text: str
    other: str = ""  # the same, laid out otherwise


@dataclass
class Block:
    """A function or a section. A rename changes its name and its number."""

    held: int
    name: str
    number: int
    parts: list[Part] = field(default_factory=list)
    owner: str | None = None  # its class


@dataclass
class File:
    path: str
    kind: str
    number: int  # changes when anything in it says something else
    blocks: list[Block] = field(default_factory=list)
    text: str = ""
    width: int = 72
    notes: list[str] = field(default_factory=list)  # lines at the top


class Target(NamedTuple):
    """What a citation is about: a whole file, a block by its name or by its lines, or some of a block's parts."""

    file: int
    kind: str  # whole, name, block or parts
    block: int = 0
    name: str = ""
    parts: tuple[int, ...] = ()


class Sight(NamedTuple):
    """A target as it is now."""

    place: Place
    signature: Signature
    text: str


class World:
    """All files, by a number that a rename does not change."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.files: dict[int, File] = {}
        self._numbers = count(1)
        self._came_from: dict[int, int] = {}  # which part one was written in the place of

    def snapshot(self) -> dict[int, File]:
        return deepcopy(self.files)

    def number(self) -> int:
        return next(self._numbers)

    def word(self) -> str:
        return self.random.choice(_NOUNS)

    # What there is at the beginning

    def add_python(self, path: str, functions: int) -> int:
        file = File(path, "py", self.number(), text="import json\nimport os\n\nLIMIT = 30\n")
        held = self.number()
        self.files[held] = file
        owner = f"Class{self.number()}"
        for turn in range(functions):
            self.append_function(file, owner if turn % 3 == 2 else None)
        return held

    def append_function(self, file: File, owner: str | None) -> None:
        block = self._new_function(owner)
        text = self._function_text(block)
        if owner and f"class {owner}:" in file.text:
            last = ast_of(file.text, owner).end_lineno or 1
            lines = file.text.split("\n")
            file.text = "\n".join([*lines[:last], "", *textwrap.indent(text, "    ").split("\n"), *lines[last:]])
        elif owner:
            file.text += f"\n\nclass {owner}:\n" + textwrap.indent(text, "    ") + "\n"
        else:
            file.text += f"\n\n{text}\n"
        file.blocks.append(block)

    def _new_function(self, owner: str | None) -> Block:
        name = f"{self.random.choice(_VERBS)}_{self.word()}_{self.number()}"
        block = Block(self.number(), name, self.number(), owner=owner)
        block.parts = [self.statement() for _ in range(self.random.randint(3, 7))]
        block.parts.append(Part(self.number(), self.random.choice(["return None", "return value", "return limit + 1"])))
        return block

    def _function_text(self, block: Block) -> str:
        arguments = ["self"] if block.owner else []
        arguments += [f"{self.word()}=None", f"{self.word()}_count=3"]
        body = "\n".join(part.text for part in block.parts)
        return f"def {block.name}({','.join(dict.fromkeys(arguments))}):\n{textwrap.indent(body, '    ')}"

    def statement(self) -> Part:
        """Python as somebody writes it who has no formatter."""
        one, other, third = self.word(), self.word(), self.word()
        verb, number = self.random.choice(_VERBS), self.random.randint(2, 900)
        forms = [
            f"{one} = {verb}_{other}({third}, limit = {number}, name='{one}-{other}', wait=True)",
            f"value = {{'{one}': {number}, '{other}': [{third}, {number}], \"kind\": '{verb}'}}",
            f"if {one} is None or (len({other}) > {number} and {third} != '{verb}'):\n"
            f"    {one} = {verb}({other})\n    log('{verb} {third}', {number})",
            f"for {one} in {verb}_all({other}, {number}):\n    if not {one}:\n        continue\n"
            f"    {third}.append({one}['{other}'])\n    total += {number}",
            f"{one} = [item.{other} for item in {third} if item.{verb}({number}) and item.name != '{one}']",
            f"with open_{one}('{other}.json', mode = 'r') as source:\n    {third} = json.load(source)\n"
            f"    {verb}({third})",
            f"log('{verb} {other}')",
            f"assert {one} >= {number}, '{other} must not {verb} {third}'",
            f'{one} = f"{other}-{{{third}}}-{number}"',
            f"# {' '.join(self.random.sample(_REASONS, 6))}\n{one} = {number}",
        ]
        return Part(self.number(), self.random.choice(forms))

    def add_script(self, path: str, functions: int) -> int:
        file = File(path, "js", self.number(), notes=["// What the pages share."])
        for _ in range(functions):
            name = f"{self.random.choice(_VERBS)}{self.word().title()}{self.number()}"
            parts = [self.script_statement() for _ in range(self.random.randint(3, 6))]
            file.blocks.append(Block(self.number(), name, self.number(), parts))
        return self._held(file)

    def script_statement(self) -> Part:
        one, other, verb = self.word(), self.word(), self.random.choice(_VERBS)
        number = self.random.randint(2, 900)
        text, wrapped = self.random.choice(
            [
                (
                    f"const {one} = {verb}({other}, {{ limit: {number}, name: '{one}' }});",
                    f'const {one} = {verb}({other}, {{\n  limit: {number},\n  name: "{one}",\n}});',
                ),
                (
                    f"if (!{one} || {other}.length > {number}) {{ return {verb}('{other}'); }}",
                    f'if (!{one} || {other}.length > {number}) {{\n  return {verb}("{other}");\n}}',
                ),
                (f"{other}.{verb}('{one}', {number});", f'{other}.{verb}("{one}", {number});'),
            ]
        )
        return Part(self.number(), text, wrapped)

    def add_page(self, path: str, sections: int) -> int:
        file = File(path, "md", self.number(), notes=["# The handbook"])
        for _ in range(sections):
            name = f"{self.random.choice(_VERBS).title()} the {self.word()} {self.number()}"
            parts = [self.paragraph() for _ in range(self.random.randint(1, 3))]
            file.blocks.append(Block(self.number(), name, self.number(), parts))
        return self._held(file)

    def paragraph(self) -> Part:
        words = self.random.sample(_REASONS, 12) + self.random.sample(_NOUNS, 10) + [str(self.number()), "times."]
        self.random.shuffle(words)
        return Part(self.number(), f"The {' '.join(words)} It is so.")

    def _held(self, file: File) -> int:
        held = self.number()
        self.files[held] = file
        self.write(file)
        return held

    # What is where

    def write(self, file: File) -> None:
        """Text from the model, for the kinds that no formatter writes."""
        if file.kind != "py":
            file.text = "\n".join(line for line, _, _ in _written(file)) + "\n"

    def sight(self, target: Target) -> Sight | None:
        """What the target is now, or nothing where it no longer is."""
        file = self.files.get(target.file)
        if file is None:
            return None
        if target.kind == "whole":
            return Sight(Place(file.path), (file.number,), file.text)
        block = next((block for block in file.blocks if block.held == target.block), None)
        if block is None or target.name not in ("", block.name):
            return None
        if target.kind in ("name", "block"):
            first, last = self._lines(file, block, None)
            signature: Signature = (block.number, *(part.number for part in block.parts))
            return _sight(file, first, last, signature)
        places = [place for place, part in enumerate(block.parts) if part.number in target.parts]
        if not places:
            # What replaced a part keeps its place, not its number.
            return self._replaced(file, block, target)
        spanned = block.parts[places[0] : places[-1] + 1]
        first, last = self._lines(file, block, (places[0], places[-1]))
        return _sight(file, first, last, tuple(part.number for part in spanned))

    def _replaced(self, file: File, block: Block, target: Target) -> Sight | None:
        heirs = [place for place, part in enumerate(block.parts) if self._ancestors(part.number) & set(target.parts)]
        if not heirs:
            return None
        first, last = self._lines(file, block, (heirs[0], heirs[-1]))
        return _sight(file, first, last, tuple(part.number for part in block.parts[heirs[0] : heirs[-1] + 1]))

    def _ancestors(self, number: int) -> set[int]:
        found = {number}
        while number in self._came_from:
            number = self._came_from[number]
            found.add(number)
        return found

    def _lines(self, file: File, block: Block, parts: tuple[int, int] | None) -> tuple[int, int]:
        if file.kind == "py":
            node = ast_of(file.text, block.name)
            if parts is None:
                return node.lineno, node.end_lineno or 0
            first, last = node.body[parts[0]], node.body[parts[1]]
            return first.lineno, last.end_lineno or 0
        numbers = [
            number
            for number, (_, name, part) in enumerate(_written(file), 1)
            if name == block.name and (parts is None or (part is not None and parts[0] <= part <= parts[1]))
        ]
        return numbers[0], numbers[-1]

    def targets(self) -> Iterator[Target]:
        """Everything that can be cited."""
        for held, file in self.files.items():
            yield Target(held, "whole")
            for block in file.blocks:
                if file.kind != "js":
                    yield Target(held, "name", block.held, block.name)
                yield Target(held, "block", block.held)
                for first in range(len(block.parts)):
                    for last in range(first, min(first + 3, len(block.parts))):
                        if first == last and re.fullmatch(r"return \S+|return limit \+ 1", block.parts[first].text):
                            continue  # nobody can tell one from another once what surrounds it has changed
                        numbers = tuple(part.number for part in block.parts[first : last + 1])
                        yield Target(held, "parts", block.held, parts=numbers)

    def provenance(self, target: Target) -> str:
        sight = self.sight(target)
        assert sight
        path, first, last = sight.place
        if target.kind == "whole":
            return f"file:{path}"
        if target.kind == "name":
            file = self.files[target.file]
            block = next(block for block in file.blocks if block.held == target.block)
            dotted = f"{block.owner}.{block.name}" if block.owner else block.name
            return f"file:{path}#{dotted if file.kind == 'py' else _slug(block.name)}"
        return f"file:{path}#L{first}" + (f"-L{last}" if last != first else "")

    # What can be done to it

    def any_file(self, *kinds: str) -> tuple[int, File]:
        held = self.random.choice([held for held, file in self.files.items() if file.kind in kinds])
        return held, self.files[held]

    def any_block(self, *kinds: str) -> tuple[File, Block]:
        _, file = self.any_file(*kinds)
        return file, self.random.choice(file.blocks)

    def insert_above(self, file: File) -> None:
        note = f"{self.word()} {self.word()} {self.number()}"
        if file.kind == "py":
            head, _, rest = file.text.partition("import os\n")
            file.text = f"{head}import os\n# {note}\n{note.replace(' ', '_').upper()} = 1\n{rest}"
        else:
            file.notes += [f"// {note}" if file.kind == "js" else f"A note: {note}."]
        self._changed(file)

    def insert_empty_lines(self, file: File) -> None:
        if file.kind == "py":
            head, _, rest = file.text.partition("import os\n")
            file.text = f"{head}import os\n\n\n{rest}"
        else:
            file.notes += [""]
            self.write(file)

    def edit_part(self, file: File, block: Block, *, lightly: bool) -> None:
        place = self.random.randrange(len(block.parts) - 1) if len(block.parts) > 1 else 0
        old = block.parts[place]
        node = ast_of(file.text, block.name).body[place] if file.kind == "py" else None
        if node:
            old.text = textwrap.dedent("\n".join(file.text.split("\n")[node.lineno - 1 : node.end_lineno]))
        new = self._edited(file, old, lightly=lightly)
        self._came_from[new.number] = old.number
        if node:
            self._put(file, node.lineno, node.end_lineno or 0, new.text, node.col_offset)
        block.parts[place] = new
        self._changed(file)

    def _edited(self, file: File, old: Part, *, lightly: bool) -> Part:
        if not lightly:
            return {"py": self.statement, "js": self.script_statement, "md": self.paragraph}[file.kind]()
        if re.search(r"\d", old.text):
            text, other = (
                re.sub(r"\d+", lambda match: f"{match[0]}1", part, count=1) for part in (old.text, old.other)
            )
            return Part(self.number(), text, other)
        return Part(self.number(), f"{old.text}  # {self.word()}" if file.kind == "py" else old.text.replace("e", "a"))

    def insert_part(self, file: File, block: Block) -> None:
        place = self.random.randrange(len(block.parts))
        new = {"py": self.statement, "js": self.script_statement, "md": self.paragraph}[file.kind]()
        if file.kind == "py":
            node = ast_of(file.text, block.name).body[place]
            self._put(file, node.lineno, node.lineno - 1, new.text, node.col_offset)
        block.parts.insert(place, new)
        self._changed(file)

    def delete_part(self, file: File, block: Block) -> None:
        if len(block.parts) < 2:
            return
        place = self.random.randrange(len(block.parts) - 1)
        if file.kind == "py":
            node = ast_of(file.text, block.name).body[place]
            self._put(file, node.lineno, node.end_lineno or 0, None, 0)
        del block.parts[place]
        self._changed(file)

    def dedent_part(self, file: File, block: Block) -> bool:
        """Takes the last statement out of a loop or a condition, which then is another program."""
        for place, node in enumerate(ast_of(file.text, block.name).body):
            inner = getattr(node, "body", [])
            if isinstance(node, ast.If | ast.For | ast.With) and len(inner) > 1:
                last = inner[-1]
                lines = file.text.split("\n")
                text = textwrap.dedent("\n".join(lines[last.lineno - 1 : last.end_lineno]))
                self._put(file, last.lineno, last.end_lineno or 0, text, node.col_offset)
                left = Part(self.number(), "")
                self._came_from[left.number] = block.parts[place].number
                block.parts[place : place + 1] = [left, Part(self.number(), text)]
                self._changed(file)
                return True
        return False

    def wrap_function(self, file: File, block: Block) -> None:
        """Indents a function as a whole: it says the same."""
        node = ast_of(file.text, block.name)
        lines = file.text.split("\n")
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        blanks = " " * node.col_offset
        wrapped = f"{blanks}if LIMIT:\n{textwrap.indent(text, '    ')}"
        self._put(file, node.lineno, node.end_lineno or 0, wrapped, None)
        self._changed(file)

    def move_function(self, file: File) -> None:
        """The first plain function goes to the end of its file."""
        block = next(block for block in file.blocks if not block.owner)
        node = ast_of(file.text, block.name)
        if node.col_offset:
            return
        lines = file.text.split("\n")
        if "".join(lines[node.end_lineno :]).strip():
            text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            self._put(file, node.lineno, node.end_lineno or 0, None, 0)
            file.text = file.text.rstrip("\n") + f"\n\n\n{text}\n"
            self._changed(file)

    def delete_block(self, file: File, block: Block) -> bool:
        """Takes a function or section away, unless nothing would be left of what it stands in."""
        before = file.text
        if file.kind == "py":
            node = ast_of(file.text, block.name)
            self._put(file, node.lineno, node.end_lineno or 0, None, 0)
            try:
                ast.parse(file.text)
            except SyntaxError:
                file.text = before
                return False
        file.blocks.remove(block)
        self._changed(file)
        return True

    def rename_block(self, file: File, block: Block) -> None:
        name = f"{block.name}_{self.number()}" if file.kind != "md" else f"{block.name} {self.number()}"
        if file.kind == "py":
            file.text = file.text.replace(f"def {block.name}(", f"def {name}(")
        block.name = name
        block.number = self.number()
        self._changed(file)

    def lay_out_otherwise(self, file: File) -> None:
        if file.kind == "md":
            file.width = {72: 100, 100: 60, 60: 72}[file.width]
        for block in file.blocks:
            for part in block.parts:
                if file.kind == "js":
                    part.text, part.other = part.other or part.text, part.text
        self.write(file)

    def _changed(self, file: File) -> None:
        file.number = self.number()
        self.write(file)

    def _put(self, file: File, first: int, last: int, text: str | None, indent: int | None) -> None:
        """Puts a text in the place of some lines; nothing takes them away."""
        lines = file.text.split("\n")
        new = [] if text is None else (textwrap.indent(text, " " * indent) if indent else text).split("\n")
        lines[first - 1 : last] = new
        file.text = "\n".join(lines)


def ast_of(text: str, name: str) -> ast.FunctionDef | ast.ClassDef:
    return _definitions(text)[name]


@lru_cache(maxsize=20)
def _definitions(text: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    nodes = ast.walk(ast.parse(text))
    return {node.name: node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def comparable(text: str) -> list[str]:
    """A text as the documentation says it is compared."""
    kept = [line.rstrip() for line in text.splitlines() if line.strip()]
    return textwrap.dedent("\n".join(kept)).split("\n")


def _sight(file: File, first: int, last: int, signature: Signature) -> Sight:
    return Sight(Place(file.path, first, last), signature, "\n".join(file.text.split("\n")[first - 1 : last]))


def _written(file: File) -> Iterator[tuple[str, str | None, int | None]]:
    """Each line with the block and the part that it belongs to."""
    for note in file.notes:
        yield note, None, None
    for block in file.blocks:
        yield "", None, None
        begin = f"function {block.name}(options) {{" if file.kind == "js" else f"## {block.name}"
        yield begin, block.name, None
        for place, part in enumerate(block.parts):
            if file.kind == "md":
                yield "", block.name, None
                for line in textwrap.wrap(part.text, file.width, break_on_hyphens=False):
                    yield line, block.name, place
            else:
                for line in textwrap.indent(part.text, "  ").split("\n"):
                    yield line, block.name, place
        if file.kind == "js":
            yield "}", block.name, None


def _slug(title: str) -> str:
    return title.lower().replace(" ", "-")
