"""`decapod proof` and `decapod trust`: real commands, however they behave, and who may run them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import decapod, git, refusal, run

from decapod_py.client import Decapod

TOKEN = "ghp_" + "Q7fK2mW9xT4bN8vR1cJ6hL3sD5gY0pZaEuXi"
OURS = f"{sys.executable} -m decapod_py"


@pytest.fixture
def prove(repository: Path, opened: Any) -> Callable[..., Any]:
    """Configures one proof, trusts it, runs it and gives its receipt."""

    def proved(command: str, **settings: Any) -> Any:
        configure(repository, {"name": "tests", "run": command, **settings})
        opened.trust()
        return opened.proof.run()["receipts"][0]

    return proved


def configure(repository: Path, *proofs: dict[str, Any]) -> None:
    """Writes config.toml anew. What JSON writes for these values TOML reads."""
    tables = [["[[proof]]", *(f"{key} = {json.dumps(value)}" for key, value in proof.items())] for proof in proofs]
    lines = ["format = 1", *(line for table in tables for line in table)]
    (repository / ".decapod" / "config.toml").write_text("\n".join([*lines, ""]))


def states(opened: Any) -> dict[str, str]:
    return {proof["name"]: proof["state"] for proof in opened.proof.list()["proofs"]}


def is_running(process_id: int) -> bool:
    """Whether it is there and no zombie."""
    try:
        return "Z" not in Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False


def until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 20
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
    return found


def test_a_proof_that_passes_leaves_a_receipt(repository, opened, prove):
    receipt = prove("echo out; echo err >&2", paths=["src/**"])

    assert {**receipt, "event_id": "", "duration_ms": 0, "paths_sha256": ""} == {
        "event_id": "",
        "ts": "2026-03-01T12:00:00.000Z",
        "actor": "Ada",
        "proof": "tests",
        "command_sha256": "1945c15b02e575a201109ba38c5b8e85980437f4954cecebc81b25a9dcf5fc09",
        "paths_sha256": "",
        "paths_changed": False,
        "exit_code": 0,
        "timed_out": False,
        "duration_ms": 0,
        "output_sha256": "9f345aa1474b011fb7f938c3c12eb48e8b583d94bdbe1235d9e972cfe5b1b4ef",
        "output_bytes": 8,
        "head": git(repository, "rev-parse", "HEAD").strip(),
        "dirty": False,
        "command": "echo out; echo err >&2",
        "tail": "out\nerr\n",
        "passed": True,
    }
    assert states(opened) == {"tests": "good"}
    assert opened.ledger.verify()["ledgers"] == {"proofs": 1}


@pytest.mark.parametrize(("command", "exit_code"), [("exit 3", 3), ("kill -9 $$", 137), ("no-such-command", 127)])
def test_a_proof_that_fails_says_how(opened, prove, command, exit_code):
    receipt = prove(command)

    assert (receipt["exit_code"], receipt["passed"], receipt["timed_out"]) == (exit_code, False, False)
    assert states(opened) == {"tests": "failed"}


def test_a_required_proof_that_failed_is_an_exit_code_and_another_is_not(repository):
    configure(
        repository,
        {"name": "tests", "run": "true"},
        {"name": "bench", "run": "false", "required": False, "paths": ["*"]},
    )
    decapod(repository, "trust")

    assert [receipt["exit_code"] for receipt in decapod(repository, "proof", "run")["receipts"]] == [0, 1]

    configure(repository, {"name": "tests", "run": "false"})
    decapod(repository, "trust")
    done = run(repository, "proof", "run", "--json")
    assert (done.returncode, json.loads(done.stdout)["ok"]) == (1, False)


def test_a_proof_is_required_unless_it_says_otherwise(repository, opened):
    configure(repository, {"name": "a", "run": "true"}, {"name": "b", "run": "true", "required": False})

    assert [proof["required"] for proof in opened.proof.list()["proofs"]] == [True, False]


def test_only_the_named_proofs_run_each_once(repository, opened, refused):
    configure(repository, *({"name": name, "run": "true"} for name in "abc"))
    opened.trust()

    ran = opened.proof.run(names=["c", "a", "c"])["receipts"]

    assert [receipt["proof"] for receipt in ran] == ["c", "a"]
    assert states(opened) == {"a": "good", "b": "missing", "c": "good"}
    error = refused("unknown-proof", 2, opened.proof.run, names=["a", "d"])
    assert error.hint == "there are a, b, c"


def test_a_proof_runs_at_the_top_wherever_it_is_asked_for(repository):
    configure(repository, {"name": "tests", "run": "pwd"})
    decapod(repository, "trust")

    assert decapod(repository / "src", "proof", "run")["receipts"][0]["tail"] == f"{repository.resolve()}\n"


def test_without_proofs_there_is_nothing_to_run_and_trust_says_so(repository, opened, refused):
    assert opened.trust()["proofs"] == []
    refused("no-proofs", 1, opened.proof.run)
    assert "nothing to run" in run(repository, "trust").stdout


def test_a_proof_whose_paths_match_nothing_is_refused_before_any_runs(repository, opened, refused):
    configure(
        repository, {"name": "a", "run": "touch ran"}, {"name": "b", "run": "true", "paths": ["scr/**", "*.decapod"]}
    )
    opened.trust()

    assert "scr/**" in refused("no-files", 1, opened.proof.run).message
    assert states(opened) == {"a": "missing", "b": "no-files"}


def test_a_receipt_is_good_for_these_files_and_this_command_only(repository, opened, prove):
    prove("true", paths=["src/**"])

    (repository / "elsewhere.py").write_text("new\n")
    assert states(opened) == {"tests": "good"}
    (repository / "src" / "a.py").write_text("changed\n")
    assert states(opened) == {"tests": "outdated"}
    git(repository, "checkout", "-q", "--", "src")
    assert states(opened) == {"tests": "good"}
    (repository / "src" / "new.py").write_text("not yet added\n")
    assert states(opened) == {"tests": "outdated"}
    (repository / "src" / "new.py").unlink()
    (repository / "src" / "a.py").chmod(0o755)
    assert states(opened) == {"tests": "outdated"}
    (repository / "src" / "a.py").chmod(0o644)
    assert states(opened) == {"tests": "good"}
    configure(repository, {"name": "tests", "run": "true && true", "paths": ["src/**"]})
    assert states(opened) == {"tests": "outdated"}


def test_files_that_git_ignores_and_our_own_do_not_count(repository, opened, knowledge, prove):
    (repository / ".gitignore").write_text("build/\n")
    prove("mkdir -p build && date +%N > build/log")

    knowledge.add(title="T", text="x", provenance=["cmd:x"])
    assert states(opened) == {"tests": "good"}


def test_a_link_counts_by_where_it_points_and_a_deleted_file_not_at_all(repository, opened, prove):
    (repository / "src" / "link").symlink_to("a.py")
    (repository / "src" / "outward").symlink_to("/etc/hostname")
    (repository / "src" / "b.py").write_text("b\n")
    git(repository, "add", "-A")
    git(repository, "rm", "-q", "--cached", "src/b.py")
    git(repository, "add", "src/b.py")
    (repository / "src" / "b.py").unlink()
    prove("true", paths=["src/**"])

    git(repository, "rm", "-q", "--cached", "src/b.py")
    assert states(opened) == {"tests": "good"}
    (repository / "src" / "link").unlink()
    (repository / "src" / "link").symlink_to("./a.py")
    assert states(opened) == {"tests": "outdated"}


def test_two_clones_agree_on_a_receipt_whatever_their_line_ends(repository, opened, prove, tmp_path, clock):
    (repository / "src" / "names with späce.txt").write_bytes(b"one\ntwo\n" * 200_000)
    (repository / "src" / "binary").write_bytes(b"\0\r\n\r")
    (repository / ".gitattributes").write_text("*.txt text\n*.py text\n")
    prove("true", paths=["src/**"])
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Proved")
    git(tmp_path, "clone", "-q", str(repository), "plain")
    git(tmp_path, "clone", "-q", "-c", "core.autocrlf=true", "-c", "core.eol=crlf", str(repository), "windows")
    assert b"one\r\ntwo\r\n" in (tmp_path / "windows" / "src" / "names with späce.txt").read_bytes()

    for clone in ("plain", "windows"):
        with Decapod(tmp_path / clone, clock=clock) as other:
            assert states(other) == {"tests": "good"}


def test_without_git_a_proof_knows_its_files_all_the_same(repository, prove, opened):
    shutil.rmtree(repository / ".git")
    opened.close()

    receipt = prove("true")

    assert (receipt["head"], receipt["passed"]) == (None, True)
    assert states(opened) == {"tests": "good"}
    (repository / "src" / "new.py").write_text("x\n")
    assert states(opened) == {"tests": "outdated"}


def test_a_command_that_will_not_end_is_ended_with_all_it_started(repository, opened, prove):
    children = repository / ".decapod" / "local" / "children"

    receipt = prove(f"trap '' TERM; sleep 100 & echo $! > {children}; echo begun; sleep 100; wait", timeout="1s")

    assert (receipt["timed_out"], receipt["exit_code"], receipt["tail"]) == (True, None, "begun\n")
    assert 1_000 <= receipt["duration_ms"] < 3_000
    until(lambda: not is_running(int(children.read_text())))
    assert states(opened) == {"tests": "timed-out"}


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="only /proc tells what a command started")
@pytest.mark.parametrize("leaves", ["setsid sh -c '{}' &", "(setsid sh -c '{}' &);"])
def test_a_child_that_left_the_group_ends_too_when_the_time_is_up(repository, prove, leaves):
    child = repository / ".decapod" / "local" / "child"
    stays = leaves.format(f"echo $$ > {child}; sleep 100; sleep 100")

    receipt = prove(f"{stays} while [ ! -s {child} ]; do sleep 0.02; done; sleep 100", timeout="1s")

    assert receipt["timed_out"]
    until(lambda: not is_running(int(child.read_text())))


def test_a_command_that_ends_when_asked_may_say_goodbye(prove):
    receipt = prove("trap 'echo goodbye; exit 0' TERM; while true; do sleep 0.1; done", timeout="1s")

    assert (receipt["timed_out"], receipt["exit_code"]) == (True, None)
    assert receipt["tail"].endswith("goodbye\n")


@pytest.mark.parametrize("background", ["sleep 100", "yes"])
def test_a_child_that_holds_the_output_open_holds_nobody_up_and_ends_too(repository, prove, background):
    child = repository / ".decapod" / "local" / "child"

    receipt = prove(f"echo done; {background} & echo $! > {child}", timeout="60s")

    assert receipt["passed"]
    assert receipt["duration_ms"] < 10_000
    assert "done\n" in receipt["tail"] or background == "yes"
    until(lambda: not is_running(int(child.read_text())))


def test_a_child_that_left_the_group_and_holds_the_output_open_holds_nobody_up(repository, prove):
    child = repository / ".decapod" / "local" / "child"
    leaves = f"setsid sh -c 'echo $$ > {child}; exec sleep 100' &"
    try:
        receipt = prove(f"{leaves} while [ ! -s {child} ]; do sleep 0.02; done; echo done", timeout="60s")

        assert (receipt["passed"], receipt["tail"]) == (True, "done\n")
        assert receipt["duration_ms"] < 10_000
    finally:
        os.kill(int(child.read_text()), signal.SIGKILL)


def test_a_command_that_closes_its_output_is_still_waited_for(prove):
    receipt = prove("exec >&- 2>&-; sleep 0.3; exit 4")

    assert (receipt["exit_code"], receipt["output_bytes"], receipt["tail"]) == (4, 0, "")


def test_fifty_megabytes_of_output_are_digested_and_not_kept(repository):
    configure(repository, {"name": "tests", "run": "yes 0123456789abcde | head -c 50000000; echo; echo the end"})
    decapod(repository, "trust")
    script = (
        "import resource, subprocess, sys\n"
        f"subprocess.run([{sys.executable!r}, '-m', 'decapod_py', 'proof', 'run', '--json'],"
        " stderr=subprocess.DEVNULL, check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=repository, capture_output=True, text=True, check=True)

    receipt = json.loads(done.stdout)["receipts"][0]
    assert receipt["output_bytes"] == 50_000_009
    assert receipt["tail"].endswith("\nthe end\n")
    assert len(receipt["tail"]) == 4_000
    assert int(done.stderr) < 100_000, "kilobytes of memory"


def test_output_is_shown_as_it_comes_and_never_on_standard_output(repository):
    configure(repository, {"name": "tests", "run": "printf 'out\\377\\033[31m\\n'; echo err >&2"})
    decapod(repository, "trust")
    command = [sys.executable, "-m", "decapod_py", "proof", "run", "--json"]
    done = subprocess.run(command, cwd=repository, capture_output=True, check=True)

    assert json.loads(done.stdout)["receipts"][0]["tail"] == "out\ufffd\nerr\n"
    assert done.stderr.endswith(b"\nout\xff\x1b[31m\nerr\n")


def test_a_reader_who_stopped_reading_does_not_stop_the_clock(repository):
    configure(repository, {"name": "tests", "run": "yes", "timeout": "1s"})
    decapod(repository, "trust")
    command = [sys.executable, "-m", "decapod_py", "proof", "run", "--json"]
    # Nobody reads from this pipe.
    with subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert json.loads(process.stdout.read())["receipts"][0]["timed_out"] is True


def test_a_reader_who_has_left_does_not_matter(repository):
    configure(repository, {"name": "tests", "run": "seq 100000"})
    decapod(repository, "trust")
    done = subprocess.run(
        f"{OURS} proof run --json 2> >(true)", shell=True, executable="/bin/bash", cwd=repository, capture_output=True
    )

    assert json.loads(done.stdout)["ok"] is True


def test_escapes_and_broken_text_become_harmless_and_secrets_are_masked(opened, prove):
    receipt = prove(f"printf '\\377\\033]0;title\\007\\r\\n\\000token: {TOKEN}\\nend\\n'")

    assert receipt["tail"] == "\ufffd\\x1b]0;title\\x07\n\\x00token: [masked: GitHub token]\nend\n"
    assert TOKEN not in receipt["command"]
    assert TOKEN not in json.dumps(opened.ledger.show())


def test_a_proof_that_changes_its_own_files_counts_for_nothing(opened, prove):
    receipt = prove("date +%N > src/generated.py", paths=["src/**"])

    assert (receipt["passed"], receipt["paths_changed"]) == (True, True)
    listed = opened.proof.list()["proofs"][0]
    assert (listed["state"], "while it ran" in listed["reason"]) == ("outdated", True)
    assert opened.proof.run()["ok"] is False


def test_a_proof_may_use_decapod_itself_and_runs_no_proofs(repository, opened, prove):
    receipt = prove(
        f"{OURS} knowledge add 'From a proof' --provenance cmd:x && {OURS} proof run --json; {OURS} proof list"
    )

    assert '"code": "not-from-here"' in receipt["tail"]
    assert receipt["passed"]
    assert opened.status()["entries"] == {"active": 1}
    assert opened.ledger.verify()["ok"]


def test_a_proof_has_no_standard_input_and_no_terminal(prove):
    assert prove("cat; tty; : < /dev/tty || echo none")["tail"].splitlines()[0] == "not a tty"


def test_a_command_that_cannot_be_started_is_refused(repository, opened, refused):
    configure(repository, {"name": "tests", "run": "echo \0"})
    opened.trust()

    refused("cannot-run", 1, opened.proof.run)


def test_nothing_runs_until_config_toml_is_trusted(repository, opened, refused):
    configure(repository, {"name": "tests", "run": "touch ran"})

    assert refused("untrusted", 1, opened.proof.run).hint.operation == "trust"
    assert opened.proof.list()["trusted"] is False
    trusted = opened.trust()
    assert (trusted["changed"], trusted["proofs"]) == (True, [{"name": "tests", "run": "touch ran"}])
    assert opened.trust()["changed"] is False
    assert opened.proof.list()["trusted"] is True
    opened.proof.run()
    assert (repository / "ran").exists()


def test_any_change_of_config_toml_ends_the_trust(repository, opened, prove, refused):
    prove("true")
    config = repository / ".decapod" / "config.toml"
    before = config.read_bytes()

    config.write_bytes(before + b"# a comment\n")
    refused("untrusted", 1, opened.proof.run)
    config.write_bytes(before)
    assert opened.proof.run()["ok"]
    assert opened.trust(revoke=True)["changed"] is True
    assert opened.trust(revoke=True)["changed"] is False
    refused("untrusted", 1, opened.proof.run)


def test_a_config_that_came_with_a_pull_is_not_run(repository, opened, prove, tmp_path):
    prove("true")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Proof")
    git(tmp_path, "clone", "-q", str(repository), "clone")
    clone = tmp_path / "clone"
    assert refusal(clone, "proof", "run") == (1, "untrusted")
    decapod(clone, "trust")
    decapod(clone, "proof", "run")
    git(clone, "stash", "-qu")

    configure(repository, {"name": "tests", "run": "touch pwned"})
    git(repository, "commit", "-qam", "Evil")
    git(clone, "pull", "-q")
    assert refusal(clone, "proof", "run") == (1, "untrusted")
    assert not (clone / "pwned").exists()


def test_a_repository_cannot_vouch_for_itself(repository, opened, prove, tmp_path):
    """Whatever is in the working tree may be a stranger's, ignored files included."""
    prove("true")
    git(repository, "add", "-A", "--force")
    git(repository, "commit", "-qm", "All of it, local files too")
    git(tmp_path, "clone", "-q", str(repository), "clone")

    assert refusal(tmp_path / "clone", "proof", "run") == (1, "untrusted")


