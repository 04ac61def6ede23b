"""`decapod ledger`: what verify finds, each tampering with its place and never folded; show, restore and pack."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import git

from decapod_py.domain.event import from_line, seal, to_line
from decapod_py.foundation.canonical import canonical, digest
from decapod_py.foundation.ids import milliseconds_of, ulid


@pytest.fixture(autouse=True)
def history(knowledge):
    """One segment of four events about two entries; `b` is about the second line alone."""
    knowledge.add(id="a", title="One", text="First text.", provenance=["cmd:x"])
    knowledge.add(id="b", title="Two", text="Second text.", provenance=["cmd:x"])
    knowledge.edit(id="a", text="Third text.")
    knowledge.edit(id="a", text="Fourth text.")


@pytest.fixture
def segment(repository: Path) -> Path:
    (found,) = (repository / ".decapod" / "ledgers" / "knowledge.events").rglob("*.jsonl")
    return found


def another(segment: Path) -> Path:
    """A segment of the same ledger that sorts after this one."""
    return segment.with_name(f"{ulid(milliseconds_of(segment.stem) + 1)}.jsonl")


def place(segment: Path, line: int) -> str:
    return f".decapod/ledgers/knowledge.events/2026-03/{segment.name}:{line}"


def problems(verified: Any) -> list[tuple[str, str, str]]:
    return [(problem["code"], problem["severity"], problem["place"]) for problem in verified["problems"]]


def alter_line(segment: Path, number: int, change: Callable[[bytes], bytes]) -> None:
    lines = segment.read_bytes().splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    segment.write_bytes(b"".join(lines))


def resealed(line: bytes, **fields: Any) -> bytes:
    """The line as a program that lies would write it: hashes are right."""
    event = from_line(line)
    text = event.pop("text")
    sealed = {name: value for name, value in {**event, **fields}.items() if name != "hash"}
    sealed["hash"] = digest(sealed)
    return to_line({**sealed, "text": text})


def test_sound_ledgers_are_verified(opened):
    assert opened.ledger.verify() == {
        "ok": True,
        "events": 4,
        "segments": 1,
        "ledgers": {"knowledge.events": 4},
        "gaps": 0,
        "problems": [],
    }


TAMPERINGS = {
    "an edited field": (lambda line: line.replace(b'"actor":"Ada"', b'"actor":"Eve"'), "hash-mismatch"),
    "an edited text": (lambda line: line.replace(b"Second text.", b"Second lie."), "text-mismatch"),
    "an edited text and its digest": (
        lambda line: (
            canonical(
                {
                    **(event := json.loads(line)),
                    "text": (text := {**event["text"], "content": "Lie."}),
                    "text_sha256": digest(text),
                }
            )
            + b"\n"
        ),
        "hash-mismatch",
    ),
    "an empty text": (lambda line: canonical({**json.loads(line), "text": {}}) + b"\n", "text-mismatch"),
    "a text that is null": (lambda line: canonical({**json.loads(line), "text": None}) + b"\n", "bad-field"),
    "a key twice": (lambda line: line.replace(b'"v":1', b'"v":1,"v":1'), "not-canonical"),
    "another first value of a key": (lambda line: b'{"actor":"Eve",' + line[1:], "not-canonical"),
    "a float": (lambda line: line.replace(b'"v":1', b'"v":1.0'), "not-json"),
    "NaN": (lambda line: line.replace(b'"v":1', b'"v":NaN'), "not-json"),
    "an escaped lone surrogate": (lambda line: line.replace(b"Second text.", b"\\ud800"), "not-canonical"),
    "an encoded lone surrogate": (lambda line: line.replace(b"Second text.", b"\xed\xa0\x80"), "not-canonical"),
    "bytes that are no UTF-8": (lambda line: line.replace(b"Second text.", b"\xff"), "not-json"),
    "a byte order mark": (lambda line: b"\xef\xbb\xbf" + line, "not-json"),
    "a blank": (lambda line: line.replace(b'":', b'": ', 1), "not-canonical"),
    "a blank line": (lambda line: b"   \n", "not-json"),
    "half a line": (lambda line: line[:80] + b"\n", "not-json"),
    "NUL bytes": (lambda line: b"\0" * 64 + b"\n", "not-json"),
    "deep nesting": (lambda line: b"[" * 100_000 + b"\n", "not-json"),
    "a number of ten thousand digits": (lambda line: b"9" * 10_000 + b"\n", "not-json"),
    "a huge line": (lambda line: b'{"x":"' + b"x" * 5_000_000 + b'"}\n', "bad-field"),
    "no object": (lambda line: b"[]\n", "not-json"),
    "another ledger's name": (lambda line: resealed(line, ledger="knowledge.decay"), "wrong-ledger"),
    "an id that is none": (lambda line: resealed(line, event_id="x"), "bad-field"),
    "a format that is none": (lambda line: resealed(line, v=True), "bad-field"),
    "a conflict marker": (lambda line: b"<<<<<<< ours\n", "not-json"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_tampered_line_is_reported_with_its_place_and_never_folded(opened, knowledge, segment, name):
    change, code = TAMPERINGS[name]
    alter_line(segment, 2, change)

    verified = opened.ledger.verify()

    assert not verified["ok"]
    assert problems(verified)[0] == (code, "error", place(segment, 2))
    assert problems(verified)[1:] == [("gap", "error", place(segment, 3))]
    assert all(problem["message"] and problem["fix"] for problem in verified["problems"])
    with pytest.raises(Exception, match="there is no entry 'b'"):
        knowledge.get(id="b")
    assert knowledge.get(id="a")["content"] == "Fourth text."
    assert (code, "error", place(segment, 2)) in problems(opened.status())


def test_a_removed_line_with_a_descendant_is_a_gap(opened, segment):
    alter_line(segment, 2, lambda line: b"")

    assert problems(opened.ledger.verify()) == [("gap", "error", place(segment, 2))]
    allowed = opened.ledger.verify(allow_gaps=True)
    assert (allowed["ok"], allowed["gaps"], problems(allowed)) == (True, 1, [("gap", "warning", place(segment, 2))])


def test_the_last_line_has_no_descendant_and_its_loss_shows_only_in_git(opened, segment):
    alter_line(segment, 4, lambda line: b"")

    assert (opened.ledger.verify()["ok"], opened.ledger.verify()["events"]) == (True, 3)


def test_an_event_moved_to_another_ledger_is_reported_and_never_folded(opened, knowledge, segment, repository):
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join([lines[0], *lines[2:]]))
    other = repository / ".decapod" / "ledgers" / "knowledge.decay" / "2026-03" / segment.name
    other.parent.mkdir(parents=True)
    other.write_bytes(lines[1])

    assert problems(opened.ledger.verify()) == [
        ("wrong-ledger", "error", f".decapod/ledgers/knowledge.decay/2026-03/{segment.name}:1"),
        ("gap", "error", place(segment, 2)),
    ]
    with pytest.raises(Exception, match="there is no entry 'b'"):
        knowledge.get(id="b")


def test_one_id_with_other_bytes_is_reported(opened, segment):
    last = segment.read_bytes().splitlines(keepends=True)[-1]
    segment.write_bytes(segment.read_bytes() + resealed(last, actor="Eve"))

    verified = opened.ledger.verify()

    assert problems(verified) == [("id-used-twice", "error", place(segment, 5))]
    assert place(segment, 4) in verified["problems"][0]["message"]


def test_an_event_that_sorts_before_what_it_builds_on_is_reported(opened, segment):
    lines = segment.read_bytes().splitlines(keepends=True)
    early = ulid(milliseconds_of(from_line(lines[0])["event_id"]) - 1)
    segment.write_bytes(b"".join([*lines[:3], resealed(lines[3], event_id=early)]))

    assert problems(opened.ledger.verify()) == [("order", "error", place(segment, 4))]


def test_a_text_that_went_without_a_redaction_is_reported(opened, segment):
    alter_line(segment, 2, lambda line: canonical({k: v for k, v in json.loads(line).items() if k != "text"}) + b"\n")

    assert problems(opened.ledger.verify()) == [("text-missing", "error", place(segment, 2))]


def test_a_copy_that_lost_its_text_is_reported_though_another_has_it(opened, knowledge, segment):
    line = segment.read_bytes().splitlines(keepends=True)[1]
    textless = canonical({k: v for k, v in json.loads(line).items() if k != "text"}) + b"\n"
    copy = another(segment)
    copy.write_bytes(textless)

    assert problems(opened.ledger.verify()) == [("text-missing", "error", place(copy, 1))]
    assert knowledge.get(id="b")["content"] == "Second text."


def test_a_redacted_text_is_sound_and_shown_as_redacted(opened, knowledge, segment):
    lines = segment.read_bytes().splitlines(keepends=True)
    second, last = from_line(lines[1]), from_line(lines[3])
    redaction = {
        **{name: second[name] for name in ("v", "ledger", "actor")},
        "ts": "2026-03-02T12:00:00.000Z",
        "event_id": ulid(milliseconds_of(last["event_id"]) + 1),
        "type": "event.redacted",
        "prev": [last["hash"]],
        "redacts": [second["event_id"]],
        "entry_ids": ["b"],
    }
    textless = canonical({name: value for name, value in second.items() if name != "text"}) + b"\n"
    line = to_line(seal(redaction, {}, "salt"))
    # Once with the text gone, once as a branch that does not know of it yet brings it back.
    for old_line in (textless, lines[1]):
        segment.write_bytes(b"".join([lines[0], old_line, *lines[2:], line]))
        assert opened.ledger.verify()["ok"]
        for as_of in (None, "2026-03-01T12:00:00Z"):
            entry = knowledge.get(id="b", as_of=as_of)
            assert (entry["title"], entry["content"], entry["provenance"]) == ("[redacted]", "[redacted]", "cmd:x")
        versions = [item["content"] for item in knowledge.history(id="b")["events"] if item["is_version"]]
        assert versions == [None]
        assert knowledge.search(query="second")["count"] == 0


def test_a_redaction_of_another_shape_is_no_reason_to_fail(opened, segment):
    lines = segment.read_bytes().splitlines(keepends=True)
    for redacts in (5, "x", {"a": 1}, [1, None]):
        segment.write_bytes(b"".join([*lines[:3], resealed(lines[3], type="event.redacted", redacts=redacts)]))
        assert opened.ledger.verify()["ok"]


def test_windows_line_ends_prove_the_same(opened, knowledge, segment):
    digest_before = opened.status()["digest"]
    segment.write_bytes(segment.read_bytes().replace(b"\n", b"\r\n"))

    assert (opened.ledger.verify()["ok"], opened.status()["digest"]) == (True, digest_before)
    knowledge.edit(id="a", text="Fifth text.")
    assert (opened.ledger.verify()["events"], opened.ledger.verify()["ok"]) == (5, True)


@pytest.mark.parametrize("torn", [b"{", b'{"actor":"Ad', b'{"actor":"\xc3', b"\0" * 30])
def test_a_torn_tail_is_a_warning_is_left_as_it_is_and_stops_nobody(opened, knowledge, segment, torn):
    segment.write_bytes(segment.read_bytes() + torn)
    before = segment.read_bytes()

    verified = opened.ledger.verify()

    assert (verified["ok"], problems(verified)) == (True, [("torn-line", "warning", place(segment, 5))])
    knowledge.edit(id="b", text="After the crash.")
    assert segment.read_bytes() == before
    assert (opened.ledger.verify()["ok"], opened.ledger.verify()["segments"]) == (True, 2)
    assert knowledge.get(id="b")["content"] == "After the crash."


def test_a_whole_last_line_without_its_line_end_counts_and_is_never_appended_to(opened, knowledge, segment):
    segment.write_bytes(segment.read_bytes()[:-1])
    before = segment.read_bytes()

    assert (opened.ledger.verify()["ok"], knowledge.get(id="a")["content"]) == (True, "Fourth text.")
    knowledge.edit(id="b", text="Next.")
    assert segment.read_bytes() == before
    assert opened.ledger.verify()["ok"]


def test_identical_lines_are_one_event(opened, segment):
    state = opened.status()["digest"]
    another(segment).write_bytes(segment.read_bytes() * 2)

    assert (opened.ledger.verify()["ok"], opened.ledger.verify()["events"]) == (True, 4)
    assert opened.status()["digest"] == state


def test_a_newer_event_refuses_every_question_and_says_what_is_needed(opened, knowledge, refused, segment, repository):
    newer = another(segment)
    line = segment.read_bytes().splitlines(keepends=True)[-1]
    newer.write_bytes(line.replace(b'"v":1', b'"v":2'))

    for call, fields in (
        (opened.status, {}),
        (knowledge.get, {"id": "a"}),
        (knowledge.search, {"query": "x"}),
        (knowledge.add, {"title": "T", "text": "x", "provenance": ["cmd:x"]}),
        (opened.rebuild, {}),
    ):
        with pytest.raises(Exception, match="has format 2; this program reads up to 1") as refusal:
            call(**fields)
        assert (refusal.value.code, refusal.value.hint) == ("newer-data", "upgrade the package decapod-py")
    assert ("newer-format", "error", place(newer, 1)) in problems(opened.ledger.verify())


def test_a_write_that_no_id_could_sort_after_is_refused_rather_than_lost(opened, knowledge, refused, segment):
    line = segment.read_bytes().splitlines(keepends=True)[3]
    last = ulid(253_402_300_799_999, b"\xff" * 10)
    another(segment).write_bytes(resealed(line, event_id=last))

    refused("clock", 1, knowledge.edit, id="b", text="After the end of time.")


def test_a_confidence_that_is_no_number_is_none(knowledge, segment):
    line = segment.read_bytes().splitlines(keepends=True)[1]
    later = ulid(milliseconds_of(from_line(line)["event_id"]) + 9)
    another(segment).write_bytes(resealed(line, event_id=later, confidence="nan"))

    assert knowledge.get(id="b")["confidence"] is None


def test_what_lies_among_the_ledgers_and_is_no_segment_is_named_and_never_read(opened, segment, repository):
    ledgers = repository / ".decapod" / "ledgers"
    (ledgers / "README.md").write_text("x")
    (ledgers / "knowledge.events" / "early.jsonl").write_text("x")
    (segment.parent / "copy of.jsonl").write_bytes(segment.read_bytes())
    (segment.parent / "folder.jsonl").mkdir()
    link = another(segment)
    link.symlink_to("/etc/passwd")

    verified = opened.ledger.verify()

    assert (verified["ok"], verified["segments"], verified["events"]) == (True, 1, 4)
    assert problems(verified) == [
        ("stray-file", "warning", f".decapod/ledgers/{path}")
        for path in sorted(
            [
                "README.md",
                "knowledge.events/early.jsonl",
                "knowledge.events/2026-03/copy of.jsonl",
                f"knowledge.events/2026-03/{link.name}",
            ]
        )
    ]
    assert opened.status()["problems"] == []


def test_show_gives_events_newest_last_and_filters_them(opened, knowledge, clock):
    clock.forward(days=1)
    knowledge.retrieval_log(query="q", returned_ids=["a"], outcome="helped")

    def shown(**fields: Any) -> list[str]:
        return [event["type"] for event in opened.ledger.show(**fields)["events"]]

    assert shown() == ["entry.added", "entry.added", "entry.edited", "entry.edited", "retrieval.logged"]
    assert shown(ledger="knowledge.retrieval") == shown(since="2026-03-02") == ["retrieval.logged"]
    assert shown(type="entry.added") == ["entry.added", "entry.added"]
    assert shown(entry="b") == ["entry.added"]
    assert shown(ledger="nothing") == []
    bounded = opened.ledger.show(limit=2)
    assert (bounded["count"], bounded["omitted"]) == (2, 3)
    assert [event["type"] for event in bounded["events"]] == ["entry.edited", "retrieval.logged"]


def test_a_question_that_cannot_be_meant_is_refused(opened, refused):
    refused("bad-time", 2, opened.ledger.show, since="123ZZ")
    refused("not-found", 1, opened.ledger.show, entry="nothing")
    refused("bad-id", 2, opened.ledger.show, entry="")
    refused("bad-arguments", 2, opened.ledger.show, limit=0)


def test_a_swept_segment_is_brought_back(opened, knowledge, segment, repository):
    before = segment.read_bytes()
    git(repository, "clean", "-fdq")
    name = f".decapod/ledgers/{segment.relative_to(repository / '.decapod' / 'ledgers')}"

    assert opened.status()["events"] == 0
    assert opened.ledger.restore(dry_run=True) == {"dry_run": True, "restored": [name], "left": []}
    assert not segment.exists()
    assert opened.ledger.restore() == {"dry_run": False, "restored": [name], "left": []}
    assert (segment.read_bytes(), knowledge.get(id="b")["content"]) == (before, "Second text.")
    assert opened.ledger.restore()["restored"] == []


def test_packing_joins_committed_segments_and_keeps_every_event(opened, knowledge, repository):
    for number in range(3):
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", "More")
        knowledge.add(id=f"p{number}", title=f"P{number}", text="x", provenance=["cmd:x"])
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "All")
    digest_before, events = opened.status()["digest"], opened.status()["events"]

    # The first one is half of the whole, and is left: git would take the joined file for it.
    assert opened.ledger.pack(dry_run=True) == {"dry_run": True, "joined": 3, "written": []}
    packed = opened.ledger.pack()

    assert (packed["joined"], len(packed["written"])) == (3, 1)
    status = opened.status()
    assert (status["digest"], status["events"], status["segments"]) == (digest_before, events, 2)
    assert opened.ledger.verify()["ok"]
    assert opened.ledger.pack()["joined"] == 0


def test_packing_needs_git(opened, knowledge, repository, refused, tmp_path):
    from decapod_py.client import Decapod

    plain = tmp_path / "plain"
    plain.mkdir()
    with Decapod(str(plain)) as client:
        client.init()
        with pytest.raises(Exception, match="there is no git here") as refusal:
            client.ledger.pack()
    assert refusal.value.code == "no-git"
