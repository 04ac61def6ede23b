"""Full-text search over the entries of the database, and the entries that say nearly the same.

Relevance is bm25 over the whole text: any of the query's words will do, rare ones count most, a title more than a text.
The tables are a projection; whoever writes `entries` calls `index` or `unindex` in the same transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain import words
from decapod_py.foundation.clock import DAY

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.domain.entry import Entry
    from decapod_py.domain.words import Term
    from decapod_py.views.meaning import Near

Words = tuple[str, str, str]  # title, tags and content as they are indexed
Row = tuple[int, str, str, str]  # a number and its words

TOKENIZER = "porter unicode61 remove_diacritics 2"
TITLE_WEIGHT, TAGS_WEIGHT, CONTENT_WEIGHT = 8, 4, 1

# Words are gathered in memory and written when it is full: few large writes take half the time of many small ones.
# Rows of `entries` are long: `entries_matched` has what filters and order need of a match, in a tenth of the pages.
DDL = f"""
CREATE VIRTUAL TABLE entry_words USING fts5(title, tags, content, tokenize = '{TOKENIZER}');
INSERT INTO entry_words (entry_words, rank) VALUES ('hashsize', {16 << 20});
CREATE TABLE entry_sketch (value INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (value, number)) WITHOUT ROWID;
CREATE INDEX entries_matched ON entries (number, status, expires, created, scope, id);
"""

# The words without their index, which is most of the work: enough to compare them. What is told to the index is a row.
UNINDEXED_DDL = f"CREATE TABLE entry_words (title, tags, content, entry_words, rank);\n{DDL.split(';', 2)[2]}"

ALIKE = 0.6  # the share of word pairs from which two texts are near-duplicates
_MAX_HOLDERS = 64  # entries looked at for one value of a sketch: boilerplate is in thousands
_MAX_CANDIDATES = 8  # texts compared for one call

_MANY_ENTRIES = 20_000  # from here on a word in a tenth of them costs more than it tells
_BEST = 3  # matches whose evidence is looked at
_FLOOR = 1e-6  # the weight bm25 gives a word that is in at least half of the entries

_FEEDBACK_WEIGHT, _FEEDBACK_PRIOR = 0.2, 3
_RELEVANCE = f":scale * -bm25(entry_words, {TITLE_WEIGHT}, {TAGS_WEIGHT}, {CONTENT_WEIGHT})"
_FEEDBACK = (
    f"(1 + {_FEEDBACK_WEIGHT} * (ifnull(f.helped, 0) - ifnull(f.hurt, 0))"
    f" / (ifnull(f.helped, 0) + ifnull(f.hurt, 0) + {_FEEDBACK_PRIOR}))"
)
_RECENCY = f"(1 / (1 + max(0, :now - e.created) / {DAY}.0))"
_RANKS = {
    "relevance": f"{_RELEVANCE} * {_FEEDBACK}",
    "recency_decay": f"{_RELEVANCE} * {_FEEDBACK} * {_RECENCY}",
}
_UNIT = 10**6  # of a score: what is equal in millionths is a tie. SQLite's round() is slow, a cast is not.
_MATCHES = "entry_words JOIN entries AS e INDEXED BY entries_matched ON e.number = entry_words.rowid"

# Porter may stem a word to less than its beginning (`universit*` to `univers`): the word may end in one of these.
_ENDINGS = ("y", "e", "es", "ed", "er", "al", "ing", "ion", "ions", "ies", "ity", "ment", "ation", "able", "ness")


class Filters(NamedTuple):
    status: str = "active"  # or `any`; an expired entry is no longer active but stale
    tags: tuple[str, ...] = ()  # all of them
    scope: str | None = None
    window_days: int | None = None  # created in the last so many days
    author: str | None = None  # who wrote it first
    path_prefix: str | None = None  # how the path of its file begins, below the folder of entries
    since: int | None = None  # updated then or later


class Hit(NamedTuple):
    number: int
    id: str
    relevance: float
    recency: float
    feedback: float
    score: float
    matched: tuple[str, ...] = ()  # the query's terms in this entry, when an explanation was asked for
    drift: float = 1  # what its citations make of the score
    near: Near | None = None  # how near its meaning comes, where that was asked


class Indexed(NamedTuple):
    """What the tables say of an entry, worked out where no database is at hand."""

    words: Words
    sketch: list[int]


class SearchOutcome(NamedTuple):
    hits: list[Hit]
    total: int  # matches that pass the filters, of which `hits` are the best
    terms: tuple[str, ...]  # what was looked for, for snippets
    evidence: float = 0  # the largest share of the query, by weight, that one of the best matches has


class Candidate(NamedTuple):
    """An entry that passes the filters."""

    id: str
    recency: float
    feedback: float


class Alike(NamedTuple):
    id: str
    title: str
    similarity: float  # 1 for the same title


NOTHING = SearchOutcome([], 0, ())


def feedback_factor(helped: int, hurt: int) -> float:
    """Between 0.8 and 1.2: a few outcomes move an entry a little, many never move it far."""
    return 1 + _FEEDBACK_WEIGHT * (helped - hurt) / (helped + hurt + _FEEDBACK_PRIOR)


_DRIFT = {"changed": 0.75, "gone": 0.75, "unresolvable": 0.9}


def drift_factor(drift: str | None) -> float:
    """Between 0.75 and 1: what cites code that changed may be wrong, and may be just what is looked for."""
    return _DRIFT.get(drift or "", 1)


def recency_factor(created: int, now: int) -> float:
    """1 for a new entry, a half after one day, a third after two."""
    return 1 / (1 + max(0, now - created) / DAY)


def indexed(entry: Entry) -> Indexed:
    """What `index` and `index_many` write of an entry."""
    searchable = words.searchable
    found = searchable(entry.title), searchable(words.tags_key(entry.tags)), searchable(entry.content)
    return Indexed(found, _sketch(*found))


def index(connection: Connection, number: int, entry: Indexed) -> None:
    """Makes one entry findable as it now is."""
    known = _stored(connection, number)
    if known != (number, *entry.words):  # a change of status leaves the words as they are
        if known:
            _remove(connection, known)
        index_many(connection, [(number, entry)])


def index_many(connection: Connection, entries: list[tuple[int, Indexed]]) -> None:
    """Makes entries findable that are not in the index yet."""
    connection.executemany(
        "INSERT INTO entry_words (rowid, title, tags, content) VALUES (?, ?, ?, ?)",
        [(number, *entry.words) for number, entry in entries],
    )
    # In the order of the table: neighbours go to one page.
    pairs = sorted((value, number) for number, entry in entries for value in entry.sketch)
    connection.executemany("INSERT INTO entry_sketch VALUES (?, ?)", pairs)


def tidy(connection: Connection) -> None:
    """Joins what a bulk change left in parts: the next thousand changes need not do it bit by bit."""
    connection.execute("INSERT INTO entry_words (entry_words) VALUES ('optimize')")


def forget_deleted(connection: Connection) -> None:
    """Makes the index anew: it keeps the words of deleted rows until it happens to be joined.

    Vectors go too, for they tell of words that are gone; the next question that needs them makes them anew.
    """
    connection.execute("INSERT INTO entry_words (entry_words) VALUES ('rebuild')")
    connection.execute("DELETE FROM entry_chunks")
    connection.execute("DELETE FROM chunk_vectors")


def unindex(connection: Connection, number: int) -> None:
    """Makes an entry unfindable."""
    known = _stored(connection, number)
    if known:
        _remove(connection, known)


def clear(connection: Connection) -> None:
    """Makes everything unfindable, before a rebuild."""
    connection.execute("DELETE FROM entry_words")
    connection.execute("DELETE FROM entry_sketch")


def search(
    connection: Connection,
    query: str,
    *,
    now: int,
    filters: Filters = Filters(),  # noqa: B008  (immutable)
    rank: str = "relevance",
    limit: int = 10,
    explain: bool = False,
    weigh: bool = False,
) -> SearchOutcome:
    """The best matches of a query, ties by id, and how many match in all; `weigh` tells the evidence for them."""
    asked = words.parse(query)
    terms, scale = _telling(connection, asked)
    if not terms:
        return NOTHING
    wanted, values = _conditions(filters, now)
    values |= {"match": " OR ".join(map(_expression, terms)), "scale": scale, "limit": limit}
    rows = connection.execute(
        f"SELECT e.number, e.id, {_RELEVANCE}, {_RECENCY}, {_FEEDBACK},"
        f" CAST({_RANKS[rank]} * {_UNIT} + 0.5 AS INTEGER) AS millionths"
        f" FROM {_MATCHES} LEFT JOIN feedback AS f ON f.entry_id = e.id"
        f" WHERE entry_words MATCH :match AND {wanted} ORDER BY millionths DESC, e.id LIMIT :limit",
        values,
    )
    hits = [
        Hit(number, entry_id, relevance, recency, feedback, millionths / _UNIT)
        for number, entry_id, relevance, recency, feedback, millionths in rows
    ]
    total = len(hits) if len(hits) < limit else _count(connection, wanted, values)
    if explain:
        hits = [hit._replace(matched=_matched(connection, hit.number, terms)) for hit in hits]
    evidence = _evidence(connection, asked, terms, hits[:_BEST]) if weigh else 0
    return SearchOutcome(hits, total, tuple(term.label for term in terms), evidence)


def candidates(connection: Connection, numbers: Iterable[int], *, now: int, filters: Filters) -> dict[int, Candidate]:
    """Those of these entries that pass the filters."""
    wanted, values = _conditions(filters, now)
    values["numbers"] = str(list(numbers))
    tagged = " JOIN entry_words ON entry_words.rowid = e.number" if filters.tags else ""
    rows = connection.execute(
        f"SELECT e.number, e.id, {_RECENCY}, {_FEEDBACK} FROM json_each(:numbers) AS n"
        f" CROSS JOIN entries AS e INDEXED BY entries_matched ON e.number = n.value{tagged}"
        f" LEFT JOIN feedback AS f ON f.entry_id = e.id WHERE {wanted}",
        values,
    )
    return {number: Candidate(*candidate) for number, *candidate in rows}


def matched(connection: Connection, query: str, hits: list[Hit]) -> list[Hit]:
    """The same, each with the query's terms that are in it."""
    terms, _ = _telling(connection, words.parse(query))
    return [hit._replace(matched=_matched(connection, hit.number, terms)) for hit in hits]


