"""Ledgers and files that a stranger made up: they are answered promptly, and touch nothing of ours."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support import NOON, git

from decapod_py.client import Decapod
from decapod_py.domain.event import Event, seal, to_line
from decapod_py.domain.fold import EVENTS
from decapod_py.foundation.clock import format_time
from decapod_py.foundation.errors import DecapodError
from decapod_py.foundation.ids import ulid
from decapod_py.storage import segments
from decapod_py.views import projection
from decapod_py.views.state import Lines


def crafted(
    number: int, kind: str = "entry.added", *, entry_id: str = "evil", text: Any = None, **fields: Any
) -> Event:
    """An event as a stranger would seal it; the number gives it its place in the order of events."""
    common = {
        "v": 1,
        "event_id": ulid(NOON + number, bytes(10)),
        "ts": format_time(NOON + number),
        "type": kind,
        "ledger": EVENTS,
        "actor": "Mallory",
        "prev": [],
        "entry_id": entry_id,
    }
    return seal({**common, **fields}, text or {"title": "Evil", "content": f"Evil {number}."}, "00")


def put(repository: Path, *events: Event | bytes, name: int = 0) -> Path:
    """A segment with these lines, as git would bring it."""
    path = repository / ".decapod" / "ledgers" / EVENTS / "2026-03" / f"{ulid(NOON + name, b'x' * 10)}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(event if isinstance(event, bytes) else to_line(event) for event in events))
    return path


def path_for(entry_id: str, name: str) -> str:
    """A path that an entry may have: its name ends in the digest of the id."""
    return f"{name}-{sha256(entry_id.encode()).hexdigest()[:6]}.md"


def markdown(repository: Path) -> dict[str, bytes]:
    top = repository / ".decapod" / "knowledge"
    return {path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("*") if path.is_file()}


def add(knowledge: Any, entry_id: str, **more: Any) -> Any:
    return knowledge.add(**{"id": entry_id, "title": "Ours", "text": "Ours.", "provenance": ["cmd:x"], **more})


def refusal(call: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(DecapodError) as refused:
        call(**arguments)
    return refused.value.code


@contextmanager
def promptly(seconds: int = 5, memory: int = 2 << 30) -> Iterator[None]:
    """Fails a test that would otherwise wait for ever, or read until nothing is left."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"no answer within {seconds} s")

    before, (soft, hard) = signal.signal(signal.SIGALRM, give_up), resource.getrlimit(resource.RLIMIT_AS)
    signal.alarm(seconds)
    resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# Where an entry's file goes


def first_version(name: str) -> Event:
    return crafted(1, path=path_for("evil", name))


def second_version(name: str) -> Event:
    return crafted(5, "entry.edited", path=path_for("evil", name), was={"evil": [crafted(1)["event_id"]]})


def test_a_file_moves_to_the_path_of_a_later_version(repository, opened, knowledge):
    put(repository, first_version("earlier"))
    knowledge.get(id="evil")
    assert list(markdown(repository)) == [path_for("evil", "earlier")]

    put(repository, second_version("later"), name=1)
    knowledge.get(id="evil")

    assert list(markdown(repository)) == [path_for("evil", "later")]
    assert b"Evil 5." in markdown(repository)[path_for("evil", "later")]
    assert opened.status()["markdown"] == {}


def test_a_file_under_an_earlier_path_stays_when_somebody_edited_it(repository, opened, knowledge):
    put(repository, first_version("earlier"))
    knowledge.get(id="evil")
    file = repository / ".decapod" / "knowledge" / path_for("evil", "earlier")
    file.write_bytes(mine := file.read_bytes() + b"A line of my own.\n")

    put(repository, second_version("later"), name=1)
    knowledge.get(id="evil")

    assert file.read_bytes() == mine
    assert set(markdown(repository)) == {path_for("evil", "later"), path_for("evil", "earlier")}
    assert opened.status()["markdown"] == {"orphaned": 1}


def test_a_file_that_stands_at_the_path_of_a_later_version_is_not_overwritten(repository, opened, knowledge):
    put(repository, first_version("earlier"))
    knowledge.get(id="evil")
    file = repository / ".decapod" / "knowledge" / path_for("evil", "later")
    file.write_bytes(b"My own notes.\n")

    put(repository, second_version("later"), name=1)
    knowledge.get(id="evil")
    knowledge.edit(id="evil", text="Changed.")

    assert file.read_bytes() == b"My own notes.\n"
    assert opened.status()["markdown"] == {"edited": 1}


