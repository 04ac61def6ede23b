"""`decapod validate` itself: levels, formats, exit codes, the baseline, and that it never repairs."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from support import git, run
from validating import CODE, Reviewed, cloned, files_of, made

from decapod_py.foundation.errors import DecapodError

FAIL = {"format", "ledgers", "append-only", "database", "secrets", "promotions", "redactions", "clock", "proofs"}
WARN = {
    "drift",
    "markdown",
    "gaps",
    "diverged",
    "merge-keys",
    "cycles",
    "decay",
    "hidden-text",
    "links",
    "size",
}


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda handle: None)


@pytest.fixture
def tree(tmp_path: Path) -> Reviewed:
    return made(tmp_path / "tree")


def misused(call: Any, **options: Any) -> DecapodError:
    with pytest.raises(DecapodError) as problem:
        call(**options)
    assert problem.value.exit_code == 2, problem.value.message
    return problem.value


def with_a_warning(tree: Reviewed) -> None:
    """The cited lines change after they were cited."""
    tree.add("retries", "file:src/client.py#L1-L4")
    tree.write("src/client.py", CODE.replace("send", "post"))


def with_a_failure(tree: Reviewed) -> None:
    """A line that is no event."""
    tree.put(b'{"v":1}\n')


def test_each_gate_has_the_level_that_is_promised_and_a_sound_repository_passes(tree):
    tree.add("retries", "file:src/client.py#L3")
    tree.rule(tree.promote())
    tree.commit()

    result = tree.validate()

    levels = {gate["gate"]: gate["level"] for gate in result["gates"]}
    assert {gate for gate, level in levels.items() if level == "fail"} == FAIL
    assert {gate for gate, level in levels.items() if level == "warn"} == WARN
    assert (result["ok"], result["broken"], result["findings"]) == (True, False, [])
    states = {gate["gate"]: gate["state"] for gate in result["gates"]}
    assert {gate: state for gate, state in states.items() if state != "passed"} == {
        "append-only": "skipped",
        "proofs": "skipped",
    }


def test_a_finding_has_gate_code_severity_place_message_and_fix(tree):
    with_a_warning(tree)

    (finding,) = tree.validate()["findings"]

    assert finding["gate"] == "drift"
    assert finding["code"] == "changed"
    assert finding["severity"] == "warning"
    assert (finding["entry"], finding["file"], finding["line"]) == ("retries", "src/client.py", 1)
    assert "reads differently now" in finding["message"]
    assert "decapod knowledge reaffirm retries" in finding["fix"]
    assert len(finding["fingerprint"]) == 16


def test_exit_codes_are_0_clean_1_failing_2_misused(tree):
    assert run(tree.top, "validate").returncode == 0
    with_a_warning(tree)
    warned = run(tree.top, "validate")
    assert (warned.returncode, "warning: src/client.py:1:" in warned.stdout) == (0, True)
    assert run(tree.top, "validate", "--strict").returncode == 1
    with_a_failure(tree)
    failed = run(tree.top, "check")
    assert (failed.returncode, "error: .decapod/ledgers/knowledge.events/" in failed.stdout) == (1, True)
    assert run(tree.top, "validate", "--gate", "drfit").returncode == 2


def test_a_gate_that_breaks_exits_3_and_the_others_still_tell(tree):
    with_a_warning(tree)
    key = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    tree.put(tree.crafted("entry.added", {"content": f"{key} {'a' * 40}!"}, entry_id="leak"))
    pattern = r"(?:\w|\w\w)*\W"
    tree.configure(f"[secrets]\nallow = ['{pattern}']")

    done = run(tree.top, "validate", "--format", "json")

    assert done.returncode == 3, done.stdout + done.stderr
    result = json.loads(done.stdout)
    (broken,) = [gate for gate in result["gates"] if gate["state"] == "broken"]
    assert broken["gate"] == "secrets"
    assert broken["reason"] == f"the pattern of allowed secrets {pattern!r} took longer than 0.25 s"
    assert result["broken"] is True
    assert ("drift", "changed") in [(finding["gate"], finding["code"]) for finding in result["findings"]]


def test_config_changes_a_level(tree):
    with_a_warning(tree)
    tree.configure("[gates]\ndrift = 'fail'")
    assert tree.validate()["ok"] is False
    tree.configure("[gates]\ndrift = 'off'")
    assert tree.states()["drift"] == "off"
    assert tree.found() == []


def test_a_gate_that_is_off_is_asked_when_it_is_named(tree):
    with_a_warning(tree)
    tree.configure("[gates]\ndrift = 'off'")

    result = tree.validate(gates=["drift"])

    assert [(gate["gate"], gate["level"], gate["state"]) for gate in result["gates"]] == [("drift", "warn", "warned")]


@pytest.mark.parametrize(
    ("config", "message", "hint"),
    [
        ("[gates]\ndrfit = 'fail'", "unknown key 'drfit' in gates", "did you mean 'drift'?"),
        ("[gates]\ndrift = 'fial'", "gates.drift must be one of fail, warn, off", "did you mean 'fail'?"),
        ("[gates]\ndrift = true", "gates.drift must be one of", None),
        ("[gate]\ndrift = 'fail'", "unknown key 'gate'", "did you mean 'gates'?"),
        ("[promotion]\naprovers = ['a']", "unknown key 'aprovers'", "did you mean 'approvers'?"),
    ],
)
def test_a_wrong_key_or_level_is_an_error_that_names_the_nearest_right_one(tree, config, message, hint):
    tree.configure(config)

    problem = misused(tree.validate)

    assert message in problem.message
    assert hint is None or hint in str(problem.hint)


@pytest.mark.parametrize(
    "config",
    [
        "gates = 3",
        "gates = [1]",
        "[gates]\ndrift = 3",
        "[gates]\ndrift = ['fail']",
        "[gates.drift]\na = 1",
        "secrets = 'x'",
        "[secrets]\nallow = 'x'",
        "[secrets]\nallow = [1]",
        "promotion = true",
        "[promotion]\napprovers = 'ana'",
        "[promotion]\napprovers = [[]]",
        "limits = []",
        "[limits]\nentry_characters = 'many'",
        "[limits]\nentry_characters = -1",
        "[limits]\nentry_characters = true",
        "proof = 'x'",
        "[proof]\nname = 'x'",
        "[[proof]]\nname = 3\nrun = 'x'",
        "[[proof]]\nname = 'x'\nrun = 'x'\ntimeout = 3",
        "[[proof]]\nname = 'x'\nrun = 'x'\npaths = 'x'",
        "provenance = 1",
        "[provenance]\nschemes = 1",
        "[provenance.schemes]\njira = 1",
        "decay = 1",
        "[decay]\ndefault = 1",
        "[decay.default]\ndecay = 1",
        "x = {" * 500,
        "= = =",
        "\x00",
    ],
)
def test_a_config_of_wrong_types_is_an_error_that_names_the_place(tree, config):
    tree.configure(config)
    assert ".decapod/config.toml" in misused(tree.validate).message


def test_an_unknown_gate_is_misuse_that_names_the_nearest(tree):
    assert "did you mean 'drift'?" in str(misused(tree.validate, gates=["drfit"]).hint)
    assert "did you mean 'drift'?" in str(misused(tree.validate, explain="drfit").hint)
    assert "append-only" in str(misused(tree.validate, gates=["???"]).hint)


def test_only_the_gates_that_were_named_run_each_once(tree):
    with_a_warning(tree)
    with_a_failure(tree)

    result = tree.validate(gates=["size", "drift", "size"])

    assert [gate["gate"] for gate in result["gates"]] == ["size", "drift"]
    assert [finding["gate"] for finding in result["findings"]] == ["drift"]


def test_path_leaves_findings_about_other_files_out_in_every_gate(tree):
    with_a_warning(tree)
    with_a_failure(tree)
    tree.configure("[limits]\nentry_characters = 10")
    tree.write("docs/a.md", "a\n")
    tree.add("about-docs", "file:docs/a.md")

    assert {code for _, code in tree.found()} == {"changed", "bad-field", "too-long"}
    assert tree.found(path="src/**") == [("drift", "changed"), ("size", "too-long")]
    assert [finding["entry"] for finding in tree.validate(path="docs/*")["findings"]] == ["about-docs"]
    assert tree.found(path=".decapod/ledgers/**") == [("ledgers", "bad-field")]
    assert tree.found(path="nothing/*") == []


def test_explain_prints_what_a_gate_is_for_and_runs_nothing(tree):
    done = run(tree.top, "validate", "--explain", "append-only")
    assert done.returncode == 0
    assert done.stdout.startswith("append-only (fail by default)\n\nLedgers only grow")
    for gate in sorted(FAIL | WARN):
        assert len(tree.validate(explain=gate)["report"]) > 100


def test_a_skipped_gate_is_told_and_is_no_pass(tree):
    done = run(tree.top, "validate")
    assert "skipped: append-only: it needs --base REF" in done.stdout
    assert "2 skipped" in done.stdout.splitlines()[-1]


def test_every_format_tells_the_same_findings(tree):
    with_a_warning(tree)
    with_a_failure(tree)

    text = run(tree.top, "validate")
    as_json = run(tree.top, "validate", "--format", "json")
    same = run(tree.top, "validate", "--json")
    sarif = run(tree.top, "validate", "--format", "sarif")
    github = run(tree.top, "validate", "--format", "github")

    assert {one.returncode for one in (text, as_json, same, sarif, github)} == {1}
    assert json.loads(as_json.stdout) == json.loads(same.stdout)
    findings = json.loads(as_json.stdout)["findings"]
    assert sorted(finding["code"] for finding in findings) == ["bad-field", "changed"]
    results = json.loads(sarif.stdout)["runs"][0]["results"]
    assert sorted(one["ruleId"] for one in results) == ["drift/changed", "ledgers/bad-field"]
    assert {one["partialFingerprints"]["decapodFinding/v1"] for one in results} == {
        finding["fingerprint"] for finding in findings
    }
    assert "::warning file=src/client.py,line=1," in github.stdout
    assert "::error file=.decapod/ledgers/" in github.stdout
    assert text.stdout.count("fix:") == 2


# The baseline


def test_the_baseline_makes_old_findings_known_and_counts_new_ones(tree):
    with_a_warning(tree)
    with_a_failure(tree)
    written = tree.validate(write_baseline=True)
    assert (written["ok"], written["known"], written["findings"]) == (True, 2, [])
    assert tree.validate(strict=True)["ok"] is True

    tree.put(b"not even JSON\n", name=1)

    again = tree.validate()
    assert (again["ok"], again["known"]) == (False, 2)
    assert [finding["code"] for finding in again["findings"]] == ["not-json"]
    assert {gate["gate"]: gate["state"] for gate in again["gates"]}["drift"] == "passed"


def test_a_second_finding_of_a_known_kind_in_the_same_place_is_new(tree):
    path = tree.put(b'{"v":1}\n')
    tree.validate(write_baseline=True)

    path.write_bytes(b'{"v":1}\n{"v":1}\n')

    result = tree.validate(format="sarif")
    assert (result["known"], len(result["findings"])) == (1, 1)
    assert len(json.loads(result["report"])["runs"][0]["results"]) == 1


def test_a_known_finding_stays_known_when_lines_move(tree):
    path = tree.put(b'{"v":1}\n')
    tree.validate(write_baseline=True)

    path.write_bytes(b'\n\n{"v":1}\n')

    assert [finding["code"] for finding in tree.validate()["findings"]] == ["not-json", "not-json"]


def test_what_went_away_leaves_the_baseline_when_it_is_written_again(tree):
    with_a_warning(tree)
    path = tree.put(b'{"v":1}\n')
    tree.validate(write_baseline=True)
    before = (tree.top / ".decapod/baseline.json").read_text().splitlines()
    path.unlink()

    assert tree.validate()["known"] == 1
    tree.validate(write_baseline=True)

    after = (tree.top / ".decapod/baseline.json").read_text().splitlines()
    assert len(before) - len(after) == 1
    assert len(json.loads("\n".join(after))["findings"]) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b'{"findings": 3}',
        b'{"findings": [3]}',
        b'{"findings": {"a": 1}}',
        b'{"findings": [{"fingerprint": "x"}]}',
        b'{"findings": [{"fingerprint": "x", "count": "many"}]}',
        b'{"findings": [{"fingerprint": "x", "count": Infinity}]}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_damaged_baseline_is_misuse_that_says_what_to_do(tree, data):
    (tree.top / ".decapod/baseline.json").write_bytes(data)
    problem = misused(tree.validate)
    assert (problem.code, "git checkout -- .decapod/baseline.json" in str(problem.hint)) == ("bad-baseline", True)


def test_a_baseline_of_100_000_lines_costs_little(tree):
    with_a_warning(tree)
    findings = [{"fingerprint": f"{number:016x}", "count": 1} for number in range(100_000)]
    tree.write(".decapod/baseline.json", json.dumps({"findings": findings}))
    assert tree.found() == [("drift", "changed")]


@pytest.mark.parametrize("option", [{"base": "main"}, {"staged": True}, {"gates": ["drift"]}, {"path": "src/*"}])
def test_a_baseline_of_some_findings_is_not_written(tree, option):
    assert misused(tree.validate, write_baseline=True, **option).code == "partial-baseline"
    assert not (tree.top / ".decapod/baseline.json").exists()


def test_a_baseline_is_not_written_while_a_gate_is_broken(tree):
    with_a_warning(tree)
    tree.validate(write_baseline=True)
    before = files_of(tree.top)
    key = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    tree.put(tree.crafted("entry.added", {"content": key}, entry_id="leak"))
    tree.configure("[secrets]\nallow = ['[']")

    with pytest.raises(DecapodError) as problem:
        tree.validate(write_baseline=True)

    assert problem.value.code == "gate-broken"
    assert files_of(tree.top)[".decapod/baseline.json"] == before[".decapod/baseline.json"]


# It never repairs


def test_validate_changes_nothing_but_what_is_local(tree):
    stale, missing, edited = (tree.add(name) for name in ("stale", "missing", "edited"))
    tree.commit()
    paths = {name: tree.top / tree.knowledge.get(id=name)["path"] for name in (stale, missing, edited)}
    old = paths[stale].read_bytes()
    tree.knowledge.edit(id=stale, text="Newer.")
    tree.commit()
    paths[stale].write_bytes(old)
    paths[missing].unlink()
    paths[edited].write_text(paths[edited].read_text().replace("About", "All about"))
    with_a_failure(tree)
    before = files_of(tree.top)
    status = tree.git("status", "--porcelain")
    fresh = Reviewed(tree.top, tree.clock)

    for options in ({}, {"base": "HEAD~1"}, {"staged": True}, {"strict": True, "format": "sarif"}):
        fresh.validate(**options)

    assert {code for gate, code in fresh.found() if gate == "markdown"} == {
        "markdown-stale",
        "markdown-missing",
        "markdown-edited",
    }
    assert files_of(tree.top) == before
    assert tree.git("status", "--porcelain") == status


def test_whoever_validated_writes_markdown_again_afterwards(tree):
    tree.validate()
    tree.decapod.review(base="HEAD")
    tree.add("later")
    assert (tree.top / tree.knowledge.get(id="later")["path"]).exists()


def test_a_fresh_clone_validates_and_stays_clean(tree):
    tree.add("retries", "file:src/client.py#L3")
    tree.rule(tree.promote())
    tree.commit()
    clone = cloned(tree)

    done = run(clone.top, "validate", "--strict")

    assert done.returncode == 0, done.stdout
    assert git(clone.top, "status", "--porcelain", "--ignored").split() == ["!!", ".decapod/local/"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_checkout_validates(tree):
    with_a_warning(tree)
    places = [tree.top, *tree.top.rglob("*")]
    modes = {place: place.stat().st_mode for place in places}
    for place in places:
        place.chmod(modes[place] & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    try:
        assert Reviewed(tree.top, tree.clock).found() == [("drift", "changed")]
    finally:
        for place in places:
            place.chmod(modes[place])


def test_a_checkout_whose_database_cannot_be_written_validates(tree):
    with_a_warning(tree)
    tree.commit()
    clone = cloned(tree)
    (clone.top / ".decapod" / "local").write_text("no folder can be made here")
    before = files_of(clone.top)

    assert clone.found() == [("drift", "changed")]
    assert clone.found(base="HEAD") == []
    assert clone.found(staged=True) == []
    assert files_of(clone.top) == before


def test_outside_git_the_gates_run_and_a_base_is_misuse(tmp_path):
    place = Reviewed(tmp_path / "plain")
    place.top.mkdir()
    place.write("src/client.py", "one\ntwo\nthree\n")
    place.decapod.init()
    place.add("retries", "file:src/client.py#L3")
    assert place.found() == []
    assert misused(place.validate, base="main").code == "no-git"
    assert misused(place.validate, staged=True).code == "no-git"


def test_base_and_staged_are_two_different_changes(tree):
    assert misused(tree.validate, base="main", staged=True).code == "two-changes"