def path_prefix(given: str) -> str:
    """How paths begin in the database, whether or not the folder of all entries was named."""
    return given.removeprefix("./").removeprefix(".decapod/knowledge").lstrip("/")


def similar(
    connection: Connection,
    title: str,
    content: str,
    *,
    now: int,
    exclude: Iterable[str] = (),
    limit: int = 3,
) -> list[Alike]:
    """Active entries with the same title or nearly the same text, most similar first."""
    excluded = set(exclude)
    same = _same_title(connection, title, now, limit + len(excluded))
    alike = _near_duplicates(connection, words.searchable(content or title), now)
    found = {one.id: one for one in [*alike, *same] if one.id not in excluded}
    return sorted(found.values(), key=lambda one: (-one.similarity, one.id))[:limit]


def _sketch(title: str, _: str, content: str) -> list[int]:
    # From the indexed text, which the index keeps: so an entry's values can be deleted without an index by number.
    return words.sketch(words.shingles(content or title))


def _stored(connection: Connection, number: int) -> Row | None:
    statement = "SELECT rowid, title, tags, content FROM entry_words WHERE rowid = ?"
    row: Row | None = connection.execute(statement, (number,)).fetchone()
    return row


def _remove(connection: Connection, row: Row) -> None:
    number, *stored = row
    values = [(value, number) for value in _sketch(*stored)]
    connection.executemany("DELETE FROM entry_sketch WHERE value = ? AND number = ?", values)
    connection.execute("DELETE FROM entry_words WHERE rowid = ?", (number,))


