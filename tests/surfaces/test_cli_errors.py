"""Every failure becomes a sentence, a code, a next step and an exit code, in one place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import decapod_py
from decapod_py.__main__ import main
from decapod_py.foundation.errors import Call, Misused, Refused
from decapod_py.operations import catalogue
from decapod_py.surfaces.cli import output
from decapod_py.surfaces.cli.failures import command_line, explain, warn
from decapod_py.surfaces.cli.run import guarded

REFUSAL = Refused(
    "diverged", "entry a has two heads", Call("knowledge.settle", {"target": "a b"}), {"heads": ["x", "y"]}
)


def test_a_refusal_is_a_sentence_with_its_code_and_the_command_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(REFUSAL, as_json=False) == 1

    assert capsys.readouterr() == (
        "",
        "error: entry a has two heads [diverged]\nhint: decapod knowledge settle 'a b' --keep ...\n",
    )


def test_a_refusal_for_a_program_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(REFUSAL, as_json=True) == 1

    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert json.loads(told) == {
        "error": {
            "code": "diverged",
            "message": "entry a has two heads",
            "hint": "decapod knowledge settle 'a b' --keep ...",
            "details": {"heads": ["x", "y"]},
        }
    }


@pytest.mark.parametrize(
    ("problem", "exit_code", "code"),
    [
        (Refused("no", "not allowed"), 1, "no"),
        (Misused("bad-time", "not a time"), 2, "bad-time"),
        (KeyError("x"), 3, "bug"),
        (RecursionError(), 3, "bug"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "ledgers"), 1, "system"),
        (FileNotFoundError(2, "No such file", "x"), 3, "bug"),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(
    problem: BaseException, exit_code: int, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> int:
        raise problem

    assert guarded(fail, as_json=True) == exit_code
    assert json.loads(capsys.readouterr().err)["error"]["code"] == code


def test_a_bug_shows_its_traceback_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    explain(KeyError("x"), as_json=False)
    brief = capsys.readouterr().err
    monkeypatch.setenv("DECAPOD_DEBUG", "1")
    explain(KeyError("x"), as_json=False)
    long = capsys.readouterr().err
    explain(KeyError("x"), as_json=True)
    for_programs = json.loads(capsys.readouterr().err)["error"]

    assert brief.startswith(
        "error: Decapod itself failed: KeyError: 'x' [bug]\nhint: run it again with DECAPOD_DEBUG=1"
    )
    assert long.startswith("KeyError: 'x'\nerror:")
    assert for_programs["details"]["traceback"].startswith("KeyError")


@pytest.mark.parametrize(
    ("call", "typed"),
    [
        (Call("init"), "decapod init"),
        (Call("knowledge.get", {"id": "it's"}), "decapod knowledge get 'it'\"'\"'s'"),
        (Call("knowledge.get", {"id": "-x", "max_chars": 5}), "decapod knowledge get --max-chars 5 -- -x"),
        (
            Call("knowledge.list", {"tags": ["a", "b c"], "diverged": True}),
            "decapod knowledge list --tag a --tag 'b c' --diverged",
        ),
        (Call("knowledge.add", {"title": "-t"}), "decapod knowledge add --title=-t"),
        (Call("knowledge.search", {"query": "q", "content": False}), "decapod knowledge search q --no-content"),
        (
            Call("knowledge.promote", {}),
            "decapod knowledge promote --source-entry-id ... --evidence-ref ... --reason ...",
        ),
        (Call("later.thing", {"some_field": "x y"}), "decapod later thing --some-field='x y'"),
    ],
)
def test_a_hint_is_the_command_line_to_type(call: Call, typed: str) -> None:
    assert command_line(call) == typed


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["bogus"], "no such command 'bogus'"),
        (["knowledge", "serch", "x"], "no such command 'serch'. Did you mean 'search'?"),
        (["knowledge", "get"], "missing argument 'ID'"),
        (["knowledge", "list", "--limit", "0"], "invalid value for '--limit': 0 is not in the range 1<=x<=10000"),
        (["knowledge", "add", "x", "--confidence", "nan"], "--confidence: input should be"),
        (["knowledge", "get", "a", "--bogus"], "no such option: --bogus"),
    ],
)
def test_a_wrong_command_line_is_misuse_in_words_and_in_json(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert f"error: {message}" in capsys.readouterr().err

    assert main([*argv, "--json"]) == 2
    told = json.loads(capsys.readouterr().err)["error"]
    assert told["code"] == "bad-arguments"
    assert told["message"].startswith(message)


def test_an_error_cannot_drive_the_terminal_or_fake_a_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    explain(Refused("no", "a\x1b[2J\nerror: b", "c\x07"), as_json=False)
    warn(["\x9b31m"])

    assert capsys.readouterr().err == "error: a\\x1b[2J error: b [no]\nhint: c\\x07\nwarning: \\x9b31m\n"


def test_a_result_that_is_not_ok_exits_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    result = {"ok": False, "problems": [], "fixed": []}
    monkeypatch.setattr(catalogue, "find", lambda *_: FakeOperation(result))

    assert main(["doctor", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == result


def in_shell(command: str) -> tuple[int, str]:
    # The package as it is imported here, installed or not.
    program = f"env PYTHONPATH={Path(decapod_py.__file__).parents[1]} {sys.executable} -m decapod_py"
    done = subprocess.run(["bash", "-c", command.format(program)], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_a_reader_that_left_changes_nothing() -> None:
    assert in_shell("{} --json schema | true; exit ${{PIPESTATUS[0]}}") == (0, "")


def test_a_full_disk_behind_the_output_is_told() -> None:
    told = "error: the output could not be written: No space left on device [output-failed]\n"

    assert in_shell("{} schema > /dev/full") == (1, told)


def test_a_closed_output_is_no_failure() -> None:
    assert in_shell("{} schema --json >&-") == (0, "")


def test_json_keeps_other_scripts_and_escapes_what_cannot_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"a": "ключ 鍵", "b": "\x1b\x9b\x7f", "c": "\ud800"}

    output.answer(output.to_json(value))

    told = capsys.readouterr().out
    assert told == '{"a": "ключ 鍵", "b": "\\u001b\\u009b\\u007f", "c": "\\ud800"}\n'
    assert json.loads(told) == value


class FakeOperation:
    def __init__(self, result: dict[str, Any]) -> None:
        self.result = result

    def function(self, workspace: Any, request: Any) -> dict[str, Any]:
        return self.result
