"""Vectors of entries: computed once, kept by model and passage, made again wherever they are missing."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from decapod_py.domain.chunks import Span
from decapod_py.storage import database
from decapod_py.views import embedding, meaning, search
from decapod_py.views.meaning import Meaning

PLACES = {"red": 0, "green": 1, "blue": 2}


class Colours:
    """An embedder that knows three words, and remembers what it was asked."""

    def __init__(self, name: str = "colours") -> None:
        self.name = name
        self.dimensions = 3
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        rows = np.zeros((len(texts), 3), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.replace(".", " ").split():
                if word in PLACES:
                    row[PLACES[word]] += 1
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=rows, where=lengths > 0)


@pytest.fixture
def connection() -> sqlite3.Connection:
    return database.open_in_memory(search.DDL)


def put(connection: sqlite3.Connection, number: int, title: str, content: str, status: str = "active") -> None:
    columns = [row[1] for row in connection.execute("PRAGMA table_info(entries)")]
    row: dict[str, Any] = dict.fromkeys(columns, "")
    row |= {"number": number, "id": f"e{number}", "title": title, "content": content, "status": status}
    row |= {"path": f"{number}.md", "digest": f"{title}{content}{status}".encode(), "created": 0, "updated": 0}
    connection.execute(
        f"INSERT OR REPLACE INTO entries ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values())
    )


def kept(connection: sqlite3.Connection) -> tuple[int, int]:
    return tuple(
        connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("entry_chunks", "chunk_vectors")
    )


def test_the_nearest_passage_of_an_entry_counts(connection: sqlite3.Connection) -> None:
    long = "red " * 200
    put(connection, 1, "colours", f"{long}\n\nblue sky")
    put(connection, 2, "colours", "green grass")
    known = Meaning(Colours())
    known.learn(connection)

    found = known.nearest("blue", 0.5)

    assert list(found) == [1]
    assert found[1].similarity == pytest.approx(1)
    first, last = found[1].passage
    assert f"{long}\n\nblue sky"[first:last] == "blue sky"


def test_an_entry_without_content_is_known_by_its_title(connection: sqlite3.Connection) -> None:
    put(connection, 1, "red", "")
    known = Meaning(Colours())
    known.learn(connection)

    assert known.nearest("red", 0.5)[1].passage == Span(0, 0)


def test_another_process_computes_nothing_that_was_remembered(connection: sqlite3.Connection) -> None:
    put(connection, 1, "red", "blue")
    learned = Meaning(Colours()).learn(connection)
    assert learned
    meaning.remember(connection, learned)

    other = Colours()
    again = Meaning(other)

    assert again.learn(connection) is None
    assert other.asked == []
    assert list(again.nearest("blue", 0.5)) == [1]


def test_only_what_changed_is_computed(connection: sqlite3.Connection) -> None:
    put(connection, 1, "red", "one")
    put(connection, 2, "green", "two")
    embedder = Colours()
    known = Meaning(embedder)
    known.learn(connection)
    embedder.asked.clear()

    put(connection, 2, "blue", "two")
    known.learn(connection)

    assert embedder.asked == ["blue. two"]
    assert list(known.nearest("green", 0.5)) == []
    assert list(known.nearest("blue", 0.5)) == [2]


def test_a_change_of_status_computes_nothing(connection: sqlite3.Connection) -> None:
    put(connection, 1, "red", "one")
    learned = Meaning(Colours()).learn(connection)
    assert learned
    meaning.remember(connection, learned)

    put(connection, 1, "red", "one", status="stale")
    embedder = Colours()
    Meaning(embedder).learn(connection)

    assert embedder.asked == []


def test_a_question_that_follows_no_change_reads_no_entry(connection: sqlite3.Connection) -> None:
    put(connection, 1, "red", "one")
    known = Meaning(Colours())
    known.learn(connection)
    read: list[str] = []
    connection.set_trace_callback(read.append)

    assert known.learn(connection) is None
    assert read == ["PRAGMA data_version"]


def test_vectors_of_another_model_are_no_use(connection: sqlite3.Connection) -> None:
    put(connection, 1, "red", "one")
    learned = Meaning(Colours("old")).learn(connection)
    assert learned
    meaning.remember(connection, learned)

    embedder = Colours("new")
    Meaning(embedder).learn(connection)

    assert embedder.asked == ["red. one"]


def test_a_damaged_vector_is_computed_again(connection: sqlite3.Connection) -> None:
    put(connection, 1, "red", "one")
    learned = Meaning(Colours()).learn(connection)
    assert learned
    meaning.remember(connection, learned)
    connection.execute("UPDATE chunk_vectors SET vector = x'00'")

    embedder = Colours()
    known = Meaning(embedder)
    known.learn(connection)

    assert embedder.asked == ["red. one"]
    assert list(known.nearest("red", 0.5)) == [1]


def test_the_same_passage_in_two_entries_has_one_vector(connection: sqlite3.Connection) -> None:
    put(connection, 1, "red", "one")
    put(connection, 2, "red", "one")
    embedder = Colours()
    learned = Meaning(embedder).learn(connection)
    assert learned
    meaning.remember(connection, learned)

    assert embedder.asked == ["red. one"]
    assert kept(connection) == (2, 1)


def test_what_is_no_more_is_let_go_of(connection: sqlite3.Connection) -> None:
    put(connection, 1, "red", "one")
    put(connection, 2, "green", "two")
    known = Meaning(Colours())
    learned = known.learn(connection)
    assert learned
    meaning.remember(connection, learned)

    put(connection, 1, "red", "one", status="deleted")
    put(connection, 2, "blue", "two")
    learned = known.learn(connection)
    assert learned
    meaning.remember(connection, learned)

    assert list(known.nearest("red", 0.5)) == []
    assert kept(connection) == (1, 1)


def test_progress_is_told(connection: sqlite3.Connection) -> None:
    for number in range(600):
        put(connection, number, "red", f"number {number}")
    told: list[tuple[str, int, int | None]] = []
    Meaning(Colours()).learn(connection, lambda *step: told.append(step))

    assert told == [("reading for meaning", 512, 600), ("reading for meaning", 600, 600)]


def test_the_real_embedder_puts_what_means_the_same_close_together() -> None:
    embedder = embedding.load()

    car, automobile, soup = embedder.embed(["the car is fast", "a quick automobile", "a recipe for tomato soup"])

    assert car.dtype == np.float32
    assert car.shape == (embedder.dimensions,)
    assert np.linalg.norm(car) == pytest.approx(1, abs=1e-5)
    assert car @ automobile > car @ soup + 0.2


def test_a_text_without_words_has_no_direction() -> None:
    assert not embedding.load().embed(["", "   "]).any()


def test_the_library_that_could_fetch_is_never_imported() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from decapod_py.views import embedding; embedding.load().embed(['a text']);"
        " print([name for name in ('wordllama', 'requests', 'huggingface_hub', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (done.stdout.strip(), done.stderr) == ("[]", "")
