"""People do anything to the Markdown between two syncs; no text that was on disk at a sync is ever lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import StandingClock, git, make_repository

from decapod_py.client import Decapod
from decapod_py.storage.front_matter import Damaged, parse

WORDS = st.sampled_from(["Alpha.", "Beta\n\nmore.", "<<<<<<< x", "---\nid: a\n---\n", "[[link]] `code`", "Ünï 東京"])
DEEDS = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 3), WORDS),
    st.tuples(st.just("append"), st.integers(0, 3), WORDS),
    st.tuples(st.just("add"), st.integers(0, 9), WORDS),
    st.tuples(st.just("rename"), st.integers(0, 3), st.integers(0, 9)),
    st.tuples(st.just("delete"), st.integers(0, 3), st.none()),
    st.tuples(st.just("strip"), st.integers(0, 3), st.none()),
    st.tuples(st.just("commit"), st.none(), st.none()),
    st.tuples(st.just("back"), st.none(), st.none()),
    st.tuples(st.just("edit"), st.integers(0, 3), WORDS),
    st.tuples(st.just("sync"), st.none(), st.none()),
)


def bodies(vault: Path) -> dict[Path, str]:
    found = {}
    for file in vault.rglob("*.md"):
        try:
            found[file] = parse(file.read_bytes())[1]
        except Damaged:
            continue  # reported, and left on disk
    return found


def do(deed: str, one: int | None, other: object, top: Path, client: Decapod) -> None:
    vault = top / ".decapod" / "knowledge"
    files = sorted(vault.rglob("*.md"))
    file = files[one % len(files)] if files and one is not None else None
    if deed == "add":
        (vault / f"n{one}.md").write_text(str(other))
    elif deed == "commit":
        git(top, "add", "-A")
        git(top, "commit", "-qm", "More", "--allow-empty")
    elif deed == "back":
        git(top, "checkout", "-q", "HEAD", "--", ".decapod/knowledge", check=False)
    elif file is None:
        return
    elif deed == "write":
        head, fence, _ = file.read_text().rpartition("\n---\n")
        file.write_text(f"{head}{fence}\n{other}\n")
    elif deed == "append":
        file.write_text(f"{file.read_text()}\n{other}\n")
    elif deed == "rename":
        file.rename(vault / f"moved-{other}.md")
    elif deed == "delete":
        file.unlink()
    elif deed == "strip":
        file.write_text(file.read_text().rpartition("\n---\n")[2] or "left")
    elif deed == "edit":
        living = client.knowledge.list(limit=9)["entries"]
        if living:
            client.knowledge.edit(id=living[one % len(living)]["id"], text=f"Edited: {other}")  # type: ignore[operator]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(DEEDS, min_size=3, max_size=14))
def test_every_text_that_was_on_disk_at_a_sync_is_in_the_history_or_still_there(deeds):
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "repository"
        make_repository(top)
        client = Decapod(str(top), clock=StandingClock())
        vault = top / ".decapod" / "knowledge"
        for name in ("a", "b"):
            client.knowledge.add(id=name, title=name, text=f"Text of {name}.", provenance=["person:ada"])
        seen: set[str] = set()
        for deed, one, other in [*deeds, ("sync", None, None)]:
            if deed != "sync":
                do(deed, one, other, top, client)
                continue
            before = bodies(vault)
            client.sync(allow_deletions=True)
            refused = {file for file, body in before.items() if file.exists() and bodies(vault).get(file) == body}
            seen |= {body for file, body in before.items() if file not in refused}
        recorded = {
            event["content"]
            for entry in client.knowledge.list(status="any", limit=1000)["entries"]
            for event in client.knowledge.history(id=entry["id"], limit=1000)["events"]
            if event["content"] is not None
        }
        assert {body for body in seen if body} <= recorded
        assert client.ledger.verify()["ok"]
        client.close()
