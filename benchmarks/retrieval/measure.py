"""`make retrieval`: what search finds, by words, by meaning and by both, beside tantivy; writes docs/retrieval.md.

`--check` writes nothing and exits 1 where a bar is missed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).absolute().parents[2]
sys.path[:0] = [str(PROJECT), str(PROJECT / "benchmarks")]

import report  # noqa: E402

from decapod_py.domain import words  # noqa: E402
from decapod_py.domain.retrieval import Quality, mean, quality  # noqa: E402

HERE = Path(__file__).absolute().parent
ENTRIES, QUERIES, FRESH = HERE / "entries.jsonl", HERE / "queries.jsonl", HERE / "fresh.jsonl"
PAGE = PROJECT / "docs" / "retrieval.md"
K = 10
KINDS = ("keyword", "question", "paraphrase", "loose paraphrase")
MODES = ("lexical", "semantic", "hybrid")
HEAD = ["search", "queries", "hit@1", "hit@5", "hit@10", "recall@10", "MRR@10", "nDCG@10"]
Line = dict[str, Any]


class Row(NamedTuple):
    search: str
    kind: str
    queries: int
    measures: Quality


def main(argv: list[str]) -> int:
    queries = read(QUERIES)
    with tempfile.TemporaryDirectory() as place:
        top = scratch_repository(Path(place))
        rows = measured(top, queries)
        fresh = measured(top, read(FRESH))
        first = measured(top, first_wording(queries))
    met = bars(rows, fresh, first)
    page = written(rows, fresh, met)
    if "--check" not in argv:
        PAGE.write_text(page, encoding="utf-8")
    sys.stdout.write(page)
    return 0 if all(bar.met for bar in met) or "--check" not in argv else 1


def measured(top: Path, queries: list[Line]) -> list[Row]:
    return by_decapod(top, queries) + by_tantivy(queries)


def first_wording(queries: list[Line]) -> list[Line]:
    """The paraphrases as they were before those that share a rare word with their note were reworded."""
    first = {line["first_wording_of"]: line for line in queries if "first_wording_of" in line}
    return [
        {**first.get(line["query"], line), "kind": "paraphrase"} for line in queries if line["kind"] == "paraphrase"
    ]


def read(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def scratch_repository(place: Path) -> Path:
    """A repository that knows the entries of the set."""
    top = place / "repository"
    top.mkdir()
    decapod(top, "init")
    decapod(top, "knowledge", "import", str(ENTRIES), "--actor", "librarian")
    return top


def decapod(top: Path, *arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "decapod_py", "-C", str(top), *arguments, "--json"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin"},
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"retrieval: decapod {' '.join(arguments)} exited with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def by_decapod(top: Path, queries: list[Line]) -> list[Row]:
    file = top.parent / "asked.jsonl"
    file.write_text("".join(json.dumps(query) + "\n" for query in queries), encoding="utf-8")
    measured = decapod(top, "eval", "retrieval", str(file), *(part for mode in MODES for part in ("--mode", mode)))
    return [
        Row(row["mode"], row["kind"], row["queries"], Quality(*(row[field] for field in Quality._fields)))
        for row in measured["measured"]
    ]


def by_tantivy(queries: list[Line]) -> list[Row]:
    """The same words without the same stop words; English stemming, every field counting alike, which suits it best."""
    index, entries = tantivy_index()
    found: dict[str, list[Quality]] = {}
    for query in queries:
        ranked = by_tantivy_one(index, entries, query["query"])
        found.setdefault(query["kind"], []).append(quality(ranked, query["relevant"], K))
    rows = [Row("tantivy", kind, len(each), mean(each)) for kind, each in found.items()]
    every = [one for each in found.values() for one in each]
    return [*rows, Row("tantivy", "all", len(every), mean(every))]


def tantivy_index() -> tuple[Any, list[Line]]:
    import tantivy

    schema = tantivy.SchemaBuilder()
    for field in ("title", "tags", "content"):
        schema.add_text_field(field, tokenizer_name="en_stem")
    schema.add_integer_field("number", stored=True)
    index = tantivy.Index(schema.build())
    entries = read(ENTRIES)
    writer = index.writer()
    for number, entry in enumerate(entries):
        texts = {"title": entry["title"], "tags": " ".join(entry["tags"]), "content": entry["content"]}
        writer.add_document(tantivy.Document(number=number, **texts))
    writer.commit()
    index.reload()
    return index, entries


def by_tantivy_one(index: Any, entries: list[Line], query: str) -> list[str]:
    asked = dict.fromkeys(word for term in words.parse(query) for word in term.words)
    searcher = index.searcher()
    hits = searcher.search(index.parse_query(" ".join(asked), ["title", "tags", "content"]), K).hits
    return [entries[searcher.doc(address)["number"][0]]["id"] for _, address in hits]


def bars(rows: list[Row], fresh: list[Row], first: list[Row]) -> list[report.Bar]:
    met = [lexical_bar("", rows), lexical_bar(", fresh queries", fresh)]
    met += [
        paraphrase_bar("", rows),
        paraphrase_bar(", fresh queries", fresh),
        paraphrase_bar(", first wording", first),
    ]
    for name, asked in (("", rows), (", fresh queries", fresh)):
        met += [loss_bar(f"{kind}{name}", asked, kind) for kind in ("keyword", "question")]
    return met


def lexical_bar(name: str, rows: list[Row]) -> report.Bar:
    lexical, tantivy = (of(rows, search, "all") for search in ("lexical", "tantivy"))
    behind = max(0.0, *(theirs - ours for ours, theirs in zip(lexical, tantivy, strict=True)))
    return report.Bar(f"lexical behind tantivy, worst measure{name}", "at most 0.02", f"{behind:.3f}", behind <= 0.02)


def paraphrase_bar(name: str, rows: list[Row]) -> report.Bar:
    by_words, by_both = (of(rows, search, "paraphrase").hit_at_5 for search in ("lexical", "hybrid"))
    said = f"{by_both:.3f} to {by_words:.3f}" + (f", {by_both / by_words:.1f}x" if by_words else "")
    return report.Bar(
        f"hybrid hit@5 of paraphrases to lexical's{name}", "at least 5x", said, by_both > 0 and by_both >= 5 * by_words
    )


def loss_bar(name: str, rows: list[Row], kind: str) -> report.Bar:
    ours, both = of(rows, "lexical", kind), of(rows, "hybrid", kind)
    lost = max(0.0, *(one - other for one, other in zip(ours[:3], both[:3], strict=True)))
    return report.Bar(f"hybrid loses of lexical's hits, {name}", "nothing", f"{lost:.3f}", lost <= 0)


def of(rows: list[Row], search: str, kind: str) -> Quality:
    return next(row.measures for row in rows if (row.search, row.kind) == (search, kind))


def written(rows: list[Row], fresh: list[Row], met: list[report.Bar]) -> str:
    lines = [[bar.name, bar.promised, bar.measured, "met" if bar.met else "**missed**"] for bar in met]
    parts = [
        (HERE / "page.md").read_text(encoding="utf-8").strip(),
        f"## Bars: {sum(bar.met for bar in met)} of {len(met)} met",
        report.markdown(["bar", "promised", "measured", ""], lines),
        "## The queries that hybrid was chosen on",
        *tables(rows),
        "## Fresh queries",
        *tables(fresh),
    ]
    return "\n\n".join(parts) + "\n"


def tables(rows: list[Row]) -> list[str]:
    parts = []
    for kind in (*KINDS, "all"):
        body = [
            [row.search, str(row.queries), *(f"{value:.3f}" for value in row.measures)]
            for row in rows
            if row.kind == kind
        ]
        parts.append(f"### {kind.capitalize()} queries")
        parts.append(report.markdown(HEAD, body))
    return parts


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
