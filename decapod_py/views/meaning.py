"""The meaning of entries as vectors, and the entries whose meaning is nearest to a question's.

Vectors are a projection: computed when a question first needs them, kept in the database by model and by digest of the
passage they stand for, and computed again wherever they are missing. Writing an entry never waits for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.chunks import Span, chunks
from decapod_py.foundation.progress import Progress, silent

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.views.embedding import Embedder, Vectors

_STAMPS = "SELECT number, digest FROM entries WHERE status <> 'deleted'"
_PASSAGES = (
    "SELECT c.number, c.stamp, c.first, c.last, v.vector FROM entry_chunks AS c"
    " LEFT JOIN chunk_vectors AS v ON v.digest = c.digest AND v.model = ?"
)
_FEW = 200  # entries that are asked for one by one; more are found sooner in a look at all
_BATCH = 512  # passages between two words of progress
_MOST_ASKED = 2_000  # characters of a question that count


class Near(NamedTuple):
    """How near an entry's best passage comes to a question."""

    similarity: float  # the cosine: 1 for the same words
    passage: Span


class Passage(NamedTuple):
    number: int
    place: int
    stamp: bytes
    span: Span
    digest: bytes


class Learned(NamedTuple):
    """What had to be worked out, and is worth keeping."""

    model: str
    passages: list[Passage]
    vectors: dict[bytes, bytes]  # by digest


