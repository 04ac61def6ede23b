"""The fold: events in, state out. Pure, total and independent of the order in which events arrive.

An event names every subject it acts on, so each subject folds by itself: `fold_entry` sees the events of one entry and
nothing else. Whatever else a well-sealed event may hold, folding it never fails: a field of the wrong type counts as
absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from decapod_py.domain.anchors import Anchor, Cited, anchor_from, cited_from
from decapod_py.domain.entry import REDACTED, ROOT_SCOPE, Entry
from decapod_py.domain.event import Event, order, text_of
from decapod_py.domain.naming import is_safe_path
from decapod_py.domain.text import same_name
from decapod_py.foundation.clock import parse_time
from decapod_py.foundation.errors import Misused

EVENTS, DECAY = "knowledge.events", "knowledge.decay"
PROMOTIONS, RETRIEVAL = "knowledge.promotions", "knowledge.retrieval"
LEDGERS = (EVENTS, PROMOTIONS, DECAY, RETRIEVAL)

VERSIONS = frozenset({"entry.added", "entry.merged", "entry.edited", "entry.settled", "entry.revived"})
RENEWALS = frozenset({"entry.reanchored", "entry.reaffirmed"})  # each may name many entries
_SETTABLE = frozenset({"active", "superseded", "deprecated", "stale", "deleted"})
_TTL_POLICIES = frozenset({"ephemeral", "decay", "persistent"})
OUTCOMES = ("helped", "neutral", "hurt", "unknown")


class Promotion(NamedTuple):
    """The folded state of one promotion."""

    id: str
    recorded: int
    source_entry_id: str
    source_version: str
    source_hash: str  # of that version: an id can be made up, a hash cannot
    target_id: str | None  # the only rule it is good for, if it names one
    evidence_refs: tuple[str, ...]
    actor: str
    reason: str
    approved_by: str | None
    revoked: bool

    @property
    def state(self) -> str:
        if self.revoked:
            return "revoked"
        return "approved" if self.approved_by else "proposed"


def entries_of(event: Event) -> list[str]:
    """The entries this event acts on."""
    ledger, kind = event["ledger"], event["type"]
    if ledger == EVENTS and kind.startswith("entry."):
        named = texts(event, "entry_ids") if kind in RENEWALS else _texts([event.get("entry_id")])
        return _unique([*named, *texts(event, "supersedes")])
    if ledger == DECAY and kind == "decay.run":
        return _unique(texts(event, "stale_ids"))
    if kind == "event.redacted":
        return _unique(texts(event, "entry_ids"))
    return []


def promotions_of(event: Event) -> list[str]:
    """The promotions this event acts on."""
    if event["ledger"] != PROMOTIONS:
        return []
    if event["type"] == "promotion.recorded":
        return [event["event_id"]]
    if event["type"] == "event.redacted":
        return _unique(texts(event, "redacts"))
    return _texts([event.get("promotion")])


def feedback_of(event: Event) -> tuple[str, list[str]] | None:
    """The outcome and the entries it is about; feedback is a sum, so it needs no order."""
    if event["ledger"] != RETRIEVAL or event["type"] != "retrieval.logged" or event.get("outcome") not in OUTCOMES:
        return None
    return event["outcome"], _unique(texts(event, "used_ids"))


def fold_entry(entry_id: str, events: Iterable[Event]) -> Entry | None:
    """The state of one entry, or nothing while no version of it is here."""
    ordered = _ordered(events)
    versions = versions_of(entry_id, ordered)
    if not versions:
        return None
    heads = heads_of(entry_id, versions)
    first, shown = versions[0], heads[-1]
    expires, by_default = _expiry(shown)
    ttl_policy = _optional(shown, "ttl_policy")
    ttl_policy = ttl_policy if ttl_policy in _TTL_POLICIES else "persistent"
    status, written, touched = _status(entry_id, ordered, shown, ttl_policy, expires, by_default)
    author = first["actor"]
    created = moment(first.get("created_at"))
    created = recorded(first) if created is None else created
    redacted = redacted_by(ordered)
    renewals = _renewals(entry_id, ordered, shown)
    anchors: tuple[Anchor | None, ...] = ()
    if renewals or shown.get("anchors"):
        citations = {citation.provenance: citation for citation in citations_of(entry_id, ordered, shown["event_id"])}
        anchors = tuple(citations[provenance].anchor for provenance in texts(shown, "provenance"))
    return Entry(
        id=entry_id,
        title=_text(shown, "title", redacted),
        content=_text(shown, "content", redacted),
        provenances=tuple(texts(shown, "provenance")),
        tags=tuple(texts(shown, "tags")),
        scope=_optional(shown, "scope") or ROOT_SCOPE,
        merge_key=_optional(shown, "merge_key"),
        claim_id=_optional(shown, "claim_id"),
        ttl_policy=ttl_policy,
        expires=expires,
        expires_by_default=by_default,
        confidence=_optional(shown, "confidence"),
        supersedes=tuple(
            _unique(named for version in versions for named in texts(version, "supersedes") if named != entry_id)
        ),
        status=status,
        written_status=written,
        author=author,
        contributors=tuple(_unique(version["actor"] for version in versions[1:] if version["actor"] != author)),
        created=created,
        updated=max(recorded(touched), created),
        version=shown["event_id"],
        heads=tuple(version["event_id"] for version in heads),
        path=_safe_path(shown) or _safe_path(first) or f"{first['event_id'].lower()}.md",
        anchors=anchors if any(anchors) else (),
        aliases=tuple(texts(shown, "aliases")),
        source=_optional(shown, "source"),
        extra=(None if shown["event_id"] in redacted else text_of(shown, "extra")) or "",
        filed=_is_filed(entry_id, ordered),
        reaffirmed=max((recorded(event) for event in renewals if event["type"] == "entry.reaffirmed"), default=None),
    )


class Citation(NamedTuple):
    """One provenance of an entry, with what it said when it was last found to be right."""

    provenance: str
    anchor: Anchor | None
    cited: Cited | None


def citations_of(entry_id: str, events: Iterable[Event], version: str) -> list[Citation]:
    """The citations of one version, by itself or as they were anchored again since."""
    ordered = _ordered(events)
    redacted = redacted_by(ordered)
    shown = next(event for event in versions_of(entry_id, ordered)[::-1] if event["event_id"] == version)
    found = {citation.provenance: citation for citation in _recorded_citations(shown, redacted)}
    for event in _renewals(entry_id, ordered, shown):
        # By entry: one event may renew thousands, and each folds by itself.
        cited = _value(_texts_outside_the_hash(event, redacted), entry_id)
        for place, renewed in enumerate(_dictionaries(_value(event.get("anchors"), entry_id))):
            provenance = renewed.get("provenance")
            if isinstance(provenance, str) and provenance in found:
                found[provenance] = Citation(provenance, anchor_from(renewed), cited_from(_item(cited, place)))
    return list(found.values())


def _recorded_citations(version: Event, redacted: set[str]) -> list[Citation]:
    anchors, cited = version.get("anchors"), _texts_outside_the_hash(version, redacted)
    return [
        Citation(provenance, anchor_from(_item(anchors, place)), cited_from(_item(cited, place)))
        for place, provenance in enumerate(texts(version, "provenance"))
    ]


def _texts_outside_the_hash(event: Event, redacted: set[str]) -> Any:
    """What an event's anchors said; nothing once it was redacted."""
    return None if event["event_id"] in redacted else _value(event.get("text"), "anchors")


