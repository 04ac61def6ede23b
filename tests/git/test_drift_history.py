"""A scripted history on real git: 200 entries cite code, and after each of 60 commits every citation's state is right.

What is right is said by a model that knows what was done to each cited block and nothing of how drift is found.
"""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support import PROJECT, StandingClock, git

from decapod_py.client import Decapod

COMMITS = 60
ENTRIES = 200
WORDS = [
    "anchor", "basket", "candle", "desert", "ember", "falcon", "garden", "hammer", "island", "jacket", "kettle",
    "ladder", "magnet", "needle", "orchid", "pepper", "quarry", "ribbon", "saddle", "temple", "umbra", "valley",
    "walnut", "yonder", "zephyr", "bridge", "copper", "dragon", "engine", "fabric", "glacier", "harvest",
    "ivory", "jungle", "kernel", "lantern", "meadow", "nectar", "oyster", "parcel", "quiver", "rocket",
    "silver", "tunnel", "urchin", "violet", "window", "xenon",
]  # fmt: skip

PYTHON = [
    """\
def {a}_{n}({b}, {c}=3):
    {d} = {{'{b}': {b}, "{e}":{c}}}
    for {f} in {b}:
        if {f} in {d}:
            {d}[{f}] = {c}+1
            note('{mark} {e}')
    return {d}""",
    """\
def {a}_{n}({b}):
    {c} = open_{d}({b}, retries={n}, {e}=True, {f}='{mark}', timeout={n}0, on_failure=lambda: give_up_{a}({b}))
    while {c}.{d}:
        {c}.{e}({b})
        note("{mark}")
    return {c}""",
    """\
def {a}_{n}({b}: int) -> int:
    \"\"\"Gives the {c} of a {d} {mark}.\"\"\"
    if {b} > {n}:
        {e} = {b} * {n}
        note("{mark}")
    else:
        {e} = {b} - {n}
    return {e}""",
    """\
{A}_{n} = ['{b}', '{mark}',
    '{d}', '{e}', '{f}']""",
    """\
class {a_}{n}:
    def {b}(self, {c}):
        if {c}:
            self.{d} = {c}+{n}
            note('{mark}')
        return self

    def {e}_{f}(self):
        return [ self.{d}, '{twin}' ]""",
]
MARKDOWN = [
    """\
## The {a} of {b} {n}

Every {c} has a {d}, because the {e} is {mark}.
It never has more than {n} of them.""",
    """\
## How to {a} the {b} {n}

- take the {c} to the {d}
- turn its {e} until it is {mark}
- write {n} into the {f}""",
]
SCRIPT = [
    """\
function {a}{n}({b}, {c}) {{
  const {d} = {b}.{e}({c}, '{mark}');
  if ({d} > {n}) {{
    note('{mark}');
  }}
  return {d};
}}""",
    """\
export const {a}{n} = ({b}) => {{
  while ({b}.{c}) {{
    {b}.{d}('{mark}', {n});
  }}
  return [{b}.{e}, '{f}'];
}};""",
]


class Block:
    """One function, class, constant or section, and what its parts mean: an edit gives one another meaning."""

    def __init__(self, number: int, kind: str, text: str, marks: dict[str, str]) -> None:
        self.number = number
        self.kind = kind
        self.text = text
        self.marks = marks  # of each part a word that stands nowhere else
        self.meanings = dict.fromkeys(marks, "as it was")


class File:
    def __init__(self, serial: int, path: str, blocks: list[Block]) -> None:
        self.serial = serial  # by which it is known under each of its names
        self.path = path
        self.blocks = blocks

    @property
    def text(self) -> str:
        return _gap(self.path).join(block.text for block in self.blocks) + "\n"

    def first_line(self, block: Block) -> int:
        above = self.blocks[: self.blocks.index(block)]
        return 1 + sum(one.text.count("\n") + _gap(self.path).count("\n") for one in above)


def _gap(path: str) -> str:
    return "\n\n\n" if path.endswith(".py") else "\n\n"


class Place(NamedTuple):
    """What a citation points at."""

    path: str
    first: int | None  # of lines only: a name is where it is
    text: str
    meaning: object


class Citation(NamedTuple):
    entry_id: str
    how: str  # lines, name or whole
    what: int  # number of the block, or serial of the file
    part: str | None = None


