"""The fold: one state for one set of events, whatever their order, their number of copies and what they hold."""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from decapod_py.client import Decapod
from decapod_py.domain.entry import Entry
from decapod_py.domain.event import Event, to_line
from decapod_py.domain.fold import (
    DECAY,
    EVENTS,
    LEDGERS,
    OUTCOMES,
    PROMOTIONS,
    RENEWALS,
    RETRIEVAL,
    VERSIONS,
    Promotion,
    entries_of,
    feedback_of,
    fold_entry,
    fold_promotion,
    is_due,
    promotions_of,
)
from decapod_py.foundation.canonical import digest
from decapod_py.foundation.clock import DAY, format_time, parse_time
from decapod_py.foundation.errors import DecapodError
from decapod_py.foundation.ids import ulid
from decapod_py.foundation.progress import silent
from decapod_py.operations import catalogue
from decapod_py.storage import database
from decapod_py.views import projection, search
from decapod_py.views.state import State

NOON = parse_time("2026-03-01T12:00:00Z")
ENTRY_IDS = ("a", "b", "procedural/c")
EVENT_IDS = tuple(ulid(NOON + number, bytes([number]) * 10) for number in range(1, 13))

TYPES = {
    EVENTS: (
        *sorted(VERSIONS),
        *sorted(RENEWALS),
        "entry.deprecated",
        "entry.deleted",
        "event.redacted",
        "entry.unheard-of",
        "other",
    ),
    PROMOTIONS: ("promotion.recorded", "promotion.approved", "promotion.revoked", "other"),
    DECAY: ("decay.run", "other"),
    RETRIEVAL: ("retrieval.logged", "other"),
}

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)
TIMES = st.integers(-200, 200).map(lambda days: format_time(NOON + days * DAY))
IDS = st.lists(st.sampled_from(ENTRY_IDS), max_size=3)
NAMED_EVENTS = st.lists(st.sampled_from(EVENT_IDS), max_size=3)
FILES = ("file:a.py#L1-L2", "file:a.py", "file:../b#L1")
ANCHORS = st.fixed_dictionaries(
    {"path": st.sampled_from(("a.py", "../b", "\0")), "digest": st.text(max_size=3)},
    optional={
        "first": st.integers(-1, 3) | JUNK,
        "last": st.integers(-1, 3) | JUNK,
        "name": st.none() | st.text(max_size=3),
        "blob": st.sampled_from(("a" * 40, "--help")) | JUNK,
        "commit": st.sampled_from(("b" * 40, "--output=x")) | JUNK,
        "lines": st.integers(-1, 3) | JUNK,
        "provenance": st.sampled_from(FILES),
    },
)
# As a version has them, one for each provenance, or as a renewal has them, by entry.
ALL_ANCHORS = st.lists(ANCHORS, max_size=2) | st.dictionaries(
    st.sampled_from(ENTRY_IDS), st.lists(ANCHORS | JUNK, max_size=2), max_size=2
)
KEPT = st.fixed_dictionaries({"head": st.text(max_size=4)}, optional={"before": JUNK, "after": st.text(max_size=3)})
ALL_KEPT = st.lists(KEPT | JUNK, max_size=2) | st.dictionaries(
    st.sampled_from(ENTRY_IDS), st.lists(KEPT | JUNK, max_size=2), max_size=2
)

