"""`knowledge search --mode`: words, meaning and both; filters before the limit; and life without the extra."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import PROJECT, decapod, refusal, run

from decapod_py.client import Decapod
from decapod_py.domain import words
from decapod_py.foundation.errors import DecapodError

SET = PROJECT / "benchmarks" / "retrieval"
UNKNOWN_WORDS = "automobile crash"  # of which no entry has one


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SET / name).read_text(encoding="utf-8").splitlines()]


def ids(found: Any) -> list[str]:
    return [hit["id"] for hit in found["results"]]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that knows the entries of the evaluation set."""
    top = tmp_path_factory.mktemp("library") / "repository"
    top.mkdir()
    environment = {"HOME": str(top.parent), "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(PROJECT)}
    decapod(top, "init", **environment)
    decapod(top, "knowledge", "import", str(SET / "entries.jsonl"), "--actor", "librarian", **environment)
    return top


@pytest.fixture
def librarian(library: Path) -> Iterator[Any]:
    client = Decapod(str(library))
    yield client
    client.close()


@pytest.fixture
def cars(knowledge: Any) -> Any:
    knowledge.add(id="cars", title="Cars", text="The car hit a wall.", provenance=["cmd:x"], tags=["road"], actor="ada")
    knowledge.add(id="soup", title="Soup", text="Tomatoes, onions, salt.", provenance=["cmd:x"], actor="bo")
    return knowledge


def vectors(repository: Path) -> int:
    connection = sqlite3.connect(repository / ".decapod" / "local" / "knowledge.db")
    try:
        return int(connection.execute("SELECT count(*) FROM chunk_vectors").fetchone()[0])
    finally:
        connection.close()


def test_meaning_finds_what_no_word_finds(cars: Any) -> None:
    assert ids(cars.search(query=UNKNOWN_WORDS, mode="lexical")) == []
    assert ids(cars.search(query=UNKNOWN_WORDS, mode="semantic")) == ["cars"]
    assert ids(cars.search(query=UNKNOWN_WORDS)) == ["cars"]


def test_both_is_the_default_where_both_are_there(cars: Any) -> None:
    assert cars.search(query="car")["mode"] == "hybrid"


def test_where_words_suffice_they_alone_decide_and_no_vector_is_computed(cars: Any, repository: Path) -> None:
    lexical = cars.search(query="car wall", mode="lexical")

    assert cars.search(query="car wall", mode="hybrid")["results"] == lexical["results"]
    assert vectors(repository) == 0


def test_a_phrase_and_a_prefix_mean_just_these_words(cars: Any) -> None:
    assert ids(cars.search(query='"automobile crash"')) == []
    assert ids(cars.search(query="automob*")) == []


def test_a_query_without_words_finds_nothing_by_meaning_either(cars: Any) -> None:
    assert ids(cars.search(query="%%% ???", mode="semantic")) == []


def test_an_explanation_shows_similarity_and_evidence(cars: Any) -> None:
    (hit,) = cars.search(query=UNKNOWN_WORDS, explain=True)["results"]

    explained = hit["explain"]
    assert explained["evidence"] == 0
    assert explained["similarity"] > 0.15
    assert explained["relevance"] == 0
    assert explained["matched"] == []
    assert "similarity" not in cars.search(query="car", mode="lexical", explain=True)["results"][0]["explain"]


def test_the_snippet_is_of_the_passage_that_is_nearest(knowledge: Any) -> None:
    salad = "Lettuce, cucumber, vinegar and oil go into the bowl. " * 15
    knowledge.add(id="both", title="Notes", text=f"{salad}\n\nThe car hit a wall.", provenance=["cmd:x"])

    (hit,) = knowledge.search(query=UNKNOWN_WORDS, mode="semantic", content=False)["results"]

    assert hit["snippet"] == "The car hit a wall."


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
@pytest.mark.parametrize(
    ("query", "filters", "expected"),
    [
        ("car", {"author": "ada"}, ["cars"]),
        ("car", {"author": "bo"}, []),
        ("car", {"tags": ["road"]}, ["cars"]),
        ("car", {"tags": ["road", "food"]}, []),
        ("car", {"path_prefix": "cars"}, ["cars"]),
        ("car", {"path_prefix": ".decapod/knowledge/cars"}, ["cars"]),
        ("car", {"path_prefix": "soup"}, []),
        ("car", {"since": "2026-03-01"}, ["cars"]),
        ("car", {"since": "2026-03-02"}, []),
        ("car", {"status": "deprecated"}, []),
    ],
)
def test_filters_hold_in_every_mode(
    cars: Any, mode: str, query: str, filters: dict[str, Any], expected: list[str]
) -> None:
    assert ids(cars.search(query=query, mode=mode, **filters)) == expected


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
def test_filters_come_before_the_limit(librarian: Any, mode: str) -> None:
    found = librarian.knowledge.search(query="somebody forgot their password", mode=mode, tags=["git"], limit=1)

    assert [hit["tags"] for hit in found["results"]] == [["git"]]


def test_a_list_can_be_of_one_folder(cars: Any) -> None:
    assert [entry["id"] for entry in cars.list(path_prefix="cars")["entries"]] == ["cars"]
    assert cars.list(path_prefix="cars", as_of="2026-03-01T12:00:00Z")["total"] == 1
    assert cars.list(path_prefix="nowhere")["total"] == 0


def test_an_edit_is_found_by_its_new_meaning_only(cars: Any) -> None:
    cars.search(query=UNKNOWN_WORDS)
    cars.edit(id="cars", title="Weather", text="Rain and clouds tomorrow.")

    assert ids(cars.search(query=UNKNOWN_WORDS, mode="semantic")) == []


def test_vectors_are_remembered_and_a_rebuild_does_without_them(cars: Any, repository: Path, opened: Any) -> None:
    cars.search(query=UNKNOWN_WORDS)
    assert vectors(repository) == 2

    assert opened.rebuild(check=True)["ok"]
    opened.rebuild()

    assert vectors(repository) == 0
    assert ids(cars.search(query=UNKNOWN_WORDS)) == ["cars"]


def test_a_redacted_text_leaves_no_vector(cars: Any, repository: Path, opened: Any) -> None:
    cars.search(query=UNKNOWN_WORDS)

    opened.ledger.redact(target="cars", reason="nobody's business")

    assert vectors(repository) == 0
    assert ids(cars.search(query=UNKNOWN_WORDS, mode="semantic")) == []


def test_a_read_only_checkout_is_searched_by_meaning_in_memory(cars: Any, repository: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    shutil.rmtree(copy / ".decapod" / "local")
    (copy / ".decapod" / "local").write_text("something in the way")

    found = decapod(copy, "knowledge", "search", UNKNOWN_WORDS, "--mode", "semantic")

    assert ids(found) == ["cars"]


def test_the_past_is_searched_by_words(cars: Any, refused: Any) -> None:
    assert cars.search(query="car", as_of="2026-03-01T12:00:00Z")["mode"] == "lexical"
    refused("no-past-meaning", 2, cars.search, query="car", as_of="2026-03-01T12:00:00Z", mode="semantic")


def test_a_paraphrase_shares_no_rare_word_with_its_entry(librarian: Any) -> None:
    """Or it would be a keyword query in disguise: a word is rare that fewer than one in thirty entries have."""
    texts = {
        line["id"]: f"{line['title']} {line['content']} {' '.join(line['tags'])}" for line in lines("entries.jsonl")
    }
    queries = [
        line for name in ("queries.jsonl", "fresh.jsonl") for line in lines(name) if line["kind"] == "paraphrase"
    ]
    asked = {term.words[0] for line in queries for term in words.parse(line["query"]) if len(term.words) == 1}
    holders = {word: _holders(librarian, word) for word in asked}

    shared = [
        (line["query"], word)
        for line in queries
        for word in asked & {term.words[0] for term in words.parse(line["query"])}
        if 0 < len(holders[word]) < len(texts) / 30 and holders[word] & set(line["relevant"])
    ]

    assert len(queries) >= 100
    assert shared == []


def _holders(librarian: Any, word: str) -> set[str]:
    return set(ids(librarian.knowledge.search(query=word, mode="lexical", limit=300, content=False)))


@pytest.mark.parametrize("name", ["queries.jsonl", "fresh.jsonl"])
def test_both_find_no_fewer_keywords_and_questions_than_words_do(librarian: Any, name: str) -> None:
    measured = librarian.eval.retrieval(file=str(SET / name), modes=["lexical", "hybrid"])["measured"]
    rows = {(row["mode"], row["kind"]): row for row in measured}

    for kind in ("keyword", "question"):
        for measure in ("hit_at_1", "hit_at_5", "hit_at_k"):
            assert rows["hybrid", kind][measure] >= rows["lexical", kind][measure]
    assert rows["hybrid", "paraphrase"]["hit_at_5"] >= 2 * rows["lexical", "paraphrase"]["hit_at_5"]


def test_what_words_find_best_never_falls_below_the_fifth_place(librarian: Any) -> None:
    for line in lines("queries.jsonl"):
        best = ids(librarian.knowledge.search(query=line["query"], mode="lexical", limit=1, content=False))
        both = ids(librarian.knowledge.search(query=line["query"], mode="hybrid", limit=5, content=False))
        assert set(best) <= set(both), line["query"]


def test_everything_that_words_match_is_in_the_result_of_both(librarian: Any) -> None:
    query = "somebody broke the trunk, what now"
    by_words = librarian.knowledge.search(query=query, mode="lexical", limit=1_000, content=False)
    both = librarian.knowledge.search(query=query, mode="hybrid", limit=1_000, content=False)

    assert set(ids(by_words)) <= set(ids(both))


BLOCKED = "import sys\nsys.modules['wordllama'] = None\nsys.modules['tokenizers'] = None\n"


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of a process in which the extra is not installed."""
    place = tmp_path / "bare"
    place.mkdir()
    (place / "sitecustomize.py").write_text(BLOCKED)
    return {"PYTHONPATH": f"{place}:{PROJECT}"}


def test_without_the_extra_search_is_by_words(cars: Any, repository: Path, bare: dict[str, str]) -> None:
    found = decapod(repository, "knowledge", "search", "car", **bare)

    assert (found["mode"], ids(found)) == ("lexical", ["cars"])
    assert ids(decapod(repository, "knowledge", "search", UNKNOWN_WORDS, **bare)) == []


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_without_the_extra_asking_for_meaning_is_refused_with_the_way_to_get_it(
    cars: Any, repository: Path, bare: dict[str, str], mode: str
) -> None:
    assert refusal(repository, "knowledge", "search", "car", "--mode", mode, **bare) == (1, "no-semantic")
    done = run(repository, "knowledge", "search", "car", "--mode", mode, **bare)
    assert "pip install 'decapod-py[semantic]'" in done.stderr


def test_without_the_extra_an_evaluation_is_of_words(
    cars: Any, repository: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text('{"query": "car", "relevant": ["cars"]}\n')

    found = decapod(repository, "eval", "retrieval", str(file), **bare)

    assert {row["mode"] for row in found["measured"]} == {"lexical"}
    assert refusal(repository, "eval", "retrieval", str(file), "--mode", "hybrid", **bare) == (1, "no-semantic")


def test_a_broken_extra_leaves_search_by_words_and_says_so(cars: Any, repository: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken" / "wordllama"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("")
    environment = {"PYTHONPATH": f"{broken.parent}:{PROJECT}"}

    done = run(repository, "knowledge", "search", UNKNOWN_WORDS, "--json", **environment)

    assert done.returncode == 0
    assert "searched by words only" in done.stderr
    assert refusal(repository, "knowledge", "search", "car", "--mode", "semantic", **environment) == (1, "no-semantic")


def test_neither_a_write_nor_a_search_by_words_imports_numpy(cars: Any, repository: Path) -> None:
    code = (
        "import sys, decapod_py; d = decapod_py.open('.');"
        " d.knowledge.add(title='Boats', text='The boat sank.', provenance=['cmd:x']);"
        " d.knowledge.search(query='boat sank');"
        " print('numpy' in sys.modules, 'tokenizers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False"]


def test_a_bad_time_is_misuse(cars: Any) -> None:
    with pytest.raises(DecapodError) as caught:
        cars.search(query="car", since="whenever")

    assert (caught.value.code, caught.value.exit_code) == ("bad-time", 2)
