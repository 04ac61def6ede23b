"""The fast route and Typer are one command line: what the fast route accepts, both answer with the same bytes."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decapod_py.__main__ import main
from decapod_py.foundation.errors import DecapodError
from decapod_py.surfaces.cli import app, fast
from decapod_py.surfaces.cli.catalogue_shape import Param
from decapod_py.surfaces.cli.commands import commands, words
from decapod_py.surfaces.cli.run import Invocation

Answer = tuple[int | None, bytes, bytes]

READS = [
    ["status"],
    ["status", "--json"],
    ["--json", "status"],
    ["knowledge", "search", "retries"],
    ["knowledge", "search", "how often do we retry?", "--json"],
    ["knowledge", "search", "--json", "--limit=2", "--explain", "--", "-retries"],
    ["knowledge", "search", "nothing like it"],
    ["knowledge", "search", "retries", "--tag", "http", "--tag", "other", "--rank", "recency_decay", "--json"],
    ["knowledge", "search", "retries", "--no-content", "--json"],
    ["knowledge", "search", "retries", "--as-of", "never"],
    ["knowledge", "get", "retries", "--json"],
    ["knowledge", "get", "retries"],
    ["knowledge", "get", "retries", "--max-chars", "5"],
    ["knowledge", "get", "no-such-entry"],
    ["knowledge", "get", "no-such-entry", "--json"],
    ["knowledge", "list"],
    ["knowledge", "list", "--status", "any", "--limit", "1", "--offset", "1", "--json"],
    ["knowledge", "history", "retries"],
    ["knowledge", "history", "retries", "--json"],
    ["knowledge", "export"],
    ["knowledge", "export", "--json"],
    ["knowledge", "decay", "--dry-run", "--as-of", "2030-01-01"],
    ["knowledge", "decay", "--as-of", "2999-01-01", "--json"],
    ["ledger", "verify"],
    ["ledger", "verify", "--json"],
    ["ledger", "show", "--limit", "2"],
    ["rebuild", "--check"],
    ["doctor"],
    ["-C", "sub", "status"],
    ["status", "-C", "sub"],
    ["-C", "sub", "status", "-C", ".."],
    ["status", "-C", "no-such-directory"],
    ["status", "-C", "no-such-directory", "--json"],
    ["knowledge", "add", "--title", "T", "--text-file", "no-such-file", "--provenance", "person:ana"],
    ["knowledge", "add", "--title", "T", "--text-file", "latin1.txt", "--provenance", "person:ana", "--json"],
    ["knowledge", "add", "--title", "T", "--text", "a", "--text-file", "note.md"],
    ["knowledge", "add", "--title", "\udcff", "--provenance", "person:ana"],
    ["knowledge", "add", "--title", "T", "--text", "x", "--provenance", "nowhere"],
    ["knowledge", "settle", "retries", "--keep", "nothing"],
    ["hooks", "status"],
    ["hooks", "run", "pre-commit", "--json"],
    ["hooks", "install", "pre-commit", "no-such-hook"],
    ["connect", "claude", "--print"],
    ["connect", "codex", "--print", "--instructions", "--json"],
]

WRITES = [
    ["knowledge", "add", "One\ntwo", "--from", "src/client.py:1-2", "--tag", "a", "--tag", "b", "--confidence", "0.5"],
    ["knowledge", "add", "--title=T", "--text-file", "note.md", "--provenance=person:ana", "--json", "--actor", "bo"],
    ["knowledge", "add", "--title", "T", "--text", "-", "--provenance", "person:ana"],
    ["knowledge", "add", "--id", "retries", "--title", "T", "--text", "x", "--provenance", "person:ana"],
    ["knowledge", "edit", "retries", "--title", "New", "--json"],
    ["knowledge", "deprecate", "retries", "--reason", "old"],
    ["knowledge", "delete", "retries", "--json"],
    ["knowledge", "decay"],
    ["knowledge", "promote", "--source-entry-id", "retries", "--evidence-ref", "person:ana", "--reason", "held"],
    ["knowledge", "retrieval-log", "--query", "q", "--returned-id", "retries", "--outcome", "helped", "--json"],
    ["knowledge", "import", "entries.jsonl"],
    ["knowledge", "import", "-", "--dry-run"],
    ["knowledge", "export", "--output", "out.jsonl"],
    ["init"],
    ["rebuild", "--json"],
    ["hooks", "install"],
    ["hooks", "install", "pre-push", "post-merge", "--json"],
    ["hooks", "uninstall"],
    ["connect", "vscode", "--instructions"],
]

DOUBTFUL = [
    [],
    ["--help"],
    ["--version"],
    ["bogus"],
    ["knowledge"],
    ["knowledge.add", "note"],
    ["knowledge", "get"],
    ["knowledge", "get", "a", "b"],
    ["knowledge", "get", "--bogus", "a"],
    ["knowledge", "get", "a", "-h"],
    ["knowledge", "list", "--limit", "0"],
    ["knowledge", "list", "--limit", "many"],
    ["knowledge", "list", "--limit", "-1"],
    ["knowledge", "list", "--limit", "1", "--limit", "2"],
    ["knowledge", "list", "--status", "gone"],
    ["knowledge", "list", "--diverged=yes"],
    ["knowledge", "list", "--limit"],
    ["knowledge", "list", "--tag", "--json"],
    ["knowledge", "list", "-C", "a", "-C", "b"],
    ["knowledge", "add", "--confidence", "1.5", "note"],
    ["knowledge", "add", "--confidence", "nan", "note"],
    ["knowledge", "promote", "--source-entry-id", "a", "--reason", "b"],
    ["schema"],
    ["mcp"],
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two entries, in a git repository."""
    root = tmp_path_factory.mktemp("prepared")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("DECAPOD_ACTOR", "ana")
        subprocess.run(["git", "init", "-q"], check=True)
        (root / "sub").mkdir()
        (root / "src").mkdir()
        (root / "src" / "client.py").write_text("RETRIES = 3\nTIMEOUT = 30\n")
        (root / "note.md").write_text("A *long* text.\n")
        (root / "latin1.txt").write_bytes(b"caf\xe9")
        (root / "entries.jsonl").write_text('{"title": "I", "content": "c", "provenance": "person:ana"}\n{}\n')
        assert main(["init"]) == 0
        source = ["--from", "src/client.py:1"]
        assert main(["knowledge", "add", "Retries stop at 3", "--id", "retries", "--tag", "http", *source]) == 0
        assert main(["knowledge", "add", "Таймаут 30 s\nIn [bold]seconds[/bold].", "--id", "timeout", *source]) == 0
    return root


