"""The Markdown of an entry, and what the file on disk turned out to be."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import NOON, an_entry

from decapod_py.domain.entry import Entry
from decapod_py.domain.text import tidy
from decapod_py.storage.front_matter import parse, unknown_lines
from decapod_py.views.markdown import KEYS, classify, entry_fields, recorded_values, render_entry

FIRST = an_entry(
    "01JABCDEFGHJKMNPQRSTVWXYZ0",
    "Retries stop at 3",
    "We retry three times.\n\nThen we give up.",
    ("http", "retry"),
    provenances=("file:src/a.py#L3-L9",),
    author="Ann",
    version="v1",
    heads=("v1",),
    path="retries-stop-at-3-9bae21.md",
)
SECOND = FIRST._replace(
    content="We retry four times.\n\nThen we give up.",
    tags=(),
    confidence="0.8",
    contributors=("Bob",),
    updated=NOON + 60_000,
    version="v2",
    heads=("v2",),
)
OTHER_BRANCH = FIRST._replace(
    content="We retry twice.\n\nThen we give up.",
    contributors=("Cy",),
    updated=NOON + 90_000,
    version="v3",
    heads=("v3",),
)
DIVERGED = OTHER_BRANCH._replace(contributors=("Bob", "Cy"), heads=("v2", "v3"))
SETTLED = DIVERGED._replace(content="We retry five times.", updated=NOON + 120_000, version="v4", heads=("v4",))
EVERY_STATE = [FIRST, SECOND, OTHER_BRANCH, DIVERGED, SETTLED]

texts = st.text(st.characters(exclude_categories=["Cs"]))
some_texts = st.lists(texts, max_size=3).map(tuple)
times = st.integers(0, 253_402_300_799_999)
entries = st.builds(
    Entry,
    id=st.from_regex(r"[A-Za-z0-9._/-]{1,40}", fullmatch=True),
    title=texts,
    content=texts,
    provenances=some_texts,
    tags=some_texts,
    scope=st.just("root") | texts,
    merge_key=st.none() | texts,
    claim_id=st.none() | texts,
    ttl_policy=st.sampled_from(["ephemeral", "decay", "persistent"]),
    expires=st.none() | times,
    expires_by_default=st.booleans(),
    confidence=st.none() | st.sampled_from(["0", "1", "0.8", "0.10", "0.00001", "high", "nan"]),
    supersedes=some_texts,
    status=st.just("stale"),
    written_status=st.sampled_from(["active", "deprecated", "superseded"]),
    author=texts,
    contributors=some_texts,
    created=times,
    updated=times,
    version=st.just("v1"),
    heads=st.just(("v1",)),
    path=st.just("x.md"),
    anchors=st.just(()),
    aliases=some_texts,
    source=st.none() | texts,
    extra=st.sampled_from(["", "cssclass: wide", "# a remark\nrank: 3\nnested:\n  - a\n  - b: c"]),
    filed=st.just(True),
)


def state_of(data: bytes | None, entry: Entry, states: list[Entry] | None = None) -> str:
    return classify(data, entry, lambda: recorded_values(EVERY_STATE if states is None else states))


def merged(ours: Entry, base: Entry, theirs: Entry, folder: Path, *options: str) -> bytes:
    """What git leaves in the file when both branches changed it."""
    for name, entry in (("ours", ours), ("base", base), ("theirs", theirs)):
        (folder / name).write_bytes(render_entry(entry))
    run = subprocess.run(
        ["git", "merge-file", "-p", *options, "ours", "base", "theirs"], cwd=folder, capture_output=True, check=False
    )
    assert b"<<<<<<< " in run.stdout
    return run.stdout


def test_the_file_shows_all_that_was_authored_in_one_order():
    entry = FIRST._replace(
        scope="api",
        merge_key="retry",
        claim_id="claim-1",
        ttl_policy="decay",
        expires=NOON + 1,
        confidence="0.80",
        supersedes=("old/one",),
        status="stale",
        contributors=("Bob",),
    )

    assert render_entry(entry).decode() == (
        "---\n"
        "id: 01JABCDEFGHJKMNPQRSTVWXYZ0\n"
        "title: Retries stop at 3\n"
        "status: active\n"
        "provenance:\n"
        "  - file:src/a.py#L3-L9\n"
        "tags:\n"
        "  - http\n"
        "  - retry\n"
        "scope: api\n"
        "merge_key: retry\n"
        "claim_id: claim-1\n"
        "ttl_policy: decay\n"
        'expires_ts: "2026-03-01T12:00:00.001Z"\n'
        "confidence: 0.8\n"
        "supersedes:\n"
        "  - old/one\n"
        "author: Ann\n"
        "contributors:\n"
        "  - Bob\n"
        'created_at: "2026-03-01T12:00:00.000Z"\n'
        'updated_at: "2026-03-01T12:00:00.000Z"\n'
        "---\n"
        "\n"
        "We retry three times.\n"
        "\n"
        "Then we give up.\n"
    )


def test_what_is_empty_or_the_default_is_left_out():
    assert [key for key, _ in entry_fields(FIRST._replace(tags=()))] == [
        "id",
        "title",
        "status",
        "provenance",
        "author",
        "created_at",
        "updated_at",
    ]


def test_an_expiry_that_nobody_gave_is_left_out():
    entry = FIRST._replace(ttl_policy="decay", expires=NOON, expires_by_default=True)

    assert "expires_ts" not in dict(entry_fields(entry))


@given(entries)
def test_any_entry_is_read_back_as_it_was_written(entry: Entry):
    fields, body = parse(render_entry(entry), markers_are_text=True)

    ours = [(key, value) for key, value in fields.items() if key in KEYS]
    assert ours == entry_fields(entry)
    assert [key for key in KEYS if key in fields] == [key for key, _ in ours]
    assert unknown_lines(render_entry(entry), KEYS, markers_are_text=True) == entry.extra
    assert body == tidy(entry.content)


@given(entries)
def test_the_file_that_was_written_is_the_same_whatever_its_line_ends(entry: Entry):
    data = render_entry(entry)

    assert state_of(data, entry, []) == "same"
    assert state_of(data.replace(b"\n", b"\r\n"), entry, []) == "same"


@given(entries, entries)
def test_every_file_that_was_ever_written_is_stale_later(old: Entry, new: Entry):
    state = state_of(render_entry(old), new, [old, new])

    assert state == ("same" if render_entry(old) == render_entry(new) else "stale")


def test_recorded_values_are_asked_for_only_when_the_bytes_differ():
    def recorded():
        raise AssertionError("asked")

    assert classify(render_entry(SECOND), SECOND, recorded) == "same"
    assert classify(None, SECOND, recorded) == "missing"


def test_a_file_that_mixes_recorded_parts_is_stale():
    mixed = FIRST._replace(content=SECOND.content, confidence=SECOND.confidence)

    assert state_of(render_entry(mixed), SETTLED) == "stale"


def test_another_editors_style_is_no_edit():
    restyled = (
        b"\xef\xbb\xbf---\n"
        b"updated_at: 2026-03-01T12:00:00.000Z\n"
        b"created_at: '2026-03-01T12:00:00.000Z'\n"
        b"id: '01JABCDEFGHJKMNPQRSTVWXYZ0'\n"
        b'title: "Retries stop at 3"\n'
        b"status: active\n"
        b"provenance: ['file:src/a.py#L3-L9']\n"
        b"tags: [http, retry]\n"
        b"confidence: .80\n"
        b"merge_key:\n"
        b"supersedes: []\n"
        b"author: Ann\n"
        b"---\n"
        b"We retry three times.\n\nThen we give up.\n\n\n"
    )

    assert state_of(restyled, SETTLED) == "stale"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"three times", b"3 times"),
        (b"title: Retries stop at 3", b"title: Retries stop at 4"),
        (b"  - http\n", b""),
        (b"status: active", b"status: deprecated"),
        (b"author: Ann", b"author: Eve"),
        (b"author: Ann\n", b""),
        (b"author: Ann\n", b"author: Ann\ncssclass: wide\n"),
        (b"author: Ann\n", b"author: Ann\naliases:\n  - retry rule\n"),
        (b"author: Ann\n", b"author: Ann\nconfidence: true\n"),
        (b"author: Ann\n", b"author: Ann\nconfidence: {a: b}\n"),
        (b"  - http\n", b"  - http\n  - [http]\n"),
        (b"tags:\n  - http\n  - retry\n", b"tags:\n  - retry\n  - http\n"),
    ],
)
def test_anything_that_was_never_recorded_is_an_edit(old: bytes, new: bytes):
    data = render_entry(FIRST)
    assert old in data

    assert state_of(data.replace(old, new), SETTLED) == "edited"


def test_removing_a_field_that_was_always_there_is_an_edit():
    data = render_entry(FIRST).replace(b"tags:\n  - http\n  - retry\n", b"")

    assert state_of(data, FIRST, [FIRST]) == "edited"
    assert state_of(data, FIRST, [FIRST, SECOND]) == "stale"


def test_a_file_without_front_matter_is_an_edit():
    assert state_of(FIRST.content.encode(), FIRST) == "edited"


@pytest.mark.parametrize(
    "data", [b"", b"\n", bytes(512), b"\xff\xfe", b"---\nid: [\n---\n", b"---\nid: a\nid: a\n---\n"]
)
@pytest.mark.parametrize("entry", [FIRST, DIVERGED])
def test_a_file_that_cannot_be_read_is_damaged(data: bytes, entry: Entry):
    assert state_of(data, entry) == "damaged"


def test_while_an_entry_is_diverged_its_file_is_not_an_edit():
    assert state_of(render_entry(DIVERGED), DIVERGED) == "same"
    assert state_of(render_entry(SECOND), DIVERGED) == "diverged"
    assert state_of(render_entry(SECOND).replace(b"four", b"fourteen"), DIVERGED) == "diverged"


@pytest.mark.parametrize("options", [[], ["--diff3"], ["--zdiff3"]])
def test_a_conflict_between_recorded_versions_is_settled_by_the_fold(tmp_path: Path, options: list[str]):
    data = merged(SECOND, FIRST, OTHER_BRANCH, tmp_path, *options)

    assert state_of(data, DIVERGED) == "diverged"
    assert state_of(data, SETTLED) == "stale"
    assert state_of(data.replace(b"\n", b"\r\n"), SETTLED) == "stale"


def test_a_conflict_around_an_edit_is_conflicted(tmp_path: Path):
    edited = OTHER_BRANCH._replace(content="We never retry.")
    data = merged(SECOND, FIRST, edited, tmp_path)

    assert state_of(data, DIVERGED) == "conflicted"
    assert state_of(data, SETTLED) == "conflicted"


def test_a_half_resolved_conflict_is_conflicted(tmp_path: Path):
    data = merged(SECOND, FIRST, OTHER_BRANCH, tmp_path).replace(b"=======\n", b"")

    assert state_of(data, SETTLED) == "conflicted"


def test_an_entry_about_conflict_markers_is_no_conflict():
    about = FIRST._replace(content="<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch")
    later = about._replace(content="Do not merge.")

    assert state_of(render_entry(about), about, [about]) == "same"
    assert state_of(render_entry(about), later, [about, later]) == "stale"


def test_rendering_ten_thousand_entries_is_quick():
    started = time.perf_counter()
    for _ in range(10_000):
        render_entry(SECOND)

    assert time.perf_counter() - started < 2  # about 0.2 s alone; machines that run tests are busy