WELL_TYPED: dict[str, st.SearchStrategy[Any]] = {
    "entry_id": st.sampled_from(ENTRY_IDS),
    "supersedes": IDS,
    "was": st.dictionaries(st.sampled_from(ENTRY_IDS), NAMED_EVENTS, max_size=3),
    "status": st.sampled_from(("active", "superseded", "deprecated", "stale", "deleted")),
    "provenance": st.lists(
        st.sampled_from([f"event:{name}" for name in EVENT_IDS[:4]] + ["cmd:make", *FILES]), max_size=2
    ),
    "anchors": ALL_ANCHORS,
    "tags": st.lists(st.text(max_size=3), max_size=2),
    "scope": st.text(max_size=3),
    "merge_key": st.none() | st.text(max_size=3),
    "claim_id": st.none() | st.text(max_size=3),
    "ttl_policy": st.sampled_from(("ephemeral", "decay", "persistent")),
    "expires_ts": st.none() | TIMES,
    "expires_by_default": st.booleans(),
    "confidence": st.none() | st.sampled_from(("0.5", "nan", "1e999", "x")),
    "created_at": TIMES,
    "path": st.sampled_from(("a.md", "../b.md", "b/c.md", "/etc/x.md", ".git/x.md")),
    "stale_ids": IDS,
    "as_of": TIMES,
    "lifetimes": st.dictionaries(st.sampled_from(("ephemeral", "decay")), st.integers(0, 200 * DAY), max_size=2),
    "redacts": NAMED_EVENTS,
    "entry_ids": IDS,
    "promotion": st.sampled_from(EVENT_IDS),
    "source_entry_id": st.sampled_from(ENTRY_IDS),
    "source_version": st.sampled_from(EVENT_IDS),
    "evidence_refs": st.lists(st.text(max_size=3), max_size=2),
    "approved_by": st.none() | st.sampled_from(("Ada", "ada", "Bea", " ")),
    "used_ids": IDS,
    "outcome": st.sampled_from(OUTCOMES),
}
TEXT = st.fixed_dictionaries(
    {},
    optional={
        "title": st.text(max_size=5) | JUNK,
        "content": st.text() | JUNK,
        "reason": JUNK,
        "anchors": ALL_KEPT | JUNK,
    },
)


def sealed(fields: Event, text: dict[str, Any]) -> Event:
    """An event as any program may write it, with hashes that are right."""
    event = {**fields, "text_sha256": digest(text)}
    return {**event, "hash": digest(event), "text": text}


@st.composite
def events(draw: st.DrawFn) -> Event:
    """A well-sealed event: most fields as ours would be, any of them possibly something else altogether."""
    ledger = draw(st.sampled_from(LEDGERS))
    fields: dict[str, Any] = {
        name: draw(JUNK if draw(st.integers(0, 9)) == 0 else strategy)
        for name, strategy in WELL_TYPED.items()
        if draw(st.integers(0, 4))
    }
    fields |= {
        "v": 1,
        "event_id": draw(st.sampled_from(EVENT_IDS)),
        "ts": draw(TIMES | st.text(max_size=3)),
        "type": draw(st.sampled_from(TYPES[ledger])),
        "ledger": ledger,
        "actor": draw(st.sampled_from(("Ada", "Bea", ""))),
        "prev": draw(st.lists(st.text(max_size=3), max_size=2)),
    }
    return sealed(fields, draw(TEXT))


def folded(found: Sequence[Event]) -> tuple[dict[str, Entry | None], dict[str, Promotion | None]]:
    entry_ids = sorted({entry_id for event in found for entry_id in entries_of(event)})
    promotions = sorted({named for event in found for named in promotions_of(event)})
    for event in found:
        feedback_of(event)
    return (
        {
            entry_id: fold_entry(entry_id, [event for event in found if entry_id in entries_of(event)])
            for entry_id in entry_ids
        },
        {
            named: fold_promotion(named, [event for event in found if named in promotions_of(event)])
            for named in promotions
        },
    )