def answer(route: Any, capture: pytest.CaptureFixture[bytes]) -> Answer:
    capture.readouterr()
    exit_code = route()
    told = capture.readouterr()
    return exit_code, told.out, told.err


def in_copy(prepared: Path, copy: Path, patch: pytest.MonkeyPatch) -> None:
    shutil.copytree(prepared, copy, symlinks=True)
    patch.chdir(copy)
    patch.setenv("DECAPOD_ACTOR", "ana")
    line = b'{"title": "S", "content": "c", "provenance": "person:ana"}\n'
    patch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(line), isatty=lambda: False))


def without_chance(told: Answer, place: Path) -> tuple[int | None, str, str]:
    """The answer with new ids, times and its directory replaced: what two runs may differ in."""
    exit_code, *texts = told
    out, err = (
        re.sub(
            r"[0-9a-f]{64}|\b[0-9A-HJKMNP-TV-Z]{26}\b|\d{4}-\d\d-\d\dT[\d:.]+Z|\d\.\d{3,}", "?", text.decode()
        ).replace(str(place), "HERE")
        for text in texts
    )
    return exit_code, out, err


@pytest.mark.parametrize("argv", READS, ids=" ".join)
def test_both_routes_answer_a_question_with_the_same_bytes(
    argv: list[str], prepared: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 2_000_000_000_000_000_000)
    monkeypatch.setenv("DECAPOD_ACTOR", "ana")

    monkeypatch.chdir(prepared)
    by_fast = answer(lambda: fast.run_fast(argv), capfdbinary)
    monkeypatch.chdir(prepared)
    by_typer = answer(lambda: app.run_typer(argv, no_server), capfdbinary)

    assert by_fast == by_typer
    assert by_fast[0] in (0, 1, 2)


