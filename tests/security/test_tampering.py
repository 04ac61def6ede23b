"""Whoever writes to the ledgers behind the program's back is seen, with the place, by `validate` in a clone."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from forging import PROMOTIONS, after, commit, events, place_of, put, resealed, segments, told, validated
from support import decapod, git, make_repository, run

from decapod_py.domain.event import to_line

BASE = ("--base", "origin/main")
BEA = {"GIT_AUTHOR_NAME": "Bea", "GIT_AUTHOR_EMAIL": "bea@example.com"}


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """Four entries, two commits, and a promotion that became a rule."""
    top = tmp_path / "origin"
    make_repository(top)
    for name in ("one", "two"):
        decapod(top, "knowledge", "add", f"Entry {name}", "--id", name, "--provenance", "person:x")
    commit(top, "Know")
    for name in ("three", "four"):
        decapod(top, "knowledge", "add", f"Entry {name}", "--id", name, "--provenance", "person:x")
    commit(top, "Know more")
    return top


@pytest.fixture
def clone(origin: Path, tmp_path: Path) -> Path:
    return cloned(origin, tmp_path / "clone")


def cloned(origin: Path, place: Path) -> Path:
    git(place.parent, "clone", "-q", str(origin), str(place))
    git(place, "switch", "-qc", "work")
    return place


def commit_as(place: Path, monkeypatch: pytest.MonkeyPatch, who: dict[str, str]) -> None:
    with monkeypatch.context() as environment:
        for name, value in who.items():
            environment.setenv(name, value)
        commit(place, "Approve")


def is_told(place: Path, gate: str, code: str, file: Path | str, line: int | None, *options: str) -> dict[str, Any]:
    """Validate exits 1 and names the place; returns its whole answer."""
    exit_code, answer = validated(place, *options)
    named = file if isinstance(file, str) else place_of(place, file)
    assert exit_code == 1, answer
    assert (gate, code, named, line) in told(answer)
    return answer


@pytest.mark.parametrize("options", [(), BASE])
def test_a_line_that_was_edited(clone: Path, options: tuple[str, ...]) -> None:
    segment = segments(clone)[0]
    segment.write_bytes(segment.read_bytes().replace(b"Entry two", b"Entry TWO"))
    commit(clone)

    is_told(clone, "ledgers", "text-mismatch", segment, 2, *options)


@pytest.mark.parametrize("options", [(), BASE])
def test_a_field_that_was_edited(clone: Path, options: tuple[str, ...]) -> None:
    segment = segments(clone)[0]
    segment.write_bytes(segment.read_bytes().replace(b'"actor":"Ada"', b'"actor":"Bea"'))
    commit(clone)

    is_told(clone, "ledgers", "hash-mismatch", segment, 1, *options)


def test_a_line_that_was_removed_though_others_build_on_it(clone: Path) -> None:
    segment = segments(clone)[0]
    _, second = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(second)
    commit(clone)

    is_told(clone, "append-only", "event-removed", segment, 1, *BASE)
    _, answer = validated(clone)
    assert ("gaps", "gap", place_of(clone, segment), 1) in told(answer), "seen without a base, too, as a warning"
    assert validated(clone, "--strict")[0] == 1


def test_a_tip_that_was_cut_off_is_seen_against_the_base(clone: Path) -> None:
    segment = segments(clone)[-1]
    segment.write_bytes(segment.read_bytes().splitlines(keepends=True)[0])
    for page in (clone / ".decapod" / "knowledge").rglob("four*.md"):
        page.unlink()
    commit(clone)

    assert validated(clone, "--strict")[1]["findings"] == [], "keyless hashes cannot show a cut tip by themselves"
    is_told(clone, "append-only", "event-removed", segment, 2, *BASE)


def test_everything_rewritten_with_hashes_that_match_is_seen_against_the_base(clone: Path) -> None:
    parents: list[str] = []
    for segment in segments(clone):
        lines = []
        for line in segment.read_bytes().splitlines():
            event = resealed(json.loads(line), actor="Mallory", prev=parents)
            lines.append(to_line(event))
            parents = [event["hash"]]
        segment.write_bytes(b"".join(lines))
    commit(clone)

    assert validated(clone)[0] == 0, "rewriting everything shows in git only"
    is_told(clone, "append-only", "event-removed", segments(clone)[0], 1, *BASE)


@pytest.mark.parametrize("options", [(), BASE])
def test_an_event_that_was_moved_to_another_ledger(clone: Path, options: tuple[str, ...]) -> None:
    segment = segments(clone)[-1]
    there = clone / ".decapod" / "ledgers" / PROMOTIONS / segment.parent.name
    there.mkdir(parents=True)
    shutil.move(segment, there / segment.name)
    commit(clone)

    is_told(clone, "ledgers", "wrong-ledger", there / segment.name, 1, *options)
    if options:
        is_told(clone, "append-only", "event-removed", place_of(clone, segment), 1, *options)


@pytest.mark.parametrize("options", [(), BASE])
def test_the_same_id_with_other_bytes(clone: Path, options: tuple[str, ...]) -> None:
    last = events(clone)[-1]
    segment = put(clone, resealed(last, text={**last["text"], "content": "Quite another text."}))
    commit(clone)

    exit_code, answer = validated(clone, *options)

    assert exit_code == 1
    (found,) = [one for one in answer["findings"] if one["code"] == "id-used-twice"]
    assert found["file"] in {place_of(clone, segment), place_of(clone, segments(clone)[-1])}
    assert last["event_id"] in found["message"]


def test_a_committed_segment_that_grew(clone: Path) -> None:
    segment = segments(clone)[0]
    last = events(clone)[-1]
    with segment.open("ab") as file:
        file.write(to_line(after(last, entry_id="five", path="five-1.md")))
    commit(clone)

    is_told(clone, "append-only", "segment-changed", segment, None, *BASE)


def test_lines_of_a_committed_segment_in_another_order(clone: Path) -> None:
    segment = segments(clone)[0]
    segment.write_bytes(b"".join(reversed(segment.read_bytes().splitlines(keepends=True))))
    commit(clone)

    is_told(clone, "append-only", "segment-changed", segment, None, *BASE)


def test_a_whole_ledger_that_was_removed(clone: Path) -> None:
    first = place_of(clone, segments(clone)[0])
    shutil.rmtree(clone / ".decapod" / "ledgers" / "knowledge.events")
    commit(clone)

    answer = is_told(clone, "append-only", "event-removed", first, 1, *BASE)

    assert sum(one["code"] == "event-removed" for one in answer["findings"]) == 4


def test_all_of_decapod_removed(clone: Path) -> None:
    """Whoever takes the whole folder away must not make CI green."""
    first = place_of(clone, segments(clone)[0])
    git(clone, "rm", "-rq", ".decapod")
    shutil.rmtree(clone / ".decapod", ignore_errors=True)
    commit(clone)

    done = run(clone, "validate", *BASE, "--json")

    assert done.returncode in (1, 2)
    assert first in done.stdout or "init" in done.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET title = 'Another' WHERE id = 'one'",
        "UPDATE entries SET status = 'deprecated' WHERE id = 'one'",
        "DELETE FROM entries WHERE id = 'one'",
        "DELETE FROM events WHERE number = (SELECT max(number) FROM events)",
        "DELETE FROM event_subjects WHERE subject = 'e:one'",
    ],
)
def test_a_database_that_was_edited(clone: Path, statement: str) -> None:
    decapod(clone, "status")
    with sqlite3.connect(clone / ".decapod" / "local" / "knowledge.db") as database:
        database.execute(statement)

    is_told(clone, "database", "database-differs", ".decapod/local/knowledge.db", None)


def test_a_database_that_was_edited_is_seen_with_a_base_where_the_branch_acts(clone: Path) -> None:
    decapod(clone, "knowledge", "edit", "one", "--text", "Another text.")
    with sqlite3.connect(clone / ".decapod" / "local" / "knowledge.db") as database:
        database.execute("UPDATE entries SET content = 'A third text.' WHERE id = 'one'")

    is_told(clone, "database", "database-differs", ".decapod/local/knowledge.db", None, *BASE)


def promote(place: Path, *more: str, evidence: str = "file:src/a.py#L3") -> str:
    asked = ("--source-entry-id", "one", "--evidence-ref", evidence, "--reason", "It hurt", "--actor", "Ada")
    return str(decapod(place, "knowledge", "promote", *asked, *more)["event_id"])


def rule(place: Path, promotion: str, name: str = "one") -> str:
    """Makes the rule; returns its file."""
    decapod(place, "knowledge", "add", "--id", f"procedural/{name}", "--provenance", f"event:{promotion}")
    return str(decapod(place, "knowledge", "get", f"procedural/{name}")["path"])


@pytest.mark.parametrize("options", [(), BASE])
def test_a_rule_with_a_text_that_was_not_approved(clone: Path, options: tuple[str, ...]) -> None:
    promotion = promote(clone, "--approved-by", "Bea")
    last = events(clone)[-1]
    text = {**last["text"], "content": "Whatever I like."}
    forged = {"entry_id": "procedural/one", "path": "procedural/one-1.md", "provenance": [f"event:{promotion}"]}
    put(clone, after(last, text=text, **forged))
    commit(clone)

    is_told(clone, "promotions", "not-the-approved-text", ".decapod/knowledge/procedural/one-1.md", None, *options)


@pytest.mark.parametrize("options", [(), BASE])
def test_a_rule_whose_promotion_is_not_here(clone: Path, options: tuple[str, ...]) -> None:
    promotion = promote(clone, "--approved-by", "Bea")
    file = rule(clone, promotion)
    shutil.rmtree(clone / ".decapod" / "ledgers" / PROMOTIONS)
    commit(clone)

    is_told(clone, "promotions", "unknown-promotion", file, None, *options)


@pytest.mark.parametrize("options", [(), BASE])
def test_a_promotion_that_was_revoked(clone: Path, options: tuple[str, ...]) -> None:
    promotion = promote(clone, "--approved-by", "Bea")
    file = rule(clone, promotion)
    decapod(clone, "knowledge", "revoke-promotion", promotion, "--reason", "We were wrong")
    commit(clone)

    is_told(clone, "promotions", "promotion-revoked", file, None, *options)


def test_a_branch_that_only_revokes_is_told_of_the_rule_that_rests_on_it(origin: Path, tmp_path: Path) -> None:
    promotion = promote(origin, "--approved-by", "Bea")
    file = rule(origin, promotion)
    commit(origin)
    clone = cloned(origin, tmp_path / "clone")
    assert validated(clone, *BASE)[0] == 0
    decapod(clone, "knowledge", "revoke-promotion", promotion, "--reason", "We were wrong")
    commit(clone)

    is_told(clone, "promotions", "promotion-revoked", file, None, *BASE)


@pytest.mark.parametrize("options", [(), BASE])
def test_a_promotion_that_two_rules_use(clone: Path, options: tuple[str, ...]) -> None:
    promotion = promote(clone, "--approved-by", "Bea")
    file = rule(clone, promotion)
    put(clone, after(events(clone)[-1], entry_id="procedural/second", path="procedural/second-1.md"))
    commit(clone)

    is_told(clone, "promotions", "promotion-used-twice", file, None, *options)


@pytest.mark.parametrize("options", [(), BASE])
def test_evidence_that_was_deleted(origin: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    file = rule(origin, promote(origin, "--approved-by", "Bea"))
    commit(origin)
    clone = cloned(origin, tmp_path / "clone")
    git(clone, "rm", "-q", "src/a.py")
    commit(clone)

    is_told(clone, "promotions", "evidence-missing", file, None, *options)


@pytest.mark.parametrize("options", [(), BASE])
def test_a_redaction_that_was_undone(origin: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    old = segments(origin)[0].read_bytes()
    decapod(origin, "ledger", "redact", "two", "--reason", "It leaked")
    commit(origin)
    clone = cloned(origin, tmp_path / "clone")
    segments(clone)[0].write_bytes(old)
    commit(clone)

    is_told(clone, "redactions", "redaction-undone", segments(clone)[0], 2, *options)


def appoint(place: Path, *approvers: str) -> None:
    config = place / ".decapod" / "config.toml"
    config.write_text(f"format = 1\n[promotion]\napprovers = {json.dumps(approvers)}\n")


@pytest.fixture
def governed(origin: Path, tmp_path: Path) -> Path:
    """A clone of a repository where only Bea approves."""
    appoint(origin, "bea@example.com")
    commit(origin, "Appoint Bea")
    return cloned(origin, tmp_path / "clone")


@pytest.mark.parametrize("options", [(), BASE])
def test_a_name_on_the_command_line_approves_nothing_where_approvers_are_appointed(
    governed: Path, options: tuple[str, ...]
) -> None:
    file = rule(governed, promote(governed, "--approved-by", "Bea"))
    is_told(governed, "promotions", "approval-uncommitted", file, None, *options)
    commit(governed)

    answer = is_told(governed, "promotions", "approver-unknown", file, None, *options)

    (found,) = [one for one in answer["findings"] if one["gate"] == "promotions"]
    assert "Ada <ada@example.com>" in found["message"]


@pytest.mark.parametrize("options", [(), BASE])
def test_a_commit_by_an_approver_approves(
    governed: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    promotion = promote(governed)
    commit(governed, "Propose")
    decapod(governed, "knowledge", "approve", promotion, "--actor", "Bea")
    commit_as(governed, monkeypatch, BEA)
    rule(governed, promotion)
    commit(governed, "Rule")

    assert validated(governed, *options)[0] == 0


def test_whoever_packs_or_merges_an_approval_of_somebody_else_approves_nothing(
    governed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = rule(governed, promote(governed, "--approved-by", "Bea"))
    commit(governed)
    git(governed, "switch", "-qc", "trunk", "origin/main")
    (governed / "README.md").write_text("Hello.\n")
    commit_as(governed, monkeypatch, BEA)
    with monkeypatch.context() as environment:
        for name, value in BEA.items():
            environment.setenv(name, value)
        git(governed, "merge", "-q", "--no-edit", "work")

    is_told(governed, "promotions", "approver-unknown", file, None)


@pytest.mark.parametrize("appointed", ["ada@example.com", "Ada"])
def test_a_branch_cannot_appoint_its_own_approvers(governed: Path, appointed: str) -> None:
    promotion = promote(governed, "--approved-by", "Bea")
    appoint(governed, "bea@example.com", appointed)
    file = rule(governed, promotion)
    commit(governed)

    is_told(governed, "promotions", "approver-unknown", file, None, *BASE)


def test_a_branch_cannot_dismiss_the_approvers_or_switch_the_gate_off(governed: Path) -> None:
    file = rule(governed, promote(governed, "--approved-by", "Bea"))
    (governed / ".decapod" / "config.toml").write_text("format = 1\n[gates]\npromotions = 'off'\nappend-only = 'off'\n")
    commit(governed)

    assert validated(governed)[0] == 0
    is_told(governed, "promotions", "approver-unknown", file, None, *BASE)


def test_an_approver_does_not_approve_their_own_proposal(governed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("--source-entry-id", "one", "--evidence-ref", "cmd:x", "--reason", "It hurt", "--actor", "Bea")
    promotion = decapod(governed, "knowledge", "promote", *asked, "--approved-by", "Cleo")["event_id"]
    file = rule(governed, promotion)
    commit_as(governed, monkeypatch, BEA)

    is_told(governed, "promotions", "self-approval", file, None, *BASE)


def test_a_shallow_clone_does_not_take_its_first_commit_for_the_approver(
    governed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = rule(governed, promote(governed, "--approved-by", "Bea"))
    commit(governed)
    (governed / "README.md").write_text("Hello.\n")
    commit_as(governed, monkeypatch, BEA)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{governed}", "shallow")

    answer = is_told(tmp_path / "shallow", "promotions", "approval-unseen", file, None)

    assert "fetch-depth: 0" in answer["findings"][0]["fix"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_segment_that_is_a_link_to_somewhere_else_is_no_way_around(clone: Path) -> None:
    segment = segments(clone)[-1]
    elsewhere = clone.parent / "elsewhere.jsonl"
    shutil.move(segment, elsewhere)
    segment.symlink_to(elsewhere)
    commit(clone)

    is_told(clone, "append-only", "event-removed", segment, 1, *BASE)