class Meaning:
    """The vectors of all entries, in memory while a process lives."""

    def __init__(self, embedder: Embedder) -> None:
        import numpy as np

        self._embedder = embedder
        self._seen: tuple[Connection, int, int] | None = None  # what others wrote, and this process, by then
        self._stamps: dict[int, bytes] = {}
        self._numbers = np.empty(0, np.int64)
        self._spans = np.empty((0, 2), np.int64)
        self._vectors: Vectors = np.empty((0, embedder.dimensions), np.float32)

    def learn(self, connection: Connection, progress: Progress = silent) -> Learned | None:
        """Takes in what changed since the last question: from the database, and else from the texts themselves."""
        seen = (connection, connection.execute("PRAGMA data_version").fetchone()[0], connection.total_changes)
        if seen == self._seen:
            return None
        learned = self._catch_up(connection, progress)
        self._seen = seen
        return learned

    def _catch_up(self, connection: Connection, progress: Progress) -> Learned | None:
        stamps: dict[int, bytes] = dict(connection.execute(_STAMPS))
        if stamps == self._stamps:
            return None
        changed = {number: stamp for number, stamp in stamps.items() if self._stamps.get(number) != stamp}
        self._forget(self._stamps.keys() - stamps.keys() | changed.keys())
        for number in self._recall(connection, changed):
            del changed[number]
        learned = self._work_out(connection, changed, progress) if changed else None
        self._stamps = stamps
        return learned

    def nearest(self, query: str, at_least: float) -> dict[int, Near]:
        """The entries that come as near as that to the question, by number, with the passage that is nearest."""
        import numpy as np

        question = self._embedder.embed([query[:_MOST_ASKED]])[0]
        similarities = self._vectors @ question
        near = np.flatnonzero(similarities >= at_least)
        # By entry, the nearest passage first: the first of each number is its best.
        order = near[np.lexsort((-similarities[near], self._numbers[near]))]
        numbers, firsts = np.unique(self._numbers[order], return_index=True)
        best = order[firsts]
        return {
            number: Near(similarity, Span(first, last))
            for number, similarity, (first, last) in zip(
                numbers.tolist(), similarities[best].tolist(), self._spans[best].tolist(), strict=True
            )
        }

    def _forget(self, numbers: Iterable[int]) -> None:
        import numpy as np

        forgotten = np.fromiter(numbers, np.int64)
        kept = ~np.isin(self._numbers, forgotten)
        self._numbers, self._spans, self._vectors = self._numbers[kept], self._spans[kept], self._vectors[kept]

    def _take_in(self, numbers: list[int], spans: list[Span], vectors: bytes) -> None:
        import numpy as np

        rows = np.frombuffer(vectors, "<f4").reshape(len(numbers), self._embedder.dimensions)
        self._numbers = np.concatenate([self._numbers, np.array(numbers, np.int64)])
        self._spans = np.concatenate([self._spans, np.array(spans, np.int64).reshape(-1, 2)])
        self._vectors = np.concatenate([self._vectors, rows.astype(np.float32, copy=False)])

    def _recall(self, connection: Connection, changed: dict[int, bytes]) -> set[int]:
        """Takes in what the database remembers of these entries; returns the ones it knows as they are now."""
        known: set[int] = set()
        partly: set[int] = set()
        numbers: list[int] = []
        spans: list[Span] = []
        vectors: list[bytes] = []
        length = 4 * self._embedder.dimensions
        for number, stamp, first, last, vector in self._remembered(connection, changed):
            if changed.get(number) == stamp and vector is not None and len(vector) == length:
                known.add(number)
                numbers.append(number)
                spans.append(Span(first, last))
                vectors.append(vector)
            else:
                partly.add(number)
        if partly & known:  # another model left its passages, and not all of them have a vector of this one
            kept = [place for place, number in enumerate(numbers) if number not in partly]
            numbers, spans = [numbers[place] for place in kept], [spans[place] for place in kept]
            vectors = [vectors[place] for place in kept]
        self._take_in(numbers, spans, b"".join(vectors))
        return known - partly

    def _remembered(
        self, connection: Connection, changed: dict[int, bytes]
    ) -> Iterator[tuple[int, bytes, int, int, bytes | None]]:
        model = self._embedder.name
        if len(changed) > _FEW:
            yield from connection.execute(_PASSAGES, (model,))
        else:
            for number in changed:
                yield from connection.execute(f"{_PASSAGES} WHERE c.number = ?", (model, number))

    def _work_out(self, connection: Connection, changed: dict[int, bytes], progress: Progress) -> Learned:
        """Cuts entries into passages, and embeds those that no entry has had yet."""
        learned = Learned(self._embedder.name, [], {})
        texts: dict[bytes, str] = {}
        for number, stamp in changed.items():
            title, content = connection.execute(
                "SELECT title, content FROM entries WHERE number = ?", (number,)
            ).fetchone()
            for place, span in enumerate(chunks(content) or [Span(0, 0)]):
                # With the title, which says what a passage is about.
                text = f"{title}. {content[span.first : span.last]}"
                digest = sha256(text.encode("utf-8", "replace")).digest()[:16]
                learned.passages.append(Passage(number, place, stamp, span, digest))
                texts[digest] = text
        self._embed(connection, texts, learned.vectors, progress)
        self._take_in(
            [passage.number for passage in learned.passages],
            [passage.span for passage in learned.passages],
            b"".join([learned.vectors[passage.digest] for passage in learned.passages]),
        )
        return learned

    def _embed(
        self, connection: Connection, texts: dict[bytes, str], vectors: dict[bytes, bytes], progress: Progress
    ) -> None:
        known = "SELECT vector FROM chunk_vectors WHERE digest = ? AND model = ?"
        for digest in texts:
            row = connection.execute(known, (digest, self._embedder.name)).fetchone()
            if row and len(row[0]) == 4 * self._embedder.dimensions:
                vectors[digest] = row[0]
        missing = [digest for digest in texts if digest not in vectors]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            rows = self._embedder.embed([texts[digest] for digest in batch]).astype("<f4")
            vectors.update((digest, row.tobytes()) for digest, row in zip(batch, rows, strict=True))
            progress("reading for meaning", start + len(batch), len(missing))


def remember(connection: Connection, learned: Learned) -> None:
    """Keeps vectors for the next process, and lets go of those of passages that are no more."""
    numbers = {passage.number for passage in learned.passages}
    connection.executemany("DELETE FROM entry_chunks WHERE number = ?", [(number,) for number in numbers])
    connection.executemany(
        "INSERT INTO entry_chunks (number, place, stamp, first, last, digest) VALUES (?, ?, ?, ?, ?, ?)",
        [(passage.number, passage.place, passage.stamp, *passage.span, passage.digest) for passage in learned.passages],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO chunk_vectors (digest, model, vector) VALUES (?, ?, ?)",
        [(digest, learned.model, vector) for digest, vector in learned.vectors.items()],
    )
    connection.execute(
        "DELETE FROM entry_chunks WHERE number NOT IN (SELECT number FROM entries WHERE status <> 'deleted')"
    )
    connection.execute("DELETE FROM chunk_vectors WHERE digest NOT IN (SELECT digest FROM entry_chunks)")