@settings(max_examples=120, deadline=None)
@given(st.lists(events(), max_size=10), st.randoms(use_true_random=False), st.data())
def test_any_order_and_any_number_of_copies_fold_to_one_state(
    found: list[Event], chance: random.Random, data: st.DataObject
) -> None:
    copies = data.draw(st.lists(st.sampled_from(found), max_size=5)) if found else []
    shuffled = [*found, *copies]
    chance.shuffle(shuffled)

    assert folded(shuffled) == folded(found)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(events(), st.booleans()), min_size=1, max_size=4), min_size=1, max_size=5),
    st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=4),
)
def test_catching_up_while_segments_come_and_go_equals_a_rebuild(
    contents: list[list[tuple[Event, bool]]], steps: list[list[bool]]
) -> None:
    with tempfile.TemporaryDirectory() as ledgers:
        caught_up = database.open_in_memory(search.DDL)
        for present in steps:
            _lay_out(Path(ledgers), contents, present)
            _catch_up(caught_up, ledgers)
        made_anew = database.open_in_memory(search.DDL)
        _catch_up(made_anew, ledgers)

        present = [
            event["hash"] for group, there in zip(contents, steps[-1], strict=False) if there for event, _ in group
        ]
        assert State(made_anew, ledgers).count("events") == len(set(present))
        assert State(caught_up, ledgers).digest() == State(made_anew, ledgers).digest()
        assert _everything(caught_up) == _everything(made_anew)
        caught_up.close()
        made_anew.close()


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("status", {}),
    ("rebuild", {"check": True}),
    ("doctor", {}),
    ("ledger.verify", {}),
    ("ledger.show", {}),
    ("knowledge.list", {"status": "any"}),
    ("knowledge.list", {"status": "any", "as_of": "2026-03-01T12:00:00Z"}),
    ("knowledge.search", {"query": "a 0 title", "status": "any", "explain": True}),
    ("knowledge.search", {"query": "a 0", "as_of": "2026-03-01T12:00:00Z"}),
    *((f"knowledge.{verb}", {"id": entry_id}) for verb in ("get", "history") for entry_id in ENTRY_IDS),
    ("knowledge.export", {}),
    ("knowledge.drift", {}),
    ("knowledge.drift", {"ids": list(ENTRY_IDS)}),
    ("knowledge.drift", {"fix": True}),
    ("why", {"place": "a.py:1"}),
    ("knowledge.reaffirm", {"ids": ["a"], "reason": "So it is."}),
    ("knowledge.add", {"title": "T", "text": "x", "provenance": ["cmd:x"], "merge_key": "0"}),
    ("knowledge.add", {"id": "procedural/new", "provenance": [f"event:{EVENT_IDS[0]}"]}),
    ("knowledge.edit", {"id": "a", "title": "New"}),
    ("knowledge.revive", {"id": "b"}),
    ("knowledge.settle", {"target": "a", "keep": EVENT_IDS[3]}),
    ("knowledge.decay", {}),
    ("knowledge.approve", {"event": EVENT_IDS[0], "actor": "Zoe"}),
    ("knowledge.delete", {"id": "a"}),
    ("rebuild", {}),
]


@settings(max_examples=20, deadline=None)
@given(st.lists(events(), min_size=1, max_size=10))
def test_every_question_to_a_ledger_that_strangers_wrote_is_answered_in_its_shape(found: list[Event]) -> None:
    with tempfile.TemporaryDirectory() as top, Decapod(top, actor="Ada", clock=lambda: NOON + 100 * DAY) as client:
        client.init()
        Path(top, "a.py").write_text("one\ntwo\n")
        _lay_out(Path(top, ".decapod", "ledgers"), [[(event, True) for event in found]], [True])
        for name, arguments in QUESTIONS:
            operation = catalogue.find(name)
            try:
                answer = client.call(operation, arguments)
            except DecapodError:
                continue
            json.dumps(answer, allow_nan=False).encode()
            operation.result_adapter.validate_python(answer)

        checked = client.rebuild(check=True)["problems"]
        assert [problem for problem in checked if problem["code"] == "database-differs"] == []


def _lay_out(ledgers: Path, contents: list[list[tuple[Event, bool]]], present: list[bool]) -> None:
    """Each group of events is a segment in every ledger it has events of; some are there, and some lines have lost
    their text."""
    for number, (group, wanted) in enumerate(zip(contents, present, strict=False)):
        for ledger in LEDGERS:
            path = ledgers / ledger / "2026-03" / f"{EVENT_IDS[number]}.jsonl"
            lines = b"".join(_line(event, whole) for event, whole in group if event["ledger"] == ledger)
            if wanted and lines:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(lines)
            elif path.exists():
                os.unlink(path)


def _line(event: Event, whole: bool) -> bytes:
    return to_line(event if whole else {name: value for name, value in event.items() if name != "text"})


def _catch_up(connection: Any, ledgers: str) -> None:
    projection.catch_up(connection, ledgers, projection.difference(connection, ledgers), silent)


def test_a_line_that_lost_its_text_never_hides_a_copy_that_has_it(tmp_path: Path) -> None:
    event = version(0, "entry.added")
    (tmp_path / EVENTS / "2026-03").mkdir(parents=True)
    titles = []
    for order in ("with-text", "without"), ("without", "with-text"):
        connection = database.open_in_memory(search.DDL)
        for name in order:
            path = tmp_path / EVENTS / "2026-03" / f"{EVENT_IDS[name == 'with-text']}.jsonl"
            path.write_bytes(_line(event, name == "with-text"))
            _catch_up(connection, str(tmp_path))
        titles.append(State(connection, str(tmp_path)).entry("a"))
        for path in (tmp_path / EVENTS / "2026-03").iterdir():
            path.unlink()

    assert titles == [fold_entry("a", [event])] * 2


