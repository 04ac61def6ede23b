"""The database's tables, defined once. The embedded database runs the DDL generated from here (`schema.sql`)."""

from __future__ import annotations

from sqlalchemy import Index, LargeBinary, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlmodel import Field, SQLModel

_CLUSTERED = {"sqlite_with_rowid": False}  # the key is the row: half the space, one look-up


class Meta(SQLModel, table=True):
    __tablename__ = "meta"
    key: str = Field(primary_key=True)
    value: str


class SegmentRow(SQLModel, table=True):
    """A segment as it was when it was last folded."""

    __tablename__ = "segments"
    path: str = Field(primary_key=True)
    size: int
    mtime_ns: int
    inode: int


class SegmentProblem(SQLModel, table=True):
    """A line that is no event."""

    __tablename__ = "segment_problems"
    segment: str = Field(primary_key=True)
    line: int = Field(primary_key=True)
    code: str
    message: str
    tail: bool  # an unterminated last line: a crash, not damage


class EventRow(SQLModel, table=True):
    """Where an event is. Its text stays in the segment."""

    __tablename__ = "events"
    __table_args__ = (Index("ix_events_heads", "ledger", sqlite_where=text("is_head")),)
    number: int = Field(primary_key=True)
    hash: bytes = Field(sa_type=LargeBinary, unique=True)
    event_id: str = Field(index=True)
    ledger: str
    type: str
    recorded: int
    agent: str  # that it names, or its actor
    segment: str = Field(index=True)
    offset: int
    length: int
    has_text: bool
    is_head: bool


class EventCopy(SQLModel, table=True):
    """The same event once more, in another segment."""

    __tablename__ = "event_copies"
    segment: str = Field(primary_key=True)
    offset: int = Field(primary_key=True)
    length: int
    has_text: bool
    hash: bytes = Field(sa_type=LargeBinary, index=True)


class Redaction(SQLModel, table=True):
    """An event whose text is to be shown no more, and the event that says so."""

    __tablename__ = "redactions"
    __table_args__ = _CLUSTERED
    event_id: str = Field(primary_key=True)
    redaction: int = Field(primary_key=True, index=True)


class EventParent(SQLModel, table=True):
    __tablename__ = "event_parents"
    __table_args__ = _CLUSTERED
    parent: bytes = Field(sa_type=LargeBinary, primary_key=True)
    child: int = Field(primary_key=True, index=True)


class EventSubject(SQLModel, table=True):
    """What an event acts on: `e:<entry id>`, `p:<promotion id>`, `t:<task id>` or `f:<finding id>`."""

    __tablename__ = "event_subjects"
    __table_args__ = _CLUSTERED
    subject: str = Field(primary_key=True)
    event: int = Field(primary_key=True, index=True)


class EventFeedback(SQLModel, table=True):
    """What a feedback event adds, so that it can be taken back when the event vanishes."""

    __tablename__ = "event_feedback"
    __table_args__ = _CLUSTERED
    event: int = Field(primary_key=True)
    entry_id: str = Field(primary_key=True)
    outcome: str


class EntryRow(SQLModel, table=True):
    __tablename__ = "entries"
    __table_args__ = (Index("ix_entries_key", "merge_key", "scope"), Index("ix_entries_updated", "updated"))
    number: int = Field(primary_key=True)
    id: str = Field(unique=True)
    title: str
    title_key: str = Field(index=True)
    provenances: str
    tags: str
    scope: str
    merge_key: str | None
    claim_id: str | None
    ttl_policy: str
    expires: int | None
    expires_by_default: bool
    confidence: str | None
    supersedes: str
    status: str
    written_status: str
    author: str
    contributors: str
    created: int
    updated: int
    version: str
    heads: str
    path: str = Field(index=True)
    anchors: str
    reaffirmed: int | None
    aliases: str
    source: str | None
    extra: str
    filed: bool
    digest: bytes = Field(sa_type=LargeBinary)
    content: str  # last: what is short is read without the pages of what is long


class CitedFile(SQLModel, table=True):
    """Which entries cite a file."""

    __tablename__ = "cited_files"
    __table_args__ = _CLUSTERED
    path: str = Field(primary_key=True)
    number: int = Field(primary_key=True, index=True)


class LinkName(SQLModel, table=True):
    """What a link may call an entry, without folders and whatever the case."""

    __tablename__ = "link_names"
    __table_args__ = _CLUSTERED
    name: str = Field(primary_key=True)
    number: int = Field(primary_key=True, index=True)


