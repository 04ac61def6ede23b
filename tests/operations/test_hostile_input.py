"""Whatever a user types, pipes or puts in the way: done, refused or misused, with a sentence, and never our own bug."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import run

from decapod_py.__main__ import main
from decapod_py.foundation.errors import DecapodError
from decapod_py.operations import catalogue

NASTY = [
    "",
    " ",
    "\n",
    "\x01",
    "\x1b[31m",
    "💥",
    "\udcff\udcfe",
    '"',
    "%",
    "*",
    "NEAR(",
    "x" * 10_000,
    "-1",
    "0",
    "9" * 25,
    "1e400",
    "nan",
    "../..",
    "/",
    "\u202e",
    "{}",
    "procedural/x",
    "٣",
    "C:\\x",
]
COMMANDS = [
    "knowledge get @",
    "knowledge get a --as-of @",
    "knowledge get a --max-chars @",
    "knowledge search @",
    "knowledge search @ --as-of 2026-03-01",
    "knowledge search three --limit @",
    "knowledge search three --window-days @",
    "knowledge search three --tag @",
    "knowledge list --limit @",
    "knowledge list --offset @",
    "knowledge list --since @",
    "knowledge history @",
    "knowledge add @ --provenance cmd:x",
    "knowledge add T --from @",
    "knowledge add T --provenance @",
    "knowledge add T --provenance cmd:x --id @",
    "knowledge add T --provenance cmd:x --merge-key @",
    "knowledge add T --provenance cmd:x --scope @",
    "knowledge add T --provenance cmd:x --tag @",
    "knowledge add T --provenance cmd:x --expires-ts @",
    "knowledge add T --provenance cmd:x --confidence @",
    "knowledge add T --provenance cmd:x --actor @",
    "knowledge add --title T --text @ --provenance cmd:x",
    "knowledge add --title T --text-file @ --provenance cmd:x",
    "knowledge edit a --title @",
    "knowledge edit a --expected-version @",
    "knowledge edit @ --title x",
    "knowledge deprecate @",
    "knowledge revive a --expires-ts @",
    "knowledge settle @ --keep @",
    "knowledge decay --policy @ --dry-run",
    "knowledge decay --as-of @ --dry-run",
    "knowledge promote --source-entry-id a --evidence-ref @ --reason r",
    "knowledge promote --source-entry-id a --evidence-ref cmd:x --reason @ --approved-by @",
    "knowledge approve @",
    "knowledge revoke-promotion @ --reason r",
    "knowledge retrieval-log --query @ --returned-id a --outcome helped",
    "knowledge retrieval-log --query q --returned-id @ --outcome @",
    "knowledge import @",
    "ledger show --ledger @",
    "ledger show --since @",
    "ledger show --limit @",
    "@",
    "knowledge @",
    "schema @",
]


@pytest.fixture(autouse=True)
def entry(knowledge, opened):
    knowledge.add(id="a", title="Three", text="Stops at three.", provenance=["cmd:x"])
    opened.close()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_nasty_word_anywhere_is_answered(repository: Path, capsys, monkeypatch, command):
    monkeypatch.chdir(repository)
    for nasty in NASTY:
        code = main([nasty if word == "@" else word for word in command.split()])

        shown = capsys.readouterr()
        assert code in (0, 1, 2), (nasty, shown.err)
        assert code == 0 or shown.err.startswith("error: ") or "Usage" in shown.err, (nasty, shown.err)
        assert "Traceback" not in shown.err
        assert "\x1b" not in shown.out + shown.err


@pytest.mark.parametrize(
    "words",
    [
        (b"knowledge", b"add", b"\xff\xfe", b"--provenance", b"cmd:x"),
        (b"knowledge", b"search", b"a\xed\xa0\x80"),
        (b"knowledge", b"get", b"\xff", b"--json"),
        (b"-C", b"\xff", b"status"),
        (b"knowledge", b"export", b"--output", b"\xff.jsonl"),
    ],
)
def test_bytes_that_are_no_text_are_answered(repository: Path, words):
    done = subprocess.run(
        [os.fsencode(sys.executable), b"-m", b"decapod_py", *words], cwd=repository, capture_output=True, check=False
    )

    assert done.returncode in (0, 1, 2), done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("piped", [b"\xff\xfe", b"\0", b"", b"{" * 100_000, b'{"title":"\\ud800"}', b"x" * 2_000_000])
@pytest.mark.parametrize(
    "words",
    [
        "knowledge import -",
        "knowledge import - --keep-going --json",
        "knowledge add --title T --text - --from src/a.py",
    ],
)
def test_anything_piped_in_is_answered(repository: Path, piped, words):
    done = subprocess.run(
        [sys.executable, "-m", "decapod_py", *words.split()],
        cwd=repository,
        input=piped,
        capture_output=True,
        check=False,
    )

    assert done.returncode in (0, 1, 2), done.stderr
    assert b"Traceback" not in done.stderr


LEAST = {
    "knowledge.add": {"title": "T", "text": "x", "provenance": ["cmd:x"]},
    "knowledge.search": {"query": "x"},
    "knowledge.settle": {"target": "a", "keep": "a"},
    "knowledge.promote": {"source_entry_id": "a", "evidence_refs": ["cmd:x"], "reason": "r"},
    "knowledge.approve": {"event": "x"},
    "knowledge.revoke-promotion": {"event": "x", "reason": "r"},
    "knowledge.retrieval-log": {"query": "q", "returned_ids": ["a"], "outcome": "helped"},
    "knowledge.import": {"file": "x"},
    "knowledge.export": {},
    "knowledge.list": {},
    "knowledge.decay": {},
    "ledger.show": {},
    **{f"knowledge.{verb}": {"id": "a"} for verb in ("get", "edit", "history", "deprecate", "revive", "delete")},
}


@pytest.mark.parametrize("name", LEAST)
def test_a_broken_value_in_any_field_is_answered(opened, name):
    operation = catalogue.find(name)
    for field in operation.request_model.model_fields:
        for broken in ("\ud800", ["\ud800"], "\0", ["\0"], "", [""], 10**30, -(10**30), float("nan"), True, {}, [[]]):
            try:
                opened.call(operation, {**LEAST[name], field: broken})
            except DecapodError as refusal:
                assert refusal.exit_code in (1, 2)
                assert refusal.message


def make_folder(path: Path) -> None:
    _remove(path)
    path.mkdir(parents=True)


def make_file(path: Path) -> None:
    _remove(path)
    path.write_bytes(b"x")


def make_circle(path: Path) -> None:
    _remove(path)
    path.symlink_to(path)


def make_deep(path: Path) -> None:
    path.write_text("a = " + "[" * 5_000)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("name", "put"),
    [
        ("page", make_folder),
        ("page", make_circle),
        ("config.toml", make_folder),
        ("config.toml", make_deep),
        ("knowledge", make_file),
        ("ledgers", make_file),
        ("local", make_file),
        ("local/lock", make_folder),
        ("local/kept", make_file),
        ("local/knowledge.db", make_folder),
    ],
)
def test_something_in_the_way_of_a_file_of_ours_is_answered(repository: Path, capsys, monkeypatch, name, put):
    monkeypatch.chdir(repository)
    (page,) = (repository / ".decapod" / "knowledge").glob("*.md")
    put(page if name == "page" else repository / ".decapod" / name)
    for words in (
        "knowledge get a",
        "knowledge edit a --text new",
        "knowledge add T --provenance cmd:x",
        "status",
        "rebuild --check",
        "doctor",
        "ledger verify",
        "init",
    ):
        code = main(words.split())

        shown = capsys.readouterr()
        assert code in (0, 1, 2), (words, shown.err)
        assert "Traceback" not in shown.err


@pytest.mark.parametrize(
    "words",
    [
        "init",
        "status",
        "rebuild",
        "rebuild --check",
        "doctor",
        "doctor --fix",
        "knowledge add T --provenance cmd:x",
        "knowledge get a",
        "knowledge list",
        "knowledge search three --explain",
        "knowledge history a",
        "knowledge edit a --title New",
        "knowledge deprecate a",
        "knowledge delete a",
        "knowledge decay",
        "knowledge decay --dry-run",
        "knowledge promote --source-entry-id a --evidence-ref cmd:x --reason r",
        "knowledge retrieval-log --query q --returned-id a --outcome helped",
        "knowledge export",
        "knowledge export --format markdown --output out",
        "ledger verify",
        "ledger show",
        "ledger restore",
        "ledger restore --dry-run",
        "ledger pack",
        "ledger pack --dry-run",
        "uninstall",
    ],
)
def test_every_command_has_an_answer_for_people_too(repository: Path, capsys, monkeypatch, words):
    monkeypatch.chdir(repository)

    code = main(words.split())

    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    assert shown.out.strip()


def test_an_unreadable_page_is_damage_that_a_write_leaves_alone(repository, opened, knowledge):
    page = repository / knowledge.get(id="a")["path"]
    make_folder(page)

    assert [problem["code"] for problem in opened.doctor()["problems"]] == ["markdown-damaged"]
    assert knowledge.edit(id="a", text="New.")["action"] == "edited"
    assert page.is_dir()


def test_a_long_answer_into_a_closed_pipe_is_no_traceback(repository: Path):
    for number in range(3):
        run(repository, "knowledge", "add", f"T{number}", "--text", "word " * 5000, "--provenance", "cmd:x")
    done = subprocess.run(
        f"{sys.executable} -m decapod_py knowledge list --json | head -c 10",
        shell=True,
        cwd=repository,
        capture_output=True,
        check=False,
    )

    assert b"Traceback" not in done.stderr