HOSTILE_PATHS = {
    "of another entry in capitals": lambda ours: ours.upper(),
    "below another entry's file": lambda ours: f"{ours}/{path_for('evil', 'x')}",
    "too long": lambda ours: path_for("evil", "x" * 300),
    "too deep": lambda ours: "d/" * 300 + path_for("evil", "x"),
    "leads out": lambda ours: f"../../{path_for('evil', 'x')}",
    "leads out and back": lambda ours: f"a/../../knowledge/{ours}",
    "absolute": lambda ours: f"/tmp/{path_for('evil', 'x')}",
    "hidden": lambda ours: f".git/{path_for('evil', 'x')}",
    "of a device": lambda ours: "con.md",
    "with a wildcard": lambda ours: "a*.md",
    "no Markdown": lambda ours: path_for("evil", "x").replace(".md", ".sh"),
}


def test_a_file_stays_that_of_the_entry_whose_digest_it_bears(repository, opened, knowledge):
    add(knowledge, "ours")
    ours = Path(knowledge.get(id="ours")["path"]).name
    before = markdown(repository)

    put(repository, crafted(5, path=ours))
    knowledge.get(id="evil")
    knowledge.edit(id="ours", text="Ours, changed.")

    assert set(markdown(repository)) == {ours}
    assert markdown(repository)[ours] != before[ours]
    assert opened.status()["markdown"] == {"crowded": 1}


@pytest.mark.parametrize("kind", HOSTILE_PATHS)
def test_a_path_that_a_stranger_chose_touches_no_other_file(repository, opened, knowledge, kind):
    add(knowledge, "ours")
    ours = Path(knowledge.get(id="ours")["path"]).name
    before = markdown(repository)
    outside = set(repository.rglob("*")) - set((repository / ".decapod").rglob("*"))

    put(repository, crafted(5, path=HOSTILE_PATHS[kind](ours)))
    add(knowledge, "second")
    knowledge.delete(id="second")
    add(knowledge, "third")

    after = markdown(repository)
    third = Path(knowledge.get(id="third")["path"]).name
    fallback = f"{crafted(5)['event_id'].lower()}.md"
    assert set(after) == {ours, third, fallback}
    assert after[ours] == before[ours]
    assert b"Evil 5." in after[fallback]
    assert set(repository.rglob("*")) - set((repository / ".decapod").rglob("*")) == outside
    assert (opened.status()["markdown"], opened.status()["problems"]) == ({}, [])
    assert opened.rebuild(check=True)["ok"]


def test_an_entry_whose_digest_was_made_to_match_leaves_the_file_it_aims_at(repository, opened, knowledge):
    add(knowledge, "ours")
    ours = Path(knowledge.get(id="ours")["path"]).name
    evil = "4013169"  # found in ten seconds: six digits of a digest are few
    assert ours == path_for(evil, "ours")
    before = markdown(repository)

    put(repository, crafted(5, entry_id=evil, path=ours))
    knowledge.get(id=evil)
    assert markdown(repository) == before
    knowledge.delete(id=evil)

    assert markdown(repository) == before
    knowledge.edit(id="ours", text="Still ours.")
    assert b"Still ours." in markdown(repository)[ours]


# What counts as an event, and what it says


@pytest.mark.parametrize("sig", ["", "x" * 5_000])
@pytest.mark.parametrize("order", [("whole", "textless"), ("textless", "whole"), ("both",)])
def test_a_copy_without_its_text_never_hides_the_text(repository, opened, knowledge, order, sig):
    whole = crafted(1)
    textless = {name: value for name, value in {**whole, "sig": sig}.items() if name != "text"}
    lines = {"whole": [whole], "textless": [textless], "both": [textless, whole, textless]}
    for number, name in enumerate(order):
        put(repository, *lines[name], name=number)
        opened.status()

    assert knowledge.get(id="evil")["content"] == "Evil 1."
    assert b"Evil 1." in b"".join(markdown(repository).values())
    knowledge.deprecate(id="evil")  # folds it again, from where its lines are known to be
    assert knowledge.get(id="evil")["content"] == "Evil 1."
    opened.rebuild()
    assert knowledge.get(id="evil")["content"] == "Evil 1."
    verified = opened.ledger.verify()
    assert {problem["code"] for problem in verified["problems"]} == {"text-missing"}
    assert not verified["ok"]


def nested(depth: int) -> Any:
    """A value that makes an event which holds it so deep."""
    value: Any = []
    for _ in range(depth - 2):
        value = [value]
    return value


