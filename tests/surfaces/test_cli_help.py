"""What people read when they ask for help, and what completes their typing."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from decapod_py.__main__ import main
from decapod_py.operations import catalogue
from decapod_py.surfaces.cli import examples, fast
from decapod_py.surfaces.cli.commands import commands, words

TAUGHT = [
    [],
    ["knowledge"],
    ["ledger"],
    ["init"],
    ["knowledge", "add"],
    ["knowledge", "search"],
    ["knowledge", "promote"],
    ["knowledge", "decay"],
    ["mcp"],
]


@pytest.fixture(autouse=True)
def narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("argv", TAUGHT, ids=lambda argv: " ".join(argv) or "decapod")
def test_help_reads_like_this(argv: list[str], capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert main([*argv, "--help"]) == 0

    assert capsys.readouterr().out == snapshot


@pytest.mark.parametrize("argv", [[], ["knowledge"]], ids=["program", "group"])
def test_without_a_command_the_help_is_shown(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    alone = capsys.readouterr().out
    main([*argv, "-h"])

    assert alone == capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    from decapod_py import __version__

    assert main(["--version"]) == 0

    assert capsys.readouterr().out == f"decapod {__version__}\n"


def test_every_example_belongs_to_a_command() -> None:
    typed = {" ".join(words(name)) for name in commands()} | set(examples.GROUPS)

    assert set(examples.EXAMPLES) <= typed | {"", "schema", "mcp", "completion"}


@pytest.mark.parametrize(
    "line",
    [
        line
        for lines in examples.EXAMPLES.values()
        for line in lines
        if line.startswith("decapod ") and line.split()[1] in {"knowledge", "ledger", "init", "status", "-C"}
    ],
)
def test_every_example_is_a_command_line_that_parses(line: str) -> None:
    import shlex

    argv = shlex.split(line.split(" > ")[0])[1:]

    assert fast.understood(argv).command


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0

    assert fast.COMPLETION_VARIABLE in capsys.readouterr().out


def test_a_shell_without_completion_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2

    assert "unknown-shell" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "position", "offered"),
    [
        ("decapod know", 1, "knowledge"),
        ("decapod knowledge li", 2, "list"),
        ("decapod knowledge list --sta", 3, "--status"),
        ("decapod knowledge list --status sta", 4, "stale"),
    ],
)
def test_the_shell_completes_commands_options_and_choices(
    typed: str, position: int, offered: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(fast.COMPLETION_VARIABLE, "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(position))

    with pytest.raises(SystemExit) as ended:
        main([])

    assert ended.value.code == 0
    assert capsys.readouterr().out.split() == [offered]


def test_the_schema_of_an_operation_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    import json

    assert main(["schema", "knowledge.add"]) == 0

    printed = json.loads(capsys.readouterr().out)
    assert printed["operation"] == "knowledge.add"
    assert "title" in printed["request"]["properties"]
    assert "action" in printed["result"]["properties"]


def test_the_schemas_of_all_operations_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    import json

    assert main(["schema", "--json"]) == 0

    assert list(json.loads(capsys.readouterr().out)) == [operation.name for operation in catalogue.all_operations()]


def test_the_schema_of_an_unknown_operation_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "knowledge.bogus", "--json"]) == 2

    assert '"code": "unknown-operation"' in capsys.readouterr().err