def _value(values: Any, name: str) -> Any:
    return values.get(name) if isinstance(values, dict) else None


def _item(values: Any, place: int) -> Any:
    return values[place] if isinstance(values, list) and place < len(values) else None


def _renewals(entry_id: str, ordered: list[Event], shown: Event) -> list[Event]:
    """What was said about the citations of this very version since; a later version speaks for itself."""
    return [
        event
        for event in ordered
        if event["type"] in RENEWALS and event["ledger"] == EVENTS and shown["event_id"] in was(event, entry_id)
    ]


def redacted_by(events: Iterable[Event]) -> set[str]:
    """The events whose text is to be shown no more."""
    return {named for event in events if event["type"] == "event.redacted" for named in texts(event, "redacts")}


def versions_of(entry_id: str, ordered: list[Event]) -> list[Event]:
    return [
        event
        for event in ordered
        if event["type"] in VERSIONS and event["ledger"] == EVENTS and event.get("entry_id") == entry_id
    ]


def heads_of(entry_id: str, versions: list[Event]) -> list[Event]:
    """The versions that no later version was decided from. The greatest version always is one."""
    built_on = {named for version in versions for named in was(version, entry_id) if named < version["event_id"]}
    return [version for version in versions if version["event_id"] not in built_on]


def was(event: Event, entry_id: str) -> list[str]:
    """The head versions of an entry that the event was decided from."""
    named = event.get("was")
    return _texts(named.get(entry_id)) if isinstance(named, dict) else []