@pytest.mark.parametrize(("depth", "code"), [(21, "too-deep"), (400, "too-deep"), (100_000, "not-json")])
def test_an_event_nested_more_than_twenty_deep_is_no_event_anywhere(repository, opened, knowledge, depth, code):
    deep = crafted(2, entry_id="deep", extra=0)
    if depth < 500:
        deep = crafted(2, entry_id="deep", extra=nested(depth))
    line = to_line(deep).replace(b'"extra":0', b'"extra":' + b"[" * depth + b"]" * depth)
    put(repository, crafted(1, extra=nested(20)), line)

    assert [problem["code"] for problem in opened.ledger.verify()["problems"]] == [code]
    assert [problem["code"] for problem in opened.status()["problems"]] == [code]
    assert [entry["id"] for entry in knowledge.list()["entries"]] == ["evil"]
    assert opened.rebuild(check=True)["events"] == 1


def test_a_line_that_is_too_long_is_no_event_and_ends_the_reading_of_its_segment(
    repository, opened, knowledge, monkeypatch
):
    monkeypatch.setattr(segments, "_LONGEST_LINE", 2_000)
    long = crafted(2, entry_id="long", text={"title": "T", "content": "x" * 3_000})
    path = put(repository, crafted(1), long, crafted(3, entry_id="after"))

    verified = opened.ledger.verify()

    (problem,) = verified["problems"]
    assert (problem["code"], problem["severity"], verified["events"]) == ("too-long", "error", 1)
    assert problem["place"].endswith(f"{path.name}:2")
    assert [problem["code"] for problem in opened.status()["problems"]] == ["too-long"]
    assert [entry["id"] for entry in knowledge.list()["entries"]] == ["evil"]


@pytest.mark.parametrize("name", [b"evil.jsonl", b"\xff\xfe.jsonl", b"01kjmma2g10000000000000000.jsonl"])
def test_a_file_among_the_ledgers_whose_name_is_no_ulid_is_ignored_and_named(repository, opened, name):
    segment = put(repository, crafted(1))
    with open(os.path.join(os.fsencode(segment.parent), name), "wb") as file:
        file.write(to_line(crafted(2, entry_id="stray")))

    verified = opened.ledger.verify()

    assert (verified["ok"], verified["events"]) == (True, 1)
    assert [(problem["code"], problem["severity"]) for problem in verified["problems"]] == [("stray-file", "warning")]
    assert verified["problems"][0]["place"].isprintable()
    assert opened.status()["events"] == 1


@pytest.mark.parametrize("entry_id", ["evil id", "Procedural/x", "../x", "", "a ", " a", "x" * 500, "ünïcödé", "a\nb"])
def test_an_entry_whose_id_nobody_could_give_here_is_found_and_taken_out_of_use(
    repository, opened, knowledge, entry_id
):
    put(repository, crafted(1, entry_id=entry_id))

    assert knowledge.get(id=entry_id)["id"] == entry_id
    assert knowledge.history(id=entry_id)["count"] == 1
    assert knowledge.deprecate(id=entry_id)["action"] == "deprecated"
    assert knowledge.get(id=entry_id)["status"] == "deprecated"
    assert knowledge.delete(id=entry_id)["action"] == "deleted"
    assert opened.ledger.verify()["ok"]
    assert opened.rebuild(check=True)["ok"]


def test_a_rule_that_nobody_promoted_is_shown_with_where_it_claims_to_come_from(repository, opened, knowledge):
    put(repository, crafted(1, entry_id="procedural/evil", provenance=["event:01KJMMA2G10000000000000000"]))

    rule = knowledge.get(id="procedural/evil")

    assert (rule["status"], rule["author"], rule["provenance"]) == (
        "active",
        "Mallory",
        "event:01KJMMA2G10000000000000000",
    )
    assert refusal(knowledge.edit, id="procedural/evil", text="Worse.") == "needs-promotion"
    assert knowledge.deprecate(id="procedural/evil")["action"] == "deprecated"
    assert refusal(knowledge.revive, id="procedural/evil") == "needs-promotion"