class LinkMention(SQLModel, table=True):
    """What the links of an entry call others, in the same form, and what it supersedes."""

    __tablename__ = "link_mentions"
    __table_args__ = _CLUSTERED
    name: str = Field(primary_key=True)
    number: int = Field(primary_key=True, index=True)


class CitationCheck(SQLModel, table=True):
    """How a citation was found to stand, for as long as its file is what it was: a memory, no part of the fold."""

    __tablename__ = "citation_checks"
    __table_args__ = _CLUSTERED
    anchor: bytes = Field(sa_type=LargeBinary, primary_key=True)
    stamp: str
    state: str
    path: str | None
    first: int | None
    last: int | None
    name: str | None


class MergedSegment(SQLModel, table=True):
    """A segment as the default branch has it: what is in one is merged. A memory, no part of the fold."""

    __tablename__ = "merged_segments"
    __table_args__ = _CLUSTERED
    path: str = Field(primary_key=True)
    size: int


class MergedEvent(SQLModel, table=True):
    """An event that the default branch has in a segment which is not here."""

    __tablename__ = "merged_events"
    __table_args__ = _CLUSTERED
    hash: bytes = Field(sa_type=LargeBinary, primary_key=True)


class EntryChunk(SQLModel, table=True):
    """A passage of an entry as it was when it was cut: a memory, no part of the fold."""

    __tablename__ = "entry_chunks"
    __table_args__ = _CLUSTERED
    number: int = Field(primary_key=True)
    place: int = Field(primary_key=True)
    stamp: bytes = Field(sa_type=LargeBinary)  # the entry's digest then
    first: int
    last: int
    digest: bytes = Field(sa_type=LargeBinary, index=True)


class ChunkVector(SQLModel, table=True):
    """What a model makes of a passage: the same words have the same vector, whichever entry they are in."""

    __tablename__ = "chunk_vectors"
    __table_args__ = (Index("ix_chunk_vectors_key", "digest", "model", unique=True),)
    number: int = Field(primary_key=True)
    digest: bytes = Field(sa_type=LargeBinary)
    model: str
    vector: bytes = Field(sa_type=LargeBinary)  # float32, little-endian


class PromotionRow(SQLModel, table=True):
    __tablename__ = "promotions"
    id: str = Field(primary_key=True)
    recorded: int
    source_entry_id: str
    source_version: str
    source_hash: str
    target_id: str | None
    evidence_refs: str
    actor: str
    reason: str
    approved_by: str | None
    revoked: bool


class PromotionUse(SQLModel, table=True):
    """Which entries rest on a promotion."""

    __tablename__ = "promotion_uses"
    __table_args__ = _CLUSTERED
    promotion: str = Field(primary_key=True)
    entry_id: str = Field(primary_key=True, index=True)


class FeedbackRow(SQLModel, table=True):
    __tablename__ = "feedback"
    entry_id: str = Field(primary_key=True)
    helped: int
    neutral: int
    hurt: int
    unknown: int


class TaskRow(SQLModel, table=True):
    __tablename__ = "tasks"
    id: str = Field(primary_key=True)
    title: str
    description: str
    tags: str
    agent: str
    created: int
    status: str = Field(index=True)
    decided: str


class FindingRow(SQLModel, table=True):
    __tablename__ = "findings"
    id: str = Field(primary_key=True)
    task_id: str = Field(index=True)
    agent: str
    summary: str
    knowledge_id: str | None
    recorded: int


class PendingMarkdown(SQLModel, table=True):
    """A file to write. The note goes only when the file equals the fold."""

    __tablename__ = "pending_markdown"
    path: str = Field(primary_key=True)
    entry_id: str
    blocked: str | None  # the state of a file that is not ours to overwrite


class MarkdownFile(SQLModel, table=True):
    """A file as it was when it was last looked at."""

    __tablename__ = "markdown_files"
    path: str = Field(primary_key=True)
    entry_id: str = Field(index=True)
    stamp: str
    state: str


def embedded_ddl() -> str:
    """The DDL of the embedded database."""
    dialect = sqlite.dialect()
    statements = []
    for table in SQLModel.metadata.sorted_tables:
        statements.append(str(CreateTable(table).compile(dialect=dialect)).strip())
        statements += [
            str(CreateIndex(index).compile(dialect=dialect))
            for index in sorted(table.indexes, key=lambda index: str(index.name))
        ]
    lines = [line.rstrip() for statement in statements for line in f"{statement};".splitlines()]
    return "-- Generated from tables.py: make generate.\n" + "\n".join(lines) + "\n"