def is_due(ttl_policy: str, expires: int | None, by_default: bool, since: int, as_of: int, lifetimes: Any) -> bool:
    """Whether an entry has outlived its expiry, or the shorter lifetime a decay policy gives where nobody chose one."""
    if ttl_policy not in ("decay", "ephemeral") or expires is None:
        return False
    lifetime = lifetimes.get(ttl_policy) if by_default and isinstance(lifetimes, dict) else None
    if isinstance(lifetime, int):
        expires = min(expires, since + lifetime)
    return expires <= as_of


def _status(
    entry_id: str, ordered: list[Event], shown: Event, ttl_policy: str, expires: int | None, by_default: bool
) -> tuple[str, str, Event]:
    status = written = "active"
    touched = shown
    for event in ordered:
        if event["type"] == "decay.run" and event["ledger"] == DECAY:
            as_of = moment(event.get("as_of"))
            if (
                status == "active"
                and as_of is not None
                and is_due(ttl_policy, expires, by_default, recorded(shown), as_of, event.get("lifetimes"))
            ):
                status = "stale"
        elif event["ledger"] != EVENTS:
            continue
        elif event.get("entry_id") == entry_id:
            if _optional(event, "status") in _SETTABLE:
                status = written = event["status"]
                touched = max(touched, event, key=order)
            if status == "deleted":
                return status, written, touched
        elif entry_id in texts(event, "supersedes"):
            status = written = "superseded"
    return status, written, touched


def fold_promotion(promotion_id: str, events: Iterable[Event]) -> Promotion | None:
    ordered = _ordered(events)
    recording = next((event for event in ordered if event["event_id"] == promotion_id), None)
    if recording is None or recording["type"] != "promotion.recorded":
        return None
    approvers = [event["actor"] for event in ordered if event["type"] == "promotion.approved"]
    named = _optional(recording, "approved_by")
    names = [name for name in [named or "", *approvers] if name.strip()]
    return Promotion(
        id=promotion_id,
        recorded=recorded(recording),
        source_entry_id=_optional(recording, "source_entry_id") or "",
        source_version=_optional(recording, "source_version") or "",
        source_hash=_optional(recording, "source_hash") or "",
        target_id=_optional(recording, "target_id"),
        evidence_refs=tuple(texts(recording, "evidence_refs")),
        actor=recording["actor"],
        reason=_text(recording, "reason", redacted_by(ordered)) or REDACTED,
        approved_by=_approver(names, recording["actor"]),
        revoked=any(event["type"] == "promotion.revoked" for event in ordered),
    )


def _approver(names: list[str], actor: str) -> str | None:
    """Somebody other than the one who proposed it, if there is one; whether that is enough is policy."""
    return next((name for name in names if not same_name(name, actor)), names[0] if names else None)


def recorded(event: Event) -> int:
    """When the event was written, by the clock of whoever wrote it."""
    return moment(event["ts"]) or 0


def moment(text: Any) -> int | None:
    if not isinstance(text, str):
        return None
    try:
        return parse_time(text)
    except Misused:
        return None


def texts(event: Event, name: str) -> list[str]:
    return _texts(event.get(name))


def _texts(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _dictionaries(values: Any) -> list[dict[str, Any]]:
    return [value if isinstance(value, dict) else {} for value in values] if isinstance(values, list) else []


def _optional(event: Event, name: str) -> str | None:
    value = event.get(name)
    return value if isinstance(value, str) and value else None


def _text(event: Event, name: str, redacted: set[str]) -> str:
    value = None if event["event_id"] in redacted else text_of(event, name)
    return REDACTED if value is None else value


def _safe_path(version: Event) -> str | None:
    """Where the Markdown goes. Ledgers come from strangers too: no path leads out of the knowledge folder."""
    path = _optional(version, "path") or ""
    return path if is_safe_path(path) else None


def _is_filed(entry_id: str, ordered: list[Event]) -> bool:
    """Whether the entry has a file: not while the last event to set its status says that somebody took it away."""
    setting = [event for event in ordered if event.get("entry_id") == entry_id and event["ledger"] == EVENTS]
    last = next((event for event in setting[::-1] if event["type"] in VERSIONS or _optional(event, "status")), None)
    return last is None or last.get("unfiled") is not True


def _expiry(version: Event) -> tuple[int | None, bool]:
    return moment(version.get("expires_ts")), version.get("expires_by_default") is True


def _ordered(events: Iterable[Event]) -> list[Event]:
    ordered = list({event["hash"]: event for event in events}.values())
    return sorted(ordered, key=order) if len(ordered) > 1 else ordered


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
