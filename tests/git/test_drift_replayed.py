"""Histories of long files that look alike, for the long run: after each commit every state is what was done to it.

`test_drift_history` asks the same of a tree of short files. Here functions are renamed, wrapped, put elsewhere and
replaced, files are longer than what an anchor keeps of them, and people reaffirm what changed or cite something else.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from drift_model import File, Sight, Target, World, comparable
from support import git

from decapod_py.client import Decapod

ENTRIES, COMMITS = 200, 60


class Cited(NamedTuple):
    """A citation as the test knows it: what it is about, and what that was when it was last found right."""

    target: Target
    then: Sight


class History:
    """A repository, the model of its files, and the entries that cite them."""

    def __init__(self, top: Path, seed: int) -> None:
        self.top = top
        self.world = World(seed)
        self.random = self.world.random
        self.cited: dict[str, Cited] = {}
        self.done: list[str] = []
        self.replaced_by: dict[int, int] = {}
        self._earlier: list[dict[int, File]] = []
        git(top, "init", "-q")
        for number in range(6):
            self.world.add_python(f"src/part{number}/module_{number}.py", 7)
        self.world.add_script("web/pages.js", 6)
        self.world.add_script("web/forms.js", 5)
        self.world.add_page("docs/handbook.md", 7)
        self.world.add_page("docs/on call/übergabe.md", 5)
        self.decapod = Decapod(top, actor="Ada")
        self.decapod.init()
        self.commit("Begin")

    def commit(self, message: str) -> None:
        """Brings the files on disk in line with the model, and commits all."""
        wanted = {file.path: file for file in self.world.files.values()}
        for listed in git(self.top, "ls-files", "-z", "src", "web", "docs").split("\0"):
            if listed and listed not in wanted:
                (self.top / listed).unlink(missing_ok=True)
        for path, file in wanted.items():
            place = self.top / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists() or place.read_text() != file.text:
                place.write_text(file.text)
        git(self.top, "add", "-A")
        git(self.top, "commit", "-qm", message, "--allow-empty")
        self._earlier.append(self.world.snapshot())
        self.done.append(message)

    # The entries

    def cite_something(self, entry_id: str) -> None:
        """Adds an entry, or has one cite something else."""
        by_kind: dict[str, list[Target]] = {}
        for target in self.world.targets():
            by_kind.setdefault(target.kind, []).append(target)
        target = self.random.choice(by_kind[self.random.choice(["whole", "name", "name", "block", "parts", "parts"])])
        sight = self.world.sight(target)
        assert sight
        provenance = self.world.provenance(target)
        if entry_id in self.cited:
            self.decapod.knowledge.edit(id=entry_id, provenance=[provenance])
        else:
            self.decapod.knowledge.add(
                id=entry_id, title=f"About {provenance}", text=f"What {entry_id} says.", provenance=[provenance]
            )
        self.cited[entry_id] = Cited(target, sight)

    def expected(self, entry_id: str) -> str:
        target, then = self.cited[entry_id]
        now = self.world.sight(target)
        if now is None:
            # Whatever has the name of a whole file is what became of it.
            return "changed" if target.kind == "whole" and self._is_replaced(target.file) else "gone"
        if now.signature != then.signature:
            return "changed"
        if comparable(now.text) != comparable(then.text):
            return "reformatted"
        by_name = target.kind in ("whole", "name")
        stayed = now.place.path == then.place.path if by_name else now.place[:2] == then.place[:2]
        return "ok" if stayed else "moved"

    def _is_replaced(self, held: int) -> bool:
        while held in self.replaced_by:
            held = self.replaced_by[held]
        return held in self.world.files

    def check(self) -> Counter[str]:
        """Compares every citation with what was done to it."""
        answer = self.decapod.knowledge.drift(limit=10_000)
        found = {one["id"]: one for one in answer["citations"]}
        assert set(found) == set(self.cited)
        wrong = []
        for entry_id, one in sorted(found.items()):
            expected = self.expected(entry_id)
            if one["state"] != expected or not self._is_there(entry_id, one):
                wrong.append(self._complaint(entry_id, one, expected))
        assert not wrong, f"after {self.done[-3:]}: {len(wrong)} of {len(found)}\n\n" + "\n\n".join(wrong[:5])
        return Counter(one["state"] for one in found.values())

    def _is_there(self, entry_id: str, one: Any) -> bool:
        """Whether it says where what is still the same stands now."""
        if one["state"] not in ("ok", "moved"):
            return True
        now = self.world.sight(self.cited[entry_id].target)
        assert now
        return one["now"] == self.world.provenance(self.cited[entry_id].target)

    def _complaint(self, entry_id: str, one: Any, expected: str) -> str:
        target, then = self.cited[entry_id]
        now = self.world.sight(target)
        return (
            f"{entry_id} {target} is {one['state']} at {one['now']}, not {expected}\n"
            f"--- then {then.place}\n{then.text[:1500]}\n"
            f"--- now {now.place if now else None}\n{now.text[:1500] if now else ''}"
        )

    # What happens to them

    def fix(self) -> None:
        answer = self.decapod.knowledge.drift(fix=True)
        mended = sorted(entry_id for entry_id in self.cited if self.expected(entry_id) in ("moved", "reformatted"))
        assert answer["fixed"] == mended
        self._right_now(mended)

    def renew(self) -> None:
        """People look: what changed is reaffirmed or cited anew, what is gone is replaced."""
        for entry_id in sorted(self.cited):
            state = self.expected(entry_id)
            if state == "changed" and self.world.sight(self.cited[entry_id].target) and self._is_whole(entry_id):
                self.decapod.knowledge.reaffirm(ids=[entry_id], reason="It still holds.")
                self._right_now([entry_id])
            elif state in ("changed", "gone"):
                self.cite_something(entry_id)

    def _is_whole(self, entry_id: str) -> bool:
        return self.cited[entry_id].target.kind in ("whole", "name")

    def _right_now(self, entry_ids: list[str]) -> None:
        for entry_id in entry_ids:
            now = self.world.sight(self.cited[entry_id].target)
            assert now
            self.cited[entry_id] = self.cited[entry_id]._replace(then=now)

    # What happens to the files

    def rename(self) -> None:
        _, file = self.world.any_file("py", "js", "md")
        folder, _, name = file.path.rpartition("/")
        file.path = (
            f"{folder}/moved {self.world.number()}/{name}"
            if self.random.random() < 0.5
            else (f"{folder}/{self.world.number()}_{name}")
        )

    def rename_and_edit(self) -> None:
        self.rename()
        held = self.random.choice(list(self.world.files))
        self.world.edit_part(self.world.files[held], self.random.choice(self.world.files[held].blocks), lightly=True)

    def insert_above(self) -> None:
        self.world.insert_above(self.world.any_file("py", "js", "md")[1])

    def insert_empty_lines(self) -> None:
        self.world.insert_empty_lines(self.world.any_file("py", "js", "md")[1])

    def format(self) -> None:
        """A real formatter over all Python files."""
        width = self.random.choice(["60", "88", "120"])
        paths = [self.top / file.path for file in self.world.files.values() if file.kind == "py"]
        command = [sys.executable, "-m", "ruff", "format", "--quiet", "--isolated", f"--line-length={width}"]
        subprocess.run([*command, *map(str, paths)], check=True, capture_output=True)
        for file in self.world.files.values():
            if file.kind == "py":
                file.text = (self.top / file.path).read_text()
        self.done.append(f"format {width}")

    def lay_out_otherwise(self) -> None:
        self.world.lay_out_otherwise(self.world.any_file("js", "md")[1])

    def edit(self) -> None:
        self.world.edit_part(*self.world.any_block("py", "js", "md"), lightly=False)

    def edit_lightly(self) -> None:
        self.world.edit_part(*self.world.any_block("py", "js", "md"), lightly=True)

    def insert(self) -> None:
        self.world.insert_part(*self.world.any_block("py", "js", "md"))

    def delete(self) -> None:
        self.world.delete_part(*self.world.any_block("py", "js", "md"))

    def delete_block(self) -> None:
        self.world.delete_block(*self.world.any_block("py", "js", "md"))

    def rename_block(self) -> None:
        self.world.rename_block(*self.world.any_block("py", "js", "md"))

    def dedent(self) -> None:
        while not self.world.dedent_part(*self.world.any_block("py")):
            pass

    def wrap(self) -> None:
        self.world.wrap_function(*self.world.any_block("py"))

    def move(self) -> None:
        self.world.move_function(self.world.any_file("py")[1])

    def delete_file(self) -> None:
        held, _ = self.world.any_file("py", "js", "md")
        del self.world.files[held]

    def replace_file(self) -> None:
        """Another file under the same name."""
        held, file = self.world.any_file("py")
        del self.world.files[held]
        self.replaced_by[held] = self.world.add_python(file.path, 5)

    def revert(self) -> None:
        """git itself takes the last commit back."""
        if self.done[-1] == "revert":
            return
        git(self.top, "revert", "--no-edit", "--no-commit", "HEAD")
        git(self.top, "revert", "--quit")
        self.world.files = self._earlier[-2]
        self._earlier[-2] = self.world.snapshot()


# Every fourth commit is a format, a rename or a revert; files are taken away as rarely as people do it.
SCRIPT = (
    "insert_above", "edit", "format", "rename", "insert", "edit_lightly", "delete_file", "revert", "wrap", "dedent",
    "lay_out_otherwise", "insert_above", "rename_and_edit", "edit", "delete", "format", "rename_block", "move",
    "insert_empty_lines", "delete_block", "revert", "rename", "edit_lightly", "format", "dedent", "insert", "rename",
    "lay_out_otherwise", "delete", "replace_file",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 6])
def test_every_state_is_right_after_every_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    # Everything is remembered at once: what is remembered must be right, too.
    monkeypatch.setattr("decapod_py.storage.trees._SETTLED_AFTER", -(1 << 60))
    top = tmp_path / "repository"
    top.mkdir()
    history = History(top, seed)
    for number in range(ENTRIES):
        history.cite_something(f"note/{number}")
    assert history.check() == {"ok": ENTRIES}
    seen: Counter[str] = Counter()
    for turn in range(COMMITS):
        name = SCRIPT[turn % len(SCRIPT)]
        operation: Callable[[], None] = getattr(history, name)
        operation()
        history.commit(name)
        seen += history.check()
        if turn % 10 == 9:
            history.fix()
            history.check()
        if turn % 15 == 14:
            history.renew()
            history.check()
    history.decapod.close()
    assert min(seen[state] for state in ("ok", "moved", "reformatted", "changed", "gone")) > 50