def _conditions(filters: Filters, now: int) -> tuple[str, dict[str, Any]]:
    """The filters as SQL over `e`, and its values."""
    values: dict[str, Any] = {"now": now}
    conditions = ["e.status <> 'deleted'"]
    if filters.status == "active":
        conditions = ["e.status = 'active' AND (e.expires IS NULL OR e.expires > :now)"]
    elif filters.status == "stale":
        conditions = ["(e.status = 'stale' OR e.status = 'active' AND e.expires <= :now)"]
    elif filters.status != "any":
        conditions.append("e.status = :status")
        values["status"] = filters.status
    if filters.scope is not None:
        conditions.append("e.scope = :scope")
        values["scope"] = filters.scope
    if filters.window_days is not None:
        conditions.append("e.created >= :since")
        values["since"] = now - filters.window_days * DAY
    if filters.author is not None:
        conditions.append("e.author = :author")
        values["author"] = filters.author
    if filters.path_prefix is not None:
        conditions.append("substr(e.path, 1, length(:prefix)) = :prefix")
        values["prefix"] = filters.path_prefix
    if filters.since is not None:
        conditions.append("e.updated >= :updated")
        values["updated"] = filters.since
    for place, tag in enumerate(filters.tags):
        conditions.append(f"instr(entry_words.tags, :tag{place})")
        values[f"tag{place}"] = words.searchable(words.tag_key(tag))
    return " AND ".join(conditions), values


def _count(connection: Connection, wanted: str, values: dict[str, Any]) -> int:
    statement = f"SELECT count(*) FROM {_MATCHES} WHERE entry_words MATCH :match AND {wanted}"
    return int(connection.execute(statement, values).fetchone()[0])


def _matched(connection: Connection, number: int, terms: list[Term]) -> tuple[str, ...]:
    statement = "SELECT 1 FROM entry_words WHERE entry_words MATCH ? AND rowid = ?"
    return tuple(term.label for term in terms if connection.execute(statement, (_expression(term), number)).fetchone())


