"""`eval retrieval`: the measures, by kind and in all; bad lines and unknown ids are said with their numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import refusal, run


@pytest.fixture(autouse=True)
def entries(knowledge: Any) -> None:
    knowledge.add(id="retries", title="Retries", text="Retry three times.", provenance=["cmd:x"])
    knowledge.add(id="cats", title="Cats", text="They sleep all day.", provenance=["cmd:x"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "queries.jsonl"


def asked(file: Path, *lines: Any) -> str:
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return str(file)


def test_measures_are_given_by_kind_and_for_all(opened: Any, file: Path) -> None:
    asked(
        file,
        {"query": "retry", "relevant": ["retries"], "kind": "keyword"},
        {"query": "sleep", "relevant": ["cats", "retries"], "kind": "question"},
    )

    found = opened.eval.retrieval(file=str(file), modes=["lexical"])

    perfect = {"hit_at_1": 1.0, "hit_at_5": 1.0, "hit_at_k": 1.0, "recall": 1.0, "mrr": 1.0, "ndcg": 1.0}
    half = perfect | {"recall": 0.5, "ndcg": 0.6131}
    assert found == {
        "ok": True,
        "k": 10,
        "queries": 2,
        "measured": [
            {"mode": "lexical", "kind": "keyword", "queries": 1, **perfect},
            {"mode": "lexical", "kind": "question", "queries": 1, **half},
            {"mode": "lexical", "kind": "all", "queries": 2, **perfect, "recall": 0.75, "ndcg": 0.8066},
        ],
        "bad": [],
        "unknown": [],
    }


def test_every_mode_is_measured_unless_some_are_named(opened: Any, file: Path) -> None:
    asked(file, {"query": "retry", "relevant": ["retries"]})

    def modes(*names: str) -> list[str]:
        return [row["mode"] for row in opened.eval.retrieval(file=str(file), modes=list(names))["measured"]]

    assert modes() == ["lexical", "semantic", "hybrid"]
    assert modes("hybrid", "lexical", "hybrid") == ["hybrid", "lexical"]


def test_bad_lines_and_unknown_ids_are_reported_and_the_rest_is_measured(
    opened: Any, repository: Path, file: Path
) -> None:
    asked(
        file,
        {"query": "retry", "relevant": ["retries", "gone"]},
        "",
        "{",
        "[]",
        {"query": " ", "relevant": ["cats"]},
        {"query": "x", "relevant": []},
        {"query": "x", "relevant": ["cats"], "kind": 7},
        {"query": "x", "relevant": ["nobody"]},
    )

    found = opened.eval.retrieval(file=str(file), modes=["lexical"])

    assert [(bad["line"], bad["code"]) for bad in found["bad"]] == [
        (3, "not-json"),
        (4, "bad-query"),
        (5, "bad-query"),
        (6, "bad-query"),
        (7, "bad-query"),
    ]
    assert found["unknown"] == [{"line": 1, "id": "gone"}, {"line": 8, "id": "nobody"}]
    assert (found["ok"], found["queries"], found["measured"][0]["recall"]) == (False, 1, 1.0)
    done = run(repository, "eval", "retrieval", str(file), "--mode", "lexical")
    assert done.returncode == 1
    assert "line 8: there is no entry 'nobody'" in done.stdout


def test_a_file_of_which_nothing_can_be_measured_is_refused(repository: Path, file: Path) -> None:
    asked(file, {"query": "x", "relevant": ["nobody"]})

    assert refusal(repository, "eval", "retrieval", str(file)) == (1, "no-queries")

    file.write_text('{"query": "x"}\n[]\n')
    told = run(repository, "eval", "retrieval", str(file)).stderr
    assert "line 1: relevant is missing, or no list of entry ids" in told
    assert "line 2: it is not an object" in told


def test_a_file_that_is_not_there_and_a_mode_that_is_none_are_misuse(repository: Path, file: Path) -> None:
    assert refusal(repository, "eval", "retrieval", "nowhere.jsonl") == (2, "no-file")
    asked(file, {"query": "retry", "relevant": ["retries"]})
    assert refusal(repository, "eval", "retrieval", str(file), "--mode", "guess") == (2, "bad-mode")
    assert refusal(repository, "eval", "retrieval", str(file), "--k", "0")[0] == 2


def test_queries_may_come_from_standard_input(repository: Path) -> None:
    done = run(repository, "eval", "retrieval", "-", "--k", "5", stdin='{"query": "retry", "relevant": ["retries"]}\n')

    assert done.returncode == 0
    assert "hit@1  hit@5  recall@5" in done.stdout
