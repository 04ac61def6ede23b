"""What drift, why and standing say once files were laid out anew, replaced, renamed or packed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support import decapod, git, run

PREAD = os.pread
FUNCTION = """def load_{0}(path, limit={0}):
    if not path or limit > {0}00:
        raise ValueError('no path for {0}', path)
    return read(path, mode = 'r', limit=limit)
"""


@pytest.fixture
def code(repository: Path) -> Path:
    """A module that is longer than what an anchor keeps of a text."""
    (repository / "src" / "loading.py").write_text("\n\n".join(FUNCTION.format(number) for number in range(1, 31)))
    commit(repository, "Load things")
    return repository


def commit(repository: Path, message: str) -> None:
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", message)


def cite(knowledge: Any, entry_id: str, provenance: str) -> None:
    knowledge.add(id=entry_id, title=f"About {entry_id}", text=f"What {entry_id} says.", provenance=[provenance])


def only(knowledge: Any, **wanted: Any) -> Any:
    (one,) = knowledge.drift(**wanted)["citations"]
    return one


def laid_out_anew(text: str) -> str:
    return text.replace("'", '"').replace(" = ", "=").replace("return read(path, ", "return read(\n        path, ")


@pytest.mark.parametrize("provenance", ["file:src/loading.py", "file:src/loading.py#L1-L178"])
def test_a_text_too_long_to_be_kept_is_taken_from_git_to_tell_layout_from_change(code, knowledge, provenance):
    cite(knowledge, "long", provenance)
    file = code / "src" / "loading.py"
    then = file.read_text()
    file.write_text(laid_out_anew(then))
    assert only(knowledge)["state"] == "reformatted"

    file.write_text(then.replace("limit > 2900", "limit > 2950"))
    one = only(knowledge)
    assert one["state"] == "changed"
    assert "-    if not path or limit > 2900:\n+    if not path or limit > 2950:\n" in one["diff"]


def test_a_diff_of_a_text_that_nobody_has_whole_says_how_much_of_it_is_known(code, knowledge):
    (code / "src" / "new.py").write_text((code / "src" / "loading.py").read_text().replace("load_", "fetch_"))
    cite(knowledge, "long", "file:src/new.py")  # git was never told of it
    (code / "src" / "new.py").write_text((code / "src" / "new.py").read_text().replace("limit > 100:", "limit > 150:"))
    one = only(knowledge)
    assert one["state"] == "changed"
    assert "+    if not path or limit > 150:\n" in one["diff"]
    assert one["diff"].endswith("… only the first 80 lines of what was cited are known")


def test_a_function_that_was_put_under_a_condition_and_laid_out_anew_is_reformatted(code, knowledge):
    cite(knowledge, "two", "file:src/loading.py#L7-L10")
    file = code / "src" / "loading.py"
    before, middle, after = file.read_text().partition(FUNCTION.format(2))
    indented = "".join(f"    {line}\n" for line in laid_out_anew(middle).splitlines())
    file.write_text(f"{before}if FAST:\n{indented}{after}")
    assert (only(knowledge)["state"], only(knowledge)["now"]) == ("reformatted", "file:src/loading.py#L8-L12")


def test_a_deleted_function_is_gone_however_much_its_neighbours_look_like_it(code, knowledge):
    cite(knowledge, "seven", "file:src/loading.py#load_7")
    cite(knowledge, "lines", "file:src/loading.py#L37-L40")
    file = code / "src" / "loading.py"
    file.write_text(file.read_text().replace(FUNCTION.format(7), ""))
    assert [one["state"] for one in knowledge.drift()["citations"]] == ["gone", "gone"]


def test_provenance_that_is_given_once_more_is_anchored_once_more(code, knowledge):
    cite(knowledge, "seven", "file:src/loading.py#load_7")
    file = code / "src" / "loading.py"
    file.write_text(file.read_text().replace("limit > 700", "limit > 750"))
    before = knowledge.get(id="seven")["version"]

    knowledge.edit(id="seven", provenance=["file:src/loading.py#load_7"])
    assert only(knowledge)["state"] == "ok"
    after = knowledge.get(id="seven")["version"]
    assert after != before
    knowledge.edit(id="seven", provenance=["file:src/loading.py#load_7"])
    assert knowledge.get(id="seven")["version"] == after


def test_many_entries_are_anchored_anew_by_one_event_that_is_read_once(code, knowledge, monkeypatch):
    for number in range(1, 31):
        cite(knowledge, f"n{number}", f"file:src/loading.py#L{6 * number - 5}-L{6 * number - 2}")
    file = code / "src" / "loading.py"
    file.write_text("import json\n" + file.read_text())
    assert len(knowledge.drift(fix=True)["fixed"]) == 30

    file.write_text(file.read_text() + "# the end\n")
    read: list[int] = []
    monkeypatch.setattr(
        "decapod_py.views.state.os.pread", lambda handle, *place: read.append(place[0]) or PREAD(handle, *place)
    )
    assert knowledge.drift()["summary"] == {"ok": 30}
    assert max(read) > 16_384 and read.count(max(read)) == 1


def test_what_git_keeps_for_itself_is_never_read(code, knowledge, refused):
    (code / "link").symlink_to(".git/config")
    for path in (".git/config", "link"):
        refused("no-such-file", 1, cite, knowledge=knowledge, entry_id="a", provenance=f"file:{path}")


def test_why_of_a_file_that_is_no_more_says_what_cited_it_and_where_that_went(code, opened, knowledge):
    cite(knowledge, "seven", "file:src/loading.py#L37-L40")
    git(code, "mv", "src/loading.py", "src/reading.py")
    commit(code, "Rename")

    for folder, place in ((code, "src/loading.py:38"), (code / "src", "loading.py:38")):
        (found,) = json.loads(run(folder, "why", place, "--json").stdout)["results"]
        assert (found["id"], found["citation"]["now"]) == ("seven", "file:src/reading.py#L37-L40")
    git(code, "rm", "-q", "src/reading.py")
    (found,) = opened.why(place="src/loading.py")["results"]
    assert found["drift"] == "gone"


def test_what_is_merged_stays_merged_while_its_segment_is_packed(code, opened, knowledge):
    git(code, "branch", "-M", "main")
    for number in range(3):
        cite(knowledge, f"n{number}", f"file:src/loading.py#load_{number + 1}")
        commit(code, f"Note {number}")
    assert {entry["standing"] for entry in knowledge.list()["entries"]} == {"merged"}

    assert opened.ledger.pack()["joined"] > 1
    assert {entry["standing"] for entry in knowledge.list()["entries"]} == {"merged"}
    commit(code, "Pack")
    assert {entry["standing"] for entry in knowledge.list()["entries"]} == {"merged"}


def test_a_pipe_in_the_place_of_a_file_is_never_waited_for(code, knowledge):
    cite(knowledge, "whole", "file:src/loading.py")
    (code / "src" / "loading.py").unlink()
    os.mkfifo(code / "src" / "loading.py")
    assert (only(knowledge)["state"], only(knowledge)["why"]) == ("unresolvable", "src/loading.py cannot be read")


@pytest.mark.parametrize("text", ["", "no line end", "\n\n", "\ufeffx = 1\n", "a\fb\x0bc\n"])
def test_a_whole_file_of_hardly_anything_is_watched(code, knowledge, text):
    file = code / "odd.txt"
    file.write_text(text)
    cite(knowledge, "odd", "file:odd.txt")
    assert only(knowledge)["state"] == "ok"
    file.write_text(text + "more\n")
    assert only(knowledge)["state"] == "changed"
    file.unlink()
    assert only(knowledge)["state"] == "gone"


def test_an_empty_file_that_is_deleted_did_not_become_another_empty_file(code, knowledge):
    for name in ("a", "b"):
        (code / name).mkdir()
        (code / name / "__init__.py").touch()
    commit(code, "Make packages")
    cite(knowledge, "empty", "file:a/__init__.py")
    git(code, "rm", "-q", "a/__init__.py")
    assert only(knowledge)["state"] == "gone"


def test_a_rename_of_case_alone_is_a_rename(code, knowledge):
    cite(knowledge, "seven", "file:src/loading.py#load_7")
    git(code, "mv", "src/loading.py", "src/Loading.py")
    commit(code, "Rename")
    assert (only(knowledge)["state"], only(knowledge)["now"]) == ("moved", "file:src/Loading.py#load_7")
    assert knowledge.drift(fix=True)["fixed"] == ["seven"]
    assert (only(knowledge)["state"], only(knowledge)["provenance"]) == ("ok", "file:src/loading.py#load_7")


def test_a_file_of_five_megabytes_and_a_hundred_thousand_lines_is_followed(code, knowledge):
    lines = [
        f"row {number}: {number * 7919 % 10007} of what the machine said on that day and hour"
        for number in range(100_000)
    ]
    file = code / "rows.txt"
    file.write_text("\n".join(lines))
    assert file.stat().st_size > 5_000_000
    commit(code, "Keep rows")
    cite(knowledge, "rows", "file:rows.txt#L70001-L70003")
    file.write_text("\n".join(["a new row", *lines]))
    assert only(knowledge)["now"] == "file:rows.txt#L70002-L70004"
    file.write_text("\n".join([*lines[:70_001], "another row altogether", *lines[70_002:]]))
    one = only(knowledge)
    assert (one["state"], one["now"]) == ("changed", "file:rows.txt#L70001-L70003")
    assert "\n+another row altogether\n" in one["diff"]


def standing(top: Path, entry_id: str) -> str:
    return str(decapod(top, "knowledge", "get", entry_id)["standing"])


def test_standing_goes_by_the_remotes_default_branch_wherever_head_is(code, knowledge, tmp_path):
    git(code, "branch", "-M", "trunk-of-ours")
    cite(knowledge, "seven", "file:src/loading.py#load_7")
    commit(code, "Write down")
    assert knowledge.get(id="seven")["standing"] == "local"  # nothing here says that this is the default branch

    git(tmp_path, "clone", "-q", str(code), "clone")
    clone = tmp_path / "clone"
    assert standing(clone, "seven") == "merged"
    git(clone, "checkout", "-q", "--detach", "HEAD")
    decapod(clone, "knowledge", "add", "New", "--text", "New.", "--id", "new", "--provenance", "person:Ada")
    commit(clone, "On no branch")
    assert [standing(clone, entry_id) for entry_id in ("seven", "new")] == ["merged", "local"]


def test_without_git_everything_is_local(tmp_path):
    decapod(tmp_path, "init")
    decapod(tmp_path, "knowledge", "add", "New", "--text", "New.", "--id", "new", "--provenance", "person:Ada")
    assert standing(tmp_path, "new") == "local"