def test_a_decay_run_over_many_entries_is_parsed_once_however_many_it_names(
    repository, opened, knowledge, clock, monkeypatch
):
    rows = [{"title": f"T{number}", "content": "x", "provenance": "cmd:x", "expires_ts": "1d"} for number in range(300)]
    (repository / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    knowledge.import_(file="rows.jsonl")
    clock.forward(days=2)
    assert len(knowledge.decay()["stale_ids"]) == 300
    monkeypatch.setattr(projection, "_REMEMBERED", 0)
    parsed: list[str] = []
    read = Lines._read
    monkeypatch.setattr(Lines, "_read", lambda lines, *place: parsed.append(place[0]) or read(lines, *place))

    opened.rebuild()

    assert len([segment for segment in parsed if segment.startswith("knowledge.decay/")]) == 1
    assert opened.status()["entries"] == {"stale": 300}


# Keys, imports and lifetimes


def test_a_new_lifetime_never_makes_a_stale_entry_a_second_holder_of_its_key(repository, opened, knowledge, clock):
    add(knowledge, "old", merge_key="k", expires_ts="1d")
    clock.forward(days=2)
    knowledge.decay()
    add(knowledge, "new", merge_key="k")

    for change in ({"expires_ts": "30d"}, {"ttl_policy": "persistent"}, {"ttl_policy": "ephemeral"}):
        assert refusal(knowledge.edit, id="old", **change) == "key-held"
    assert knowledge.edit(id="old", text="Still stale.")["action"] == "edited"
    assert [entry["id"] for entry in knowledge.list(merge_key="k")["entries"]] == ["new"]
    assert knowledge.edit(id="old", expires_ts="30d", merge_key="free")["action"] == "edited"
    assert opened.status()["clashes"] == []


def test_saying_the_expiry_that_the_policy_gave_makes_no_second_holder_of_a_key(repository, opened, knowledge, clock):
    (repository / ".decapod" / "config.toml").write_text("[decay.spring]\ndecay = '30d'\n")
    add(knowledge, "old", merge_key="k", ttl_policy="decay")
    expires = knowledge.get(id="old")["expires_ts"]
    clock.forward(days=31)
    assert knowledge.decay(policy="spring")["stale_ids"] == ["old"]
    add(knowledge, "new", merge_key="k")

    assert refusal(knowledge.edit, id="old", expires_ts=expires) == "key-held"


def test_settling_on_a_version_that_lives_longer_makes_no_second_holder_of_a_key(repository, opened, knowledge, clock):
    add(knowledge, "old", merge_key="k", expires_ts="1d")
    was = {"old": [knowledge.get(id="old")["version"]]}
    common = {"entry_id": "old", "merge_key": "k", "ttl_policy": "decay", "was": was}
    long = crafted(100, "entry.edited", **common, expires_ts=format_time(NOON + 10**10))
    put(repository, long, crafted(200, "entry.edited", **common, expires_ts=format_time(NOON + 300)))
    clock.forward(days=2)
    assert knowledge.decay()["stale_ids"] == ["old"]
    add(knowledge, "new", merge_key="k")

    assert refusal(knowledge.settle, target="old", keep=long["event_id"]) == "key-held"
    assert opened.status()["clashes"] == []


def test_settling_a_stale_entry_starts_no_new_lifetime_beside_another_holder_of_its_key(
    repository, opened, knowledge, clock
):
    (repository / ".decapod" / "config.toml").write_text("[decay.spring]\ndecay = '30d'\n")
    add(knowledge, "old", merge_key="k", ttl_policy="decay")
    entry = knowledge.get(id="old")
    common = {"entry_id": "old", "merge_key": "k", "ttl_policy": "decay", "was": {"old": [entry["version"]]}}
    lifetime = {"expires_ts": entry["expires_ts"], "expires_by_default": True}
    versions = [crafted(number, "entry.edited", **common, **lifetime) for number in (100, 200)]
    put(repository, *versions)
    clock.forward(days=31)
    assert knowledge.decay(policy="spring")["stale_ids"] == ["old"]
    add(knowledge, "new", merge_key="k")

    assert refusal(knowledge.settle, target="old", keep=versions[1]["event_id"]) == "key-held"
    assert opened.status()["clashes"] == []


def test_an_expiry_in_1970_is_one_and_has_passed(repository, opened, knowledge):
    add(knowledge, "added", expires_ts="0Z")
    add(knowledge, "edited")
    knowledge.edit(id="edited", expires_ts="0Z")
    row = {"id": "imported", "title": "T", "content": "x", "provenance": "cmd:x", "expires_ts": "0Z"}
    (repository / "rows.jsonl").write_text(json.dumps(row))
    knowledge.import_(file="rows.jsonl")

    for name in ("added", "edited", "imported"):
        entry = knowledge.get(id=name)
        assert (entry["ttl_policy"], entry["expires_ts"], entry["expired"]) == (
            "decay",
            "1970-01-01T00:00:00.000Z",
            True,
        )
    assert knowledge.list()["entries"] == []
    assert sorted(knowledge.decay()["stale_ids"]) == ["added", "edited", "imported"]


def test_an_import_that_calls_an_entry_of_ours_superseded_does_not_take_it_out_of_use(repository, opened, knowledge):
    add(knowledge, "ours")
    theirs = {"title": "Theirs", "content": "Theirs.", "provenance": "cmd:x", "supersedes": ["ours"]}
    same = {"id": "ours", "title": "Ours", "content": "Ours.", "provenance": "cmd:x", "status": "superseded"}
    for name, line in (("same", same), ("other", {**same, "content": "Other."})):
        (repository / "rows.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps({**theirs, 'id': name})}\n")

        knowledge.import_(file="rows.jsonl", keep_going=True)

        assert (knowledge.get(id="ours")["status"], knowledge.get(id=name)["supersedes"]) == ("active", [])


def test_an_import_reads_a_named_pipe(repository, opened, knowledge):
    os.mkfifo(repository / "pipe")
    row = {"id": "piped", "title": "T", "content": "x", "provenance": "cmd:x"}
    writer = threading.Thread(target=(repository / "pipe").write_text, args=(json.dumps(row),))
    writer.start()

    with promptly():
        assert knowledge.import_(file="pipe")["added"] == 1
    writer.join()


# What stands where a file or a folder of ours should be


def test_uninstalling_everything_is_refused_while_git_ignores_a_ledger_that_no_commit_has(
    repository, opened, knowledge
):
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Begin")
    (repository / ".git" / "info" / "exclude").write_text("*.jsonl\n*.md\n")
    add(knowledge, "ours")
    assert git(repository, "status", "--porcelain") == ""

    assert refusal(opened.uninstall, everything=True) == "uncommitted"

    assert knowledge.get(id="ours")["content"] == "Ours."


LINKED = ["", "ledgers", "knowledge", "local", f"ledgers/{EVENTS}", f"ledgers/{EVENTS}/2026-03"]


@pytest.mark.parametrize("name", [*LINKED, "local/kept", "local/lock", "local/knowledge.db"])
def test_nothing_is_written_through_a_link_that_a_repository_brings(repository, tmp_path, clock, name):
    outside = tmp_path / "outside"
    place = repository / ".decapod" / name
    if place.is_dir():
        shutil.move(place, outside)
    elif name.startswith("ledgers"):
        place.parent.mkdir(parents=True, exist_ok=True)
        outside.mkdir()
    place.symlink_to(outside)
    before = sorted(outside.rglob("*")) if outside.exists() else None

    with Decapod(repository, actor="Ada", clock=clock) as client:
        assert refusal(client.knowledge.add, note="T", provenance=["cmd:x"]) == "link"
        if not name.startswith("ledgers/"):  # those are not read, and no question writes there
            assert refusal(client.status) == refusal(client.init) == "link"

    assert (sorted(outside.rglob("*")) if outside.exists() else None) == before


def zeros(page: Path) -> None:
    page.symlink_to("/dev/zero")


def pipe(page: Path) -> None:
    os.mkfifo(page)


def folder(page: Path) -> None:
    page.mkdir()


def somebody_elses_file(page: Path) -> None:
    page.symlink_to("/etc/passwd")


@pytest.mark.parametrize("make", [zeros, pipe, folder, somebody_elses_file])
def test_what_stands_in_the_place_of_a_page_is_damage_that_is_left_and_holds_nobody_up(
    repository, opened, knowledge, make
):
    add(knowledge, "ours")
    page = repository / knowledge.get(id="ours")["path"]
    page.unlink()
    make(page)
    before = os.lstat(page)

    with promptly():
        knowledge.edit(id="ours", text="Changed.")
        (warning,) = opened.warnings
        assert opened.status()["markdown"] == {"damaged": 1}
        assert [problem["code"] for problem in opened.doctor(fix=True)["problems"]] == ["markdown-damaged"]
        opened.rebuild()
        assert not opened.rebuild(check=True)["ok"]
        knowledge.delete(id="ours")
        assert opened.status()["markdown"] == {"undeleted": 1}

    assert "is empty or cannot be read; it is left as it is" in warning
    assert os.path.samestat(os.lstat(page), before)


@pytest.mark.parametrize("name", ["config.toml", ".gitattributes", "ledgers/evil", f"ledgers/{EVENTS}/2026-02"])
def test_a_link_to_something_without_an_end_holds_nobody_up(repository, opened, knowledge, name):
    add(knowledge, "ours")
    (repository / ".decapod" / name).unlink(missing_ok=True)
    (repository / ".decapod" / name).symlink_to("/dev/zero")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "A link")

    with promptly():
        assert knowledge.edit(id="ours", text="Changed.")["action"] == "edited"
        assert opened.ledger.verify()["ok"]
        opened.ledger.pack()
        opened.doctor()
        opened.init()
    assert knowledge.get(id="ours")["content"] == "Changed."