class Model:
    """The tree as the script made it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.files: list[File] = []
        self.made = 0

    def block(self, kind: str, template: str | None = None) -> Block:
        self.made += 1
        number = 100 + self.made
        words = self.chance.sample(WORDS, 6)
        chosen = template or self.chance.choice({"py": PYTHON, "md": MARKDOWN, "js": SCRIPT}[kind])
        marks = {"": f"{self.chance.choice(WORDS)}x{number}"}
        if "{twin}" in chosen:
            marks = {words[1]: marks[""], f"{words[4]}_{words[5]}": f"{self.chance.choice(WORDS)}y{number}"}
        mark, *twin = marks.values()
        names = dict(zip("abcdef", words, strict=True))
        text = chosen.format(
            **names, A=words[0].upper(), a_=words[0].title(), n=number, mark=mark, twin=twin[0] if twin else ""
        )
        return Block(number, kind, text, marks)

    def file_of(self, number: int) -> File | None:
        return next((file for file in self.files if any(block.number == number for block in file.blocks)), None)

    def place(self, citation: Citation) -> Place | None:
        if citation.how == "whole":
            return self._whole(citation.what)
        file = self.file_of(citation.what)
        if file is None:
            return None
        block = next(block for block in file.blocks if block.number == citation.what)
        if citation.part:
            return Place(file.path, None, _method(block.text, citation.part), block.meanings[citation.part])
        first = file.first_line(block) if citation.how == "lines" else None
        return Place(file.path, first, block.text, tuple(block.meanings.values()))

    def _whole(self, serial: int) -> Place | None:
        file = next((file for file in self.files if file.serial == serial), None)
        if file is None:
            return None
        return Place(file.path, None, file.text, [(block.number, *block.meanings.values()) for block in file.blocks])


def _method(text: str, name: str) -> str:
    (body,) = ast.parse(text).body
    assert isinstance(body, ast.ClassDef)
    found = next(one for one in body.body if isinstance(one, ast.FunctionDef) and one.name == name)
    return "\n".join(text.split("\n")[found.lineno - 1 : found.end_lineno])


def right_state(then: Place, now: Place | None) -> str:
    if now is None:
        return "gone"
    if now.meaning != then.meaning:
        return "changed"
    if _that_counts(now.text) != _that_counts(then.text):
        return "reformatted"
    return "ok" if (now.path, now.first) == (then.path, then.first) else "moved"


def _that_counts(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if line.strip()]


class Script:
    """Plays the history: each step changes the model and the working tree alike, and is one commit."""

    def __init__(self, top: Path, knowledge: Any, seed: int) -> None:
        self.top = top
        self.knowledge = knowledge
        self.chance = random.Random(seed)
        self.model = Model(self.chance)
        self.citations: list[Citation] = []
        self.then: dict[str, Place] = {}
        self.past: list[list[File]] = []
        self.renamed = 0

    def begin(self) -> None:
        kinds = ["py"] * 12 + ["md"] * 5 + ["js"] * 5
        for serial, kind in enumerate(kinds):
            folder = {"py": "src/app", "md": "docs", "js": "web"}[kind]
            file = File(serial, f"{folder}/{WORDS[serial]}.{kind}", [self.model.block(kind) for _ in range(8)])
            self.model.files.append(file)
        self.write()
        self.commit("Begin")

    def cite(self) -> None:
        possible = [*self._wholes(), *self._blocks()]
        wholes = [one for one in possible if one[0].how == "whole"][:16]
        others = [one for one in possible if one[0].how != "whole"]
        for citation, provenance in [*wholes, *self.chance.sample(others, ENTRIES - len(wholes))]:
            named = citation._replace(entry_id=f"cites/{len(self.citations)}")
            title = f"About {provenance}"
            self.knowledge.add(id=named.entry_id, title=title, text=title, provenance=[provenance])
            self.citations.append(named)
        for citation in self.citations:
            place = self.model.place(citation)
            assert place is not None
            self.then[citation.entry_id] = place
        self.commit("Write down what is known")

    def _wholes(self) -> list[tuple[Citation, str]]:
        return [(Citation("", "whole", file.serial), f"file:{file.path}") for file in self.model.files]

    def _blocks(self) -> list[tuple[Citation, str]]:
        found = []
        for file in self.model.files:
            for block in file.blocks:
                first = file.first_line(block)
                lines = f"file:{file.path}#L{first}-L{first + block.text.count(chr(10))}"
                found.append((Citation("", "lines", block.number), lines))
                if block.kind != "js":
                    found.append((Citation("", "name", block.number), f"file:{file.path}#{_name(block)}"))
                found += [
                    (Citation("", "name", block.number, part), f"file:{file.path}#{_name(block)}.{part}")
                    for part in block.marks
                    if part
                ]
        return found

    def step(self, number: int) -> str:
        before = deepcopy(self.model.files)
        weighted = [
            *("insert_above",) * 3,
            *("edit",) * 3,
            *("rename",) * 2,
            *("reformat",) * 2,
            *("dedent", "extend", "delete_block", "delete_file", "rename_and_edit", "reorder", "add_file"),
        ]
        name = "revert" if self.past and number % 7 == 6 else self.chance.choice(weighted)
        if name == "revert":
            self.revert(1 + number % 2)
        else:
            getattr(self, name)()
            self.past.append(before)
            self.write()
            self.commit(name)
        return name

    def some_file(self, kind: str | None = None) -> File:
        return self.chance.choice([file for file in self.model.files if kind is None or file.path.endswith(kind)])

    def insert_above(self) -> None:
        for _ in range(3):
            file = self.some_file()
            file.blocks.insert(0, self.model.block(file.blocks[0].kind))

    def edit(self) -> None:
        for _ in range(4):
            self._edit_in(self.some_file())

    def _edit_in(self, file: File) -> None:
        block = self.chance.choice(file.blocks)
        part, mark = self.chance.choice(list(block.marks.items()))
        other = f"{self.chance.choice(WORDS)}z{self.chance.randrange(1_000)}"
        block.text = block.text.replace(mark, other)
        block.marks[part] = block.meanings[part] = other

    def _noting(self) -> list[Block]:
        """Blocks with a statement that stands by itself, inside of another one."""
        return [
            block
            for file in self.model.files
            for block in file.blocks
            if any(line.strip().startswith("note(") for line in block.text.split("\n"))
        ]

    def extend(self) -> None:
        for block in self.chance.sample(self._noting(), 3):
            lines = block.text.split("\n")
            place = next(at for at, line in enumerate(lines) if line.strip().startswith("note("))
            indent = lines[place][: -len(lines[place].lstrip())]
            lines.insert(place + 1, f"{indent}again({self.chance.randrange(1_000)})" + ";" * (block.kind == "js"))
            self._set(block, lines)

    def dedent(self) -> None:
        python = [block for block in self._noting() if block.kind == "py"]
        for block in self.chance.sample(python, 3):
            lines = block.text.split("\n")
            place = next(at for at, line in enumerate(lines) if line.strip().startswith("note("))
            if lines[place + 1].strip().startswith(("else", "again")) or not lines[place].startswith("        "):
                continue
            if lines[place - 1].strip().startswith("if "):
                continue
            lines[place] = lines[place][4:]
            self._set(block, lines)

    def _set(self, block: Block, lines: list[str]) -> None:
        if "\n".join(lines) != block.text:
            part = next(iter(block.marks))
            block.text = "\n".join(lines)
            block.meanings[part] += f", then {self.chance.random()}"

    def reformat(self) -> None:
        for _ in range(2):
            self._reformat_python(self.some_file(".py"))
        file = self.some_file(".js")
        for block in file.blocks:
            block.text = _reformatted_script(block.text)

    def _reformat_python(self, file: File) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "ruff", "format", "--isolated", "--stdin-filename", "a.py", "-"],
            input=file.text,
            capture_output=True,
            text=True,
            cwd=PROJECT,
            check=True,
        )
        lines = done.stdout.split("\n")
        nodes = ast.parse(done.stdout).body
        for block, node in zip(file.blocks, nodes, strict=True):
            block.text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        assert file.text == done.stdout

    def delete_block(self) -> None:
        for _ in range(2):
            file = self.some_file()
            if len(file.blocks) > 3:
                # Never the first or the last: what comes to stand in its place later might be what became of it.
                file.blocks.remove(self.chance.choice(file.blocks[1:-1]))

    def delete_file(self) -> None:
        if len(self.model.files) > 14:
            self.model.files.remove(self.some_file())

    def add_file(self) -> None:
        self.renamed += 1
        kind = self.chance.choice(["py", "md", "js"])
        self.model.files.append(
            File(1_000 + self.renamed, f"new/{self.renamed}.{kind}", [self.model.block(kind) for _ in range(4)])
        )

    def rename(self) -> None:
        for _ in range(2):
            self._rename(self.some_file())

    def _rename(self, file: File) -> None:
        self.renamed += 1
        new = f"moved {self.renamed}/{file.path.rsplit('/', 1)[-1]}"
        (self.top / new).parent.mkdir()
        git(self.top, "mv", file.path, new)
        file.path = new

    def rename_and_edit(self) -> None:
        file = self.some_file()
        self._rename(file)
        self._edit_in(file)

    def reorder(self) -> None:
        for _ in range(2):
            file = self.some_file()
            file.blocks.append(file.blocks.pop(self.chance.randrange(len(file.blocks))))

    def revert(self, commits: int) -> None:
        commits = min(commits, len(self.past))
        git(self.top, "revert", "--no-edit", f"HEAD~{commits}..HEAD")
        self.model.files = self.past[-commits]
        del self.past[-commits:]

    def fix(self) -> None:
        """Anchors anew: from now on the citations are what they are here."""
        found = self.knowledge.drift(fix=True)
        mended = []
        for citation in self.citations:
            now = self.model.place(citation)
            if right_state(self.then[citation.entry_id], now) in ("moved", "reformatted"):
                assert now is not None
                self.then[citation.entry_id] = now
                mended.append(citation.entry_id)
        assert found["fixed"] == sorted(mended)
        self.commit("Anchor anew")
        self.past.clear()

    def write(self) -> None:
        wanted = {file.path: file.text for file in self.model.files}
        for path in git(self.top, "ls-files", "-z", "--", ":!.decapod").split("\0"):
            if path and path not in wanted:
                (self.top / path).unlink()
        for path, text in wanted.items():
            file = self.top / path
            if not file.exists() or file.read_text() != text:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)

    def commit(self, message: str) -> None:
        git(self.top, "add", "-A")
        git(self.top, "commit", "-qm", message, "--allow-empty")

    def wrong(self) -> dict[str, tuple[str, str, str]]:
        """What drift says and what it should have said, where those differ."""
        answer = self.knowledge.drift()
        said = {one["id"]: one for one in answer["citations"]}
        assert answer["checked"] == len(said) == ENTRIES
        assert sum(answer["summary"].values()) == ENTRIES
        found = {}
        for citation in self.citations:
            right = right_state(self.then[citation.entry_id], self.model.place(citation))
            one = said[citation.entry_id]
            if one["state"] != right or not self._is_where_it_says(citation, one):
                found[citation.entry_id] = (one["provenance"], f"{one['state']} at {one['now']}", right)
        return found

    def _is_where_it_says(self, citation: Citation, one: dict[str, Any]) -> bool:
        """Of a text that says what was cited, the lines are known to the last one."""
        now = self.model.place(citation)
        if now is None or citation.how != "lines" or one["state"] == "changed":
            return True
        assert now.first is not None
        last = now.first + now.text.count("\n")
        lines = f"#L{now.first}-L{last}" if last > now.first else f"#L{now.first}"
        return bool(one["now"].endswith(f"{now.path}{lines}"))


def _name(block: Block) -> str:
    first = block.text.split("\n")[0]
    if block.kind == "md":
        return first.removeprefix("## ").lower().replace(" ", "-")
    return first.removeprefix("class ").removeprefix("def ").split("(")[0].split(" ")[0].rstrip(":")


def _reformatted_script(text: str) -> str:
    lines = text.replace("'", '"').split("\n")
    return "\n".join(
        " " * (len(line) - len(line.lstrip())) + line if "function" not in line else line for line in lines
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_citation_has_the_right_state_after_every_commit(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What was seen is remembered at once and not after two seconds: then a memory that should be void shows, too.
    monkeypatch.setattr("decapod_py.storage.trees._SETTLED_AFTER", -(10**18))
    top = tmp_path / "repository"
    top.mkdir()
    git(top, "init", "-q")
    git(top, "config", "gc.auto", "0")
    with Decapod(top, clock=StandingClock()) as decapod:
        decapod.init()
        script = Script(top, decapod.knowledge, seed)
        script.begin()
        script.cite()
        assert script.wrong() == {}
        taken = set()
        for number in range(COMMITS):
            name = script.step(number)
            taken.add(name)
            assert script.wrong() == {}, f"after commit {number}: {name}"
            if number in (24, 44):
                script.fix()
                assert script.wrong() == {}, f"anchored anew after commit {number}"
    assert len(taken) == 12, sorted(taken)