@pytest.mark.parametrize("argv", WRITES, ids=" ".join)
def test_both_routes_write_and_answer_the_same(
    argv: list[str],
    prepared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    in_copy(prepared, tmp_path / "fast", monkeypatch)
    by_fast = answer(lambda: fast.run_fast(argv), capfdbinary)
    in_copy(prepared, tmp_path / "typer", monkeypatch)
    by_typer = answer(lambda: app.run_typer(argv, no_server), capfdbinary)

    assert without_chance(by_fast, tmp_path / "fast") == without_chance(by_typer, tmp_path / "typer")
    assert by_fast[0] in (0, 1)


@pytest.mark.parametrize("argv", DOUBTFUL, ids=" ".join)
def test_the_fast_route_leaves_every_doubt_to_typer_and_runs_nothing(
    argv: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast, "run", lambda *_: pytest.fail("it ran"))

    assert fast.run_fast(argv) is None


def test_a_completing_shell_is_left_to_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fast.COMPLETION_VARIABLE, "complete_bash")

    assert fast.run_fast(["status"]) is None


VALUES = [
    "a",
    "-",
    "",
    "x y",
    "1",
    "0",
    "007",
    "10",
    "0.5",
    "1.0",
    "1_0",
    "nan",
    "active",
    "any",
    "jsonl",
    "helped",
    "é",
]


def option_words(param: Param) -> st.SearchStrategy[list[str]]:
    """One use of a parameter, mostly as it is meant."""
    values = st.sampled_from((param["choices"] or VALUES) + VALUES)
    if param["kind"] in ("int", "float"):
        values = st.one_of(st.integers(0, 9).map(str), st.sampled_from(VALUES))
    if not param["options"]:
        return values.map(lambda value: [value])
    names = st.sampled_from(param["options"] + param["off_options"] + [param["file_option"] or param["options"][0]])
    if param["kind"] == "bool":
        return names.map(lambda name: [name])
    return st.one_of(
        st.builds(lambda *pair: [*pair], names, values), st.builds("{}={}".format, names, values).map(list_of)
    )


def list_of(word: str) -> list[str]:
    return [word]


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    command = draw(st.sampled_from(list(commands().values())))
    before = draw(st.sampled_from([[], [], ["--json"], ["-C", "."]]))
    used = [
        draw(option_words(param)) for param in command["params"] if param["required"] or not draw(st.integers(0, 3))
    ]
    odd = draw(st.lists(st.sampled_from(["--json", "-C", "--", "--bogus", "-x", *VALUES]), max_size=1))
    pieces = draw(st.permutations([*used, odd]))
    return [*before, *words(command["name"]), *(word for piece in pieces for word in piece)]


@settings(max_examples=400, deadline=None)
@given(command_lines())
def test_whatever_the_fast_route_accepts_typer_understands_the_same_way(argv: list[str]) -> None:
    try:
        accepted = fast.understood(argv)
    except fast.Doubt:
        return

    understood, request = understood_by_typer(argv)

    assert understood._replace(given={}) == accepted._replace(given={})
    assert vars(fast._namespace(accepted.command, accepted.given)) == request


def understood_by_typer(argv: list[str]) -> tuple[Invocation, dict[str, Any]]:
    seen: list[tuple[Invocation, dict[str, Any]]] = []

    def remember(invocation: Invocation, make_request: Any) -> int:
        seen.append((invocation, dict(make_request(invocation.command, invocation.given))))
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "run", remember)
        try:
            app._main(argv, no_server)
        except DecapodError as problem:
            pytest.fail(f"typer refused what the fast route accepts: {problem}")
    return seen[0]


def no_server(*_: Any) -> None:
    pytest.fail("nobody asked for a server")
