"""What the author of a version decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decapod_py.domain.authored import (
    Authored,
    authored_of,
    decimal,
    title_and_content,
    version_fields,
    version_text,
    with_lifetime,
)
from decapod_py.domain.event import seal
from decapod_py.domain.fold import fold_entry
from decapod_py.foundation.clock import DAY, format_time
from decapod_py.foundation.errors import Misused
from decapod_py.foundation.ids import ulid

NOON = 1_772_366_400_000
LIFETIMES = {"ephemeral": DAY, "decay": 90 * DAY}
PLAIN = Authored("Title", "Content", ("cmd:x",))
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@given(
    st.builds(
        Authored,
        title=WORDS,
        content=WORDS,
        provenances=st.lists(WORDS, min_size=1, max_size=2).map(tuple),
        tags=st.lists(WORDS, max_size=2).map(tuple),
        scope=WORDS,
        merge_key=st.none() | WORDS,
        claim_id=st.none() | WORDS,
        ttl_policy=st.sampled_from(("ephemeral", "decay", "persistent")),
        expires=st.none() | st.integers(0, 253_402_300_799_999),
        expires_by_default=st.booleans(),
        confidence=st.none() | st.floats(0, 1).map(decimal),
        aliases=st.lists(WORDS, max_size=2).map(tuple),
        source=st.none() | WORDS,
        extra=st.just("") | WORDS,
        anchors=st.just(()),
        cited=st.just(()),
        allowed_secret=st.none(),
    )
)
def test_what_is_authored_is_what_the_fold_of_its_event_says(authored: Authored) -> None:
    common = {
        "v": 1,
        "event_id": ulid(NOON),
        "ts": format_time(NOON),
        "ledger": "knowledge.events",
        "actor": "Ada",
        "prev": [],
    }
    fields = version_fields("a", "a.md", authored, {})

    entry = fold_entry("a", [seal({**fields, **common, "type": "entry.added"}, version_text(authored), "salt")])

    assert entry
    assert authored_of(entry) == authored


@pytest.mark.parametrize(
    ("policy", "expires", "decided"),
    [
        (None, None, ("persistent", None, False)),
        ("ephemeral", None, ("ephemeral", NOON + DAY, True)),
        ("decay", None, ("decay", NOON + 90 * DAY, True)),
        (None, "30d", ("decay", NOON + 30 * DAY, False)),
        ("ephemeral", "2h", ("ephemeral", NOON + 7_200_000, False)),
        (None, "0Z", ("decay", 0, False)),
    ],
)
def test_a_lifetime_is_what_somebody_said_or_what_the_policy_says(
    policy: str | None, expires: str | None, decided: tuple[str, int | None, bool]
) -> None:
    found = with_lifetime(PLAIN, policy, expires, NOON, LIFETIMES)

    assert (found.ttl_policy, found.expires, found.expires_by_default) == decided


@pytest.mark.parametrize("expires", ["1d", "0Z", "2026-01-01"])
def test_a_persistent_entry_has_no_expiry(expires: str) -> None:
    with pytest.raises(Misused) as refused:
        with_lifetime(PLAIN, "persistent", expires, NOON, LIFETIMES)
    assert refused.value.code == "never-expires"


@pytest.mark.parametrize(
    ("number", "text"),
    [(None, None), (0, "0"), (-0.0, "0"), (1, "1"), (0.8, "0.8"), (0.12345, "0.1235"), (1e-9, "0"), (0.1, "0.1")],
)
def test_a_confidence_is_recorded_as_a_short_decimal(number: float | None, text: str | None) -> None:
    assert decimal(number) == text


@pytest.mark.parametrize(
    ("note", "parts"),
    [
        ("Title", ("Title", "Title")),
        ("Title\nBody", ("Title", "Body")),
        ("# Title\n\nBody\nmore\n", ("Title", "Body\nmore")),
        ("### Title", ("Title", "Title")),
        ("#define X 3", ("#define X 3", "#define X 3")),
        ("\n\nTitle\n  \n", ("Title", "Title")),
        ("a" * 12, ("a" * 9 + "…", "a" * 12)),
        ("", ("", "")),
    ],
)
def test_a_note_is_a_title_and_a_content(note: str, parts: tuple[str, str]) -> None:
    assert title_and_content(note, 10 if note.startswith("aaa") else 300) == parts