def _evidence(connection: Connection, asked: list[Term], telling: list[Term], best: list[Hit]) -> float:
    """1 where a match has every word of the query. A word that no entry has weighs most: nothing here speaks of it."""
    entries: int = connection.execute("SELECT count(*) FROM entry_words_docsize").fetchone()[0]
    single = [term for term in asked if len(term.words) == 1] or asked
    weights = {}
    for term in single:
        count = _frequency(connection, term, entries // 10 + 1)
        if term in telling or not count:  # the others are in too many entries to be looked for
            weights[term] = log(1 + (entries - count + 0.5) / (count + 0.5))
    whole = sum(weights.values())
    if not whole:
        return 1.0
    known = [term for term in weights if term in telling]
    shares = []
    for hit in best:
        matched = set(_matched(connection, hit.number, known))
        shares.append(sum(weights[term] for term in known if term.label in matched) / whole)
    return max(shares, default=0.0)


def _telling(connection: Connection, terms: list[Term]) -> tuple[list[Term], float]:
    """The terms worth looking for, and what their relevance is to be multiplied with.

    A term nobody uses goes, so a miss is cheap. Among many entries those of more than a tenth go too, unless nothing
    rarer is left: then the two rarest stay.
    """
    entries: int = connection.execute("SELECT count(*) FROM entry_words_docsize").fetchone()[0]
    half = (entries + 1) // 2
    many = entries >= _MANY_ENTRIES
    known = _known(connection, terms, entries // 10 + 1 if many else half)
    if many:
        rare = [(term, count) for term, count in known if count <= entries // 10]
        common = [] if rare else _known(connection, [term for term, _ in known], entries)
        known = rare or sorted(common, key=lambda counted: counted[1])[:2]
    # All of them would weigh next to nothing: among themselves they are worth an ordinary weight.
    scale = 1 / _FLOOR if all(count >= half for _, count in known) else 1.0
    return [term for term, _ in known], scale


def _known(connection: Connection, terms: list[Term], most: int) -> list[tuple[Term, int]]:
    """The terms that occur at all, with the number of entries they occur in, counted up to `most`."""
    return [(term, count) for term in terms if (count := _frequency(connection, term, most))]


def _frequency(connection: Connection, term: Term, most: int) -> int:
    statement = "SELECT count(*) FROM (SELECT 1 FROM entry_words WHERE entry_words MATCH ? LIMIT ?)"
    return int(connection.execute(statement, (_expression(term), most)).fetchone()[0])


def _expression(term: Term) -> str:
    """A term in FTS5's language; quoted, so that no word of it is an operator."""
    text = f'"{" ".join(term.words)}"'
    if not term.prefix:
        return text
    if len(term.words) > 1 or len(text) < 6:
        return text + " *"
    endings = " OR ".join(f'"{term.words[0]}{ending}"' for ending in _ENDINGS)
    return f"({text} * OR {endings})"


def _same_title(connection: Connection, title: str, now: int, limit: int) -> list[Alike]:
    wanted, values = _conditions(Filters(), now)
    values |= {"key": words.title_key(title), "limit": limit}
    rows = connection.execute(
        f"SELECT e.id, e.title, 1.0 FROM entries AS e WHERE e.title_key = :key AND {wanted}"
        " ORDER BY e.number LIMIT :limit",
        values,
    )
    return [Alike(*row) for row in rows]


def _near_duplicates(connection: Connection, indexed: str, now: int) -> list[Alike]:
    own = words.shingles(indexed)
    wanted, values = _conditions(Filters(), now)
    alike = []
    for number in _candidates(connection, words.sketch(own)):
        row = connection.execute(
            f"SELECT e.id, e.title, e.content FROM entries AS e WHERE e.number = :number AND {wanted}",
            values | {"number": number},
        ).fetchone()
        if row:
            other = words.shingles(words.searchable(row[2] or row[1]))
            similarity = round(words.likeness(own, other), 3)
            if similarity >= ALIKE:
                alike.append(Alike(row[0], row[1], similarity))
    return alike


def _candidates(connection: Connection, sketch: list[int]) -> list[int]:
    """Numbers of the entries that share most values of a sketch, the newest first among equals."""
    statement = "SELECT number FROM entry_sketch WHERE value = ? ORDER BY number DESC LIMIT ?"
    shared = Counter(number for value in sketch for (number,) in connection.execute(statement, (value, _MAX_HOLDERS)))
    return sorted(shared, key=lambda number: (-shared[number], -number))[:_MAX_CANDIDATES]