@pytest.mark.parametrize("home", ["", "relative", "."])
def test_trust_is_never_looked_for_in_the_working_tree(repository, prove, home):
    prove("true")

    done = run(repository, "proof", "run", "--json", XDG_STATE_HOME=home, HOME="relative")
    assert '"code": "no-home"' in done.stderr


def test_trust_shows_a_command_line_by_line(repository):
    configure(repository, {"name": "tests", "run": "make test # quick\nrm -rf \x1b[8m~"})

    shown = run(repository, "trust").stdout.splitlines()

    assert shown[1:4] == ["  tests may run:", "    make test # quick", "    rm -rf \\x1b[8m~"]


def test_hooks_and_agents_neither_trust_nor_run(repository, opened, prove, as_agent, monkeypatch):
    from decapod_py.foundation.errors import Refused

    prove("true")

    for name in ("trust", "proof.run"):
        with pytest.raises(Refused) as problem:
            as_agent(name)
        assert problem.value.code == "not-from-here"
        assert refusal(repository, *name.split("."), DECAPOD_HOOK="pre-commit") == (1, "not-from-here")
    assert refusal(repository, "trust", DECAPOD_ACTOR="agent:helper") == (1, "agent-approves")
    assert [proof["state"] for proof in as_agent("proof.list")["proofs"]] == ["good"]