def test_a_version_in_the_middle_that_comes_later_counts_as_a_use_of_its_promotion(tmp_path: Path) -> None:
    rule = {"entry_id": "procedural/c"}
    versions = [
        version(0, "entry.added", **rule, provenance=[f"event:{EVENT_IDS[0]}"]),
        version(2, **rule, provenance=[f"event:{EVENT_IDS[2]}"], was={"procedural/c": list(EVENT_IDS[:2])}),
        version(1, **rule, provenance=[f"event:{EVENT_IDS[1]}"], was={"procedural/c": [EVENT_IDS[0]]}),
    ]
    connection = database.open_in_memory(search.DDL)
    (tmp_path / EVENTS / "2026-03").mkdir(parents=True)
    for number, event in enumerate(versions):
        (tmp_path / EVENTS / "2026-03" / f"{EVENT_IDS[number]}.jsonl").write_bytes(to_line(event))
        _catch_up(connection, str(tmp_path))

    uses = [State(connection, str(tmp_path)).promotion_uses(event_id) for event_id in EVENT_IDS[:3]]

    assert uses == [["procedural/c"]] * 3


def _everything(connection: Any) -> dict[str, list[Any]]:
    """All that is derived, but for row numbers and places in segments."""
    questions = {
        "events": "SELECT hash, event_id, ledger, type, recorded, is_head FROM events ORDER BY hash",
        "entries": "SELECT id, digest, title_key, path FROM entries ORDER BY id",
        "promotions": "SELECT * FROM promotions ORDER BY id",
        "uses": "SELECT * FROM promotion_uses ORDER BY promotion, entry_id",
        "feedback": "SELECT * FROM feedback ORDER BY entry_id",
        "words": "SELECT e.id, w.title, w.tags, w.content FROM entry_words w JOIN entries e ON e.number = w.rowid"
        " ORDER BY e.id",
    }
    return {name: connection.execute(question).fetchall() for name, question in questions.items()}


def version(number: int, kind: str = "entry.edited", **fields: Any) -> Event:
    text = {"title": f"title {number}", "content": f"content {number}"}
    common = {
        "v": 1,
        "event_id": EVENT_IDS[number],
        "ts": format_time(NOON + number),
        "type": kind,
        "ledger": EVENTS,
        "actor": "Ada",
        "prev": [],
        "entry_id": "a",
        "path": "a.md",
    }
    return sealed({**common, **fields}, text)


def change(number: int, ledger: str, kind: str, text: dict[str, Any] | None = None, **fields: Any) -> Event:
    common = {
        "v": 1,
        "event_id": EVENT_IDS[number],
        "ts": format_time(NOON + number),
        "type": kind,
        "ledger": ledger,
        "actor": "Ada",
        "prev": [],
    }
    return sealed({**common, **fields}, text or {})


def test_edits_from_one_version_diverge_and_the_greatest_shows() -> None:
    added = version(0, "entry.added")
    left, right = version(1, was={"a": [EVENT_IDS[0]]}), version(2, was={"a": [EVENT_IDS[0]]})

    entry = fold_entry("a", [right, added, left])

    assert entry
    assert (entry.heads, entry.version, entry.content) == ((EVENT_IDS[1], EVENT_IDS[2]), EVENT_IDS[2], "content 2")


def test_a_version_that_names_all_heads_settles_a_diverged_entry() -> None:
    added = version(0, "entry.added")
    both = [version(number, was={"a": [EVENT_IDS[0]]}) for number in (1, 2)]
    settled = version(3, "entry.settled", was={"a": list(EVENT_IDS[1:3])})

    entry = fold_entry("a", [settled, *both, added])

    assert entry
    assert (entry.heads, entry.diverged, entry.content) == ((EVENT_IDS[3],), False, "content 3")


def test_a_change_to_an_entry_that_is_not_here_waits() -> None:
    deprecated = change(1, EVENTS, "entry.deprecated", entry_id="a", status="deprecated")

    assert fold_entry("a", [deprecated]) is None
    entry = fold_entry("a", [deprecated, version(0, "entry.added")])
    assert entry
    assert entry.status == "deprecated"