def test_agents_are_offered_the_list_and_nothing_that_runs():
    from decapod_py.operations import catalogue

    offered = {operation.name for operation in catalogue.all_operations() if operation.tool}

    assert offered & {"trust", "proof.run", "proof.list"} == {"proof.list"}


def started(repository: Path, command: str) -> tuple[subprocess.Popen[bytes], int]:
    """`decapod proof run` in the middle of a command, and the command's process."""
    noted = repository / ".decapod" / "local" / "noted"
    configure(repository, {"name": "tests", "run": f"echo $$ > {noted}.new; mv {noted}.new {noted}; {command}"})
    decapod(repository, "trust")
    process = subprocess.Popen(
        [sys.executable, "-m", "decapod_py", "proof", "run"],
        cwd=repository,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    until(noted.exists)
    return process, int(noted.read_text())


@pytest.mark.parametrize(
    ("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
def test_whoever_stops_us_stops_the_command_and_there_is_no_receipt(repository, opened, number, exit_code):
    process, command = started(repository, "sleep 100")

    process.send_signal(number)

    assert process.wait(20) == exit_code
    until(lambda: not is_running(command))
    assert states(opened) == {"tests": "missing"}
    assert opened.doctor()["problems"] == []


def test_killed_in_the_middle_we_leave_no_receipt_and_no_damage(repository, opened):
    process, command = started(repository, "sleep 100")
    try:
        process.kill()
        process.wait()

        assert states(opened) == {"tests": "missing"}
        assert opened.doctor()["problems"] == []
        assert opened.ledger.verify()["events"] == 0
        configure(repository, {"name": "tests", "run": "true"})
        opened.trust()
        assert opened.proof.run()["ok"]
    finally:
        os.killpg(command, signal.SIGKILL)


def test_others_write_while_a_proof_runs(repository, opened, knowledge):
    process, _ = started(repository, "while [ ! -e stop ]; do sleep 0.02; done; rm stop")

    knowledge.add(title="T", text="x", provenance=["cmd:x"])
    (repository / "stop").touch()

    assert process.wait(20) == 0
    assert states(opened) == {"tests": "good"}
    assert opened.status()["entries"] == {"active": 1}


def test_what_could_not_be_recorded_is_not_begun(repository, opened):
    configure(repository, {"name": "tests", "run": "touch ran"})
    opened.trust()
    opened.close()
    shutil.rmtree(repository / ".decapod" / "local")
    (repository / ".decapod" / "local").write_text("in the way")

    assert refusal(repository, "proof", "run") == (1, "read-only")
    assert not (repository / "ran").exists()


def test_people_read_this(repository):
    configure(repository, {"name": "tests", "run": "true"}, {"name": "lint", "run": "false", "required": False})

    assert run(repository, "proof", "list").stdout == (
        "tests  missing: it has not run\n"
        "lint   missing (not required): it has not run\n"
        "next: decapod trust; until then none of them runs here\n"
    )
    run(repository, "trust")
    assert [line.split(",")[0] for line in run(repository, "proof", "run").stdout.splitlines()] == [
        "passed  tests",
        "FAILED with exit code 1  lint",
        "2 proofs run",
    ]
    assert "next:" not in run(repository, "proof", "list").stdout