def test_deleted_wins_over_whatever_comes_later() -> None:
    deleted = change(1, EVENTS, "entry.deleted", entry_id="a", status="deleted")
    revived = version(2, "entry.revived", status="active", was={"a": [EVENT_IDS[0]]})

    entry = fold_entry("a", [revived, deleted, version(0, "entry.added")])

    assert entry
    assert entry.status == "deleted"


def test_superseding_bites_whoever_recorded_it_and_keeps_both() -> None:
    old = version(0, "entry.added")
    new = version(1, "entry.added", entry_id="b", supersedes=["a"])

    first, second = fold_entry("a", [new, old]), fold_entry("b", [new])

    assert first
    assert second
    assert (first.status, second.status, second.supersedes) == ("superseded", "active", ("a",))


def test_decay_bites_only_an_entry_whose_folded_expiry_is_due() -> None:
    run = change(2, DECAY, "decay.run", stale_ids=["a"], as_of=format_time(NOON + DAY), lifetimes={})
    expiring = version(0, "entry.added", ttl_policy="decay", expires_ts=format_time(NOON + DAY))
    prolonged = version(1, ttl_policy="decay", expires_ts=format_time(NOON + 9 * DAY), was={"a": [EVENT_IDS[0]]})

    stale, alive = fold_entry("a", [run, expiring]), fold_entry("a", [run, expiring, prolonged])

    assert stale
    assert alive
    # The file says what its author decided; decay is on every branch and would conflict.
    assert (stale.status, stale.written_status, alive.status) == ("stale", "active", "active")


def test_a_redaction_hides_the_text_even_where_an_old_line_still_has_it() -> None:
    redaction = change(1, EVENTS, "event.redacted", redacts=[EVENT_IDS[0]], entry_ids=["a"])

    entry = fold_entry("a", [version(0, "entry.added"), redaction])

    assert entry
    assert (entry.title, entry.content) == ("[redacted]", "[redacted]")


def test_a_path_from_a_strangers_ledger_never_leads_out_of_the_knowledge_folder() -> None:
    for path in (
        "x" * 300 + ".md",
        "a.md/b.md",
        "a.MD/b.md",
        "../x.md",
        "/etc/x.md",
        "a/../../x.md",
        ".git/hooks/x.md",
        "a\\b.md",
        "x.sh",
        "",
        "a//b.md",
        7,
        "\x1b.md",
    ):
        entry = fold_entry("a", [version(0, "entry.added", path=path)])
        assert entry
        assert entry.path == f"{EVENT_IDS[0].lower()}.md"


def test_a_field_of_the_wrong_type_counts_as_absent() -> None:
    names = ("ttl_policy", "status", "tags", "scope", "merge_key", "was", "supersedes", "provenance")
    odd: dict[str, Any] = {name: [{}] for name in names}

    entry = fold_entry("a", [version(0, "entry.added", **odd, expires_ts=5, created_at={}, confidence=[])])

    plain = fold_entry("a", [version(0, "entry.added")])
    assert entry == plain


def test_an_approver_who_is_nobody_approves_nothing() -> None:
    recorded = change(0, PROMOTIONS, "promotion.recorded", {"reason": "r"}, approved_by="  ", evidence_refs=["cmd:x"])

    promotion = fold_promotion(EVENT_IDS[0], [recorded])

    assert promotion
    assert promotion.state == "proposed"


def test_a_promotion_is_approved_by_somebody_else_before_it_is_by_its_proposer() -> None:
    recorded = change(0, PROMOTIONS, "promotion.recorded", {"reason": "r"}, approved_by="ADA")
    approved = change(1, PROMOTIONS, "promotion.approved", promotion=EVENT_IDS[0], actor="Bea")
    revoked = change(2, PROMOTIONS, "promotion.revoked", promotion=EVENT_IDS[0])

    both = fold_promotion(EVENT_IDS[0], [approved, recorded])
    taken_back = fold_promotion(EVENT_IDS[0], [revoked, approved, recorded])

    assert both
    assert taken_back
    assert (both.approved_by, both.state, taken_back.state) == ("Bea", "approved", "revoked")


def test_a_decay_policy_shortens_only_what_nobody_chose() -> None:
    def due(by_default: bool, lifetime: int) -> bool:
        return is_due("decay", NOON + 90 * DAY, by_default, NOON, NOON + 31 * DAY, {"decay": lifetime})

    assert [due(True, 30 * DAY), due(False, 30 * DAY), due(True, 99 * DAY)] == [True, False, False]
