"""`knowledge add`: provenance, ids, merge keys, lifetimes, near-duplicates and who acts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support import StandingClock, decapod, git, refusal, run

from decapod_py.client import Decapod

ULID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")
NO_MATCH = {"action": "inserted", "superseded_ids": [], "similar": []}


def add(knowledge: Any, title: str = "Retries stop at 3", **fields: Any) -> Any:
    return knowledge.add(**{"title": title, "text": f"{title}.", "provenance": ["cmd:make test"], **fields})


def test_an_entry_is_inserted_under_its_id_and_shown_whole(knowledge, repository):
    added = knowledge.add(
        id="retries/limit",
        title="Retries stop at 3",
        text="After three tries we give up.",
        provenance=["file:src/a.py#L3-L9", "url:https://example.com/x"],
        tags=["http", "HTTP", " net "],
        scope="backend",
        merge_key="retries",
        claim_id="C-7",
        confidence=0.8,
        actor="Bea",
    )

    assert added == {"id": "retries/limit", **NO_MATCH}
    entry = knowledge.get(id="retries/limit")
    version = entry["version"]
    assert ULID.fullmatch(version)
    assert entry == {
        "id": "retries/limit",
        "title": "Retries stop at 3",
        "content": "After three tries we give up.",
        "provenance": "file:src/a.py#L3-L9",
        "provenances": ["file:src/a.py#L3-L9", "url:https://example.com/x"],
        "status": "active",
        "expired": False,
        "tags": ["http", "net"],
        "scope": "backend",
        "merge_key": "retries",
        "claim_id": "C-7",
        "supersedes_id": None,
        "supersedes": [],
        "aliases": [],
        "source": None,
        "ttl_policy": "persistent",
        "expires_ts": None,
        "confidence": 0.8,
        "author": "Bea",
        "contributors": [],
        "created_at": "2026-03-01T12:00:00.000Z",
        "updated_at": "2026-03-01T12:00:00.000Z",
        "version": version,
        "reaffirmed_at": None,
        "drift": "ok",
        "standing": "local",
        "citations": [{"provenance": "file:src/a.py#L3-L9", "state": "ok", "now": "file:src/a.py#L3-L9"}],
        "diverged": False,
        "heads": [version],
        "path": entry["path"],
        "feedback": {"helped": 0, "neutral": 0, "hurt": 0, "unknown": 0},
    }
    assert (repository / entry["path"]).is_file()


def test_the_short_way_takes_the_first_line_as_the_title_and_from_as_file_provenance(knowledge):
    added = knowledge.add(note="# Retries stop at 3\n\nAfter that we give up.", sources=["src/a.py:3-9"])

    assert ULID.fullmatch(added["id"])
    entry = knowledge.get(id=added["id"])
    assert (entry["title"], entry["content"], entry["provenances"]) == (
        "Retries stop at 3",
        "After that we give up.",
        ["file:src/a.py#L3-L9"],
    )


def test_a_note_of_one_line_is_title_and_content_word_for_word(knowledge):
    added = knowledge.add(note="#define LIMIT 3 stands in config.h", sources=["src/a.py"])

    entry = knowledge.get(id=added["id"])
    assert entry["title"] == entry["content"] == "#define LIMIT 3 stands in config.h"


def test_what_is_given_by_the_short_way_is_the_primary_provenance(knowledge):
    added = knowledge.add(note="Both", provenance=["url:https://example.com"], sources=["src/a.py:3"])

    assert knowledge.get(id=added["id"])["provenances"] == ["file:src/a.py#L3", "url:https://example.com"]


def test_from_is_seen_from_where_the_command_was_started(repository, clock):
    with Decapod(str(repository / "src"), clock=clock) as client:
        added = client.knowledge.add(note="Here", sources=["a.py:2"])
        from_the_top = client.knowledge.add(note="There", sources=["src/a.py"])

        assert client.knowledge.get(id=added["id"])["provenances"] == ["file:src/a.py#L2"]
        assert client.knowledge.get(id=from_the_top["id"])["provenances"] == ["file:src/a.py"]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("cmd:make test  --all | head -1", "cmd:make test  --all | head -1"),
        ("person:Ada Lovelace", "person:Ada Lovelace"),
        ("url:https://example.com/a?b=c#d", "url:https://example.com/a?b=c#d"),
        ("file:./src//a.py", "file:src/a.py"),
        ("file:src/a.py#L3-L3", "file:src/a.py#L3"),
        (" cmd:make ", "cmd:make"),
    ],
)
def test_provenance_has_one_stored_form(knowledge, given, stored):
    added = add(knowledge, provenance=[given])

    assert knowledge.get(id=added["id"])["provenances"] == [stored]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("COMMIT:ABCDEF0123", "commit:abcdef0123"),
        ("commit:" + "A" * 40, "commit:" + "a" * 40),
        ("event:01KJMMA2G1040G2081040G2081", "event:01KJMMA2G1040G2081040G2081"),
        ("event:PLAN_7", "event:PLAN_7"),
        ("file:not there yet.md", "file:not there yet.md"),
    ],
)
def test_what_does_not_exist_may_be_cited_where_the_policy_says_so(repository, knowledge, given, stored):
    (repository / ".decapod" / "config.toml").write_text("[provenance]\nresolve = false\n")

    added = add(knowledge, provenance=[given])

    assert knowledge.get(id=added["id"])["provenances"] == [stored]


@pytest.mark.parametrize(
    "provenance",
    [
        "",
        "nothing",
        "ftp:x",
        "file:",
        "cmd:",
        "cmd: make",
        "cmd:make\ntest",
        "cmd:make\ttest",
        "cmd:make\x00",
        "cmd:make\x1b[31m",
        "cmd:make\u2028test",
        "url:https://example.com/a b",
        "url:",
        "commit:a",
        "commit:abcdef",
        "commit:xyzxyzx",
        "commit:" + "a" * 65,
        "event:lower",
        "person:",
        "file:../x",
        "file:src/../../x",
        "file:/etc/passwd",
        "file:~/x",
        "file:./~x",
        "file:C:\\x",
        "file:C:/x",
        "file:src\\a.py",
        "file:.",
        "file: a",
        "file:src/a.py#L9-L2",
        "file:src/a.py#L0",
        "file:src/a.py#L0-L3",
        "file:src/a.py#9",
        "file:src/a.py#L1-L2-L3",
        "file:src/a.py#L١",
        "file:src/a.py\n",
        "cmd:" + "x" * 3000,
    ],
)
def test_provenance_without_form_is_refused(knowledge, refused, provenance):
    refused("bad-provenance", 2, add, knowledge=knowledge, provenance=[provenance])


def test_a_path_that_leaves_the_repository_through_a_link_is_refused(knowledge, refused, repository, tmp_path):
    (tmp_path / "outside").mkdir()
    (repository / "link").symlink_to(tmp_path / "outside")
    (repository / "inner").symlink_to(repository / "src")

    refused("bad-provenance", 2, add, knowledge=knowledge, provenance=["file:link/x.py"])
    assert add(knowledge, provenance=["file:inner/a.py"])["action"] == "inserted"


def test_an_entry_without_provenance_title_or_text_is_refused(knowledge, refused):
    refused("no-provenance", 2, knowledge.add, title="T", text="x")
    refused("no-title", 2, knowledge.add, provenance=["cmd:x"])
    refused("no-text", 2, knowledge.add, title="T", provenance=["cmd:x"])
    refused("no-text", 2, knowledge.add, title="T", text=" \n ", provenance=["cmd:x"])
    refused("no-title", 2, knowledge.add, note="  ", provenance=["cmd:x"])
    refused("no-title", 2, knowledge.add, title=" ", text="x", provenance=["cmd:x"])
    refused("too-much", 2, knowledge.add, note="n", title="T", text="x", provenance=["cmd:x"])


@pytest.mark.parametrize("name", ["merge_key", "scope", "claim_id", "actor"])
@pytest.mark.parametrize(
    ("value", "code"),
    [("", "empty"), ("  ", "empty"), ("a\nb", "bad-text"), ("\ud800", "not-utf8"), ("x" * 201, "too-long")],
)
def test_a_label_that_is_empty_or_cannot_be_shown_is_refused(knowledge, refused, name, value, code):
    refused(code, 2, add, knowledge=knowledge, **{name: value})


@pytest.mark.parametrize(
    ("fields", "code", "exit_code"),
    [
        ({"title": "x" * 301}, "too-long", 2),
        ({"title": "a\x07b"}, "bad-text", 2),
        ({"title": "a\ud800"}, "not-utf8", 2),
        ({"text": "a\x00b"}, "bad-text", 2),
        ({"text": "\x1b[31mred"}, "bad-text", 2),
        ({"text": "a\udfffb"}, "not-utf8", 2),
        ({"text": "x" * 1_000_001}, "too-long", 1),
        ({"tags": [""]}, "empty", 2),
        ({"confidence": 1.1}, "bad-arguments", 2),
        ({"confidence": float("nan")}, "bad-arguments", 2),
        ({"status": "superseded"}, "bad-arguments", 2),
        ({"status": "deleted"}, "bad-arguments", 2),
        ({"ttl_policy": "forever"}, "bad-arguments", 2),
        ({"on_conflict": "overwrite"}, "bad-arguments", 2),
        ({"colour": "red"}, "bad-arguments", 2),
        ({"expires_ts": "123ZZ"}, "bad-time", 2),
        ({"expires_ts": "soon"}, "bad-time", 2),
        ({"expires_ts": "999999w"}, "bad-duration", 2),
        ({"expires_ts": "30d", "ttl_policy": "persistent"}, "never-expires", 2),
    ],
)
def test_a_field_that_cannot_be_right_is_refused(knowledge, refused, fields, code, exit_code):
    refused(code, exit_code, add, knowledge=knowledge, **fields)


def test_line_ends_are_lf_before_anything_is_recorded(knowledge):
    added = add(knowledge, text="\r\n\r\none\r\ntwo\rthree\n\n")

    assert knowledge.get(id=added["id"])["content"] == "one\ntwo\nthree"


@pytest.mark.parametrize(
    "entry_id",
    [
        "",
        " ",
        "/a",
        "a/",
        "a//b",
        "..",
        "a/../b",
        "a/./b",
        "a b",
        "ü",
        "💥",
        "a\nb",
        "a\\b",
        "x" * 201,
        "a:b",
    ],
)
def test_an_id_that_could_not_be_one_is_refused(knowledge, refused, entry_id):
    refused("bad-id", 2, add, knowledge=knowledge, id=entry_id)


@pytest.mark.parametrize("entry_id", ["a", "A.b_c-d/e", "-x", "CON", "a.md", "x" * 200])
def test_letters_digits_dots_hyphens_and_folders_make_an_id(knowledge, entry_id):
    assert add(knowledge, id=entry_id)["id"] == knowledge.get(id=entry_id)["id"] == entry_id


def test_a_taken_id_is_refused_whatever_became_of_its_entry(knowledge, refused):
    add(knowledge, id="a")
    refused("id-taken", 1, add, knowledge=knowledge, title="Other", id="a")
    knowledge.deprecate(id="a")
    refused("id-taken", 1, add, knowledge=knowledge, title="Other", id="a")
    knowledge.delete(id="a")
    refused("id-taken", 1, add, knowledge=knowledge, title="Other", id="a")


def test_a_taken_id_is_refused_before_anything_is_superseded(knowledge, refused):
    add(knowledge, id="a", merge_key="k")
    add(knowledge, "Other", id="b")

    refused("id-taken", 1, add, knowledge=knowledge, id="b", merge_key="k", on_conflict="supersede")
    assert knowledge.get(id="a")["status"] == "active"


def test_merging_keeps_the_id_and_the_old_version_in_history(knowledge, clock):
    add(knowledge, "Three", id="a", merge_key="k", tags=["x"], confidence=0.5, provenance=["cmd:one"])
    first = knowledge.get(id="a")["version"]
    clock.forward(days=1)

    merged = add(knowledge, "Four", merge_key="k", tags=["y", "X"], provenance=["cmd:two"], actor="Bea")

    assert merged == {"id": "a", "action": "merged", "superseded_ids": [], "similar": []}
    entry = knowledge.get(id="a")
    assert (entry["title"], entry["content"], entry["provenance"]) == ("Four", "Four.", "cmd:two")
    assert (entry["tags"], entry["confidence"], entry["author"], entry["contributors"]) == (
        ["x", "y"],
        0.5,
        "Ada",
        ["Bea"],
    )
    assert (entry["created_at"], entry["updated_at"]) == ("2026-03-01T12:00:00.000Z", "2026-03-02T12:00:00.000Z")
    history = knowledge.history(id="a")["events"]
    assert [(item["type"], item["content"], item["provenances"], item["was"]) for item in history] == [
        ("entry.merged", "Four.", ["cmd:two"], [first]),
        ("entry.added", "Three.", ["cmd:one"], []),
    ]


def test_merging_may_name_the_id_of_the_holder_but_no_other_taken_one(knowledge, refused):
    add(knowledge, "Three", id="a", merge_key="k")
    add(knowledge, "Other", id="b")

    assert add(knowledge, "Four", id="a", merge_key="k")["action"] == "merged"
    refused("id-taken", 1, add, knowledge=knowledge, title="Five", id="b", merge_key="k")


def test_superseding_links_the_new_entry_to_the_old(knowledge):
    add(knowledge, "Three", id="a", merge_key="k")

    added = add(knowledge, "Four", id="b", merge_key="k", on_conflict="supersede")

    assert added == {"id": "b", "action": "superseded", "superseded_ids": ["a"], "similar": []}
    old, new = knowledge.get(id="a"), knowledge.get(id="b")
    assert (old["status"], new["status"], new["supersedes_id"], new["supersedes"]) == (
        "superseded",
        "active",
        "a",
        ["a"],
    )


def test_rejecting_names_the_holder(knowledge, refused):
    add(knowledge, "Three", id="a", merge_key="k")

    error = refused("key-held", 1, add, knowledge=knowledge, title="Four", merge_key="k", on_conflict="reject")

    assert error.details == {"holder": "a"}
    assert "held by the active entry a" in error.message


def test_one_active_entry_holds_a_key_in_a_scope(knowledge, opened):
    add(knowledge, "One", id="a", merge_key="k")
    add(knowledge, "Two", id="b", merge_key="k", scope="backend")
    add(knowledge, "Three", id="c", merge_key="k", status="deprecated")

    assert add(knowledge, "Four", merge_key="k")["id"] == "a"
    assert add(knowledge, "Five", merge_key="k", scope="backend")["id"] == "b"
    assert [entry["id"] for entry in knowledge.list(merge_key="k", status="active")["entries"]] == ["a", "b"]
    assert opened.status()["clashes"] == []


def test_a_key_is_free_again_when_its_holder_is_no_longer_active(knowledge):
    add(knowledge, "One", id="a", merge_key="k")
    knowledge.deprecate(id="a")

    assert add(knowledge, "Two", id="b", merge_key="k") == {"id": "b", **NO_MATCH}


@pytest.mark.parametrize(
    ("fields", "policy", "expires"),
    [
        ({}, "persistent", None),
        ({"ttl_policy": "ephemeral"}, "ephemeral", "2026-03-02T12:00:00.000Z"),
        ({"ttl_policy": "decay"}, "decay", "2026-05-30T12:00:00.000Z"),
        ({"expires_ts": "30d"}, "decay", "2026-03-31T12:00:00.000Z"),
        ({"expires_ts": "2h", "ttl_policy": "ephemeral"}, "ephemeral", "2026-03-01T14:00:00.000Z"),
        ({"expires_ts": "2026-04-01T02:00:00+02:00"}, "decay", "2026-04-01T00:00:00.000Z"),
        ({"expires_ts": "1775001600Z"}, "decay", "2026-04-01T00:00:00.000Z"),
        ({"expires_ts": "2026-04-01"}, "decay", "2026-04-01T00:00:00.000Z"),
        ({"expires_ts": "0Z"}, "decay", "1970-01-01T00:00:00.000Z"),
    ],
)
def test_an_entry_lives_as_long_as_somebody_said_or_as_its_policy_says(knowledge, fields, policy, expires):
    added = add(knowledge, **fields)

    entry = knowledge.get(id=added["id"])
    assert (entry["ttl_policy"], entry["expires_ts"]) == (policy, expires)


def test_default_lifetimes_are_policy(knowledge, repository):
    (repository / ".decapod" / "config.toml").write_text("[decay.default]\nephemeral = '2h'\n")

    added = add(knowledge, ttl_policy="ephemeral")

    assert knowledge.get(id=added["id"])["expires_ts"] == "2026-03-01T14:00:00.000Z"


def test_near_duplicates_are_named_with_what_to_do(knowledge):
    long = (
        "The HTTP client stops after three retries because the gateway bans a caller that tries more often than that."
    )
    add(knowledge, "Retry limit", id="a", text=long)

    same_title = add(knowledge, "retry  LIMIT", id="b", text="Something else altogether, about cats.")
    same_text = add(knowledge, "Another title", id="c", text=long.replace("client", "library"))
    unlike = add(knowledge, "Cats", id="d", text="They sleep.")

    advice = "if a says the same, edit or deprecate one of the two, or give both one merge key"
    assert same_title["similar"] == [{"id": "a", "title": "Retry limit", "similarity": 1.0, "advice": advice}]
    assert [(found["id"], found["advice"]) for found in same_text["similar"]] == [("a", advice)]
    assert 0.6 <= same_text["similar"][0]["similarity"] < 1
    assert unlike["similar"] == []


def test_near_duplicates_are_sought_among_active_entries_only(knowledge, clock):
    add(knowledge, "Same", id="a")
    add(knowledge, "Same", id="b", ttl_policy="ephemeral", text="Other words here")
    knowledge.deprecate(id="a")
    clock.forward(days=2)

    assert add(knowledge, "Same", id="c", text="Third of them")["similar"] == []


def test_a_scheme_of_the_projects_own_works(knowledge, repository, refused):
    (repository / ".decapod" / "config.toml").write_text("[provenance.schemes]\njira = '[A-Z]+-[0-9]+'\n")

    added = add(knowledge, provenance=["JIRA:OPS-7"])

    assert knowledge.get(id=added["id"])["provenance"] == "jira:OPS-7"
    error = refused("bad-provenance", 2, add, knowledge=knowledge, provenance=["jira:ops7"])
    assert "what follows jira: does not match [A-Z]+-[0-9]+" in error.message


def test_a_catastrophic_pattern_is_stopped_and_its_scheme_named(knowledge, repository, refused):
    (repository / ".decapod" / "config.toml").write_text("[provenance.schemes]\nevil = '(a|aa)+$'\n")

    error = refused("pattern-timeout", 2, add, knowledge=knowledge, provenance=["evil:" + "a" * 60 + "b"])

    assert error.message == "the pattern of the provenance scheme 'evil' took longer than 0.25 s"


def test_a_pattern_that_is_none_is_named_with_its_scheme(knowledge, repository, refused):
    (repository / ".decapod" / "config.toml").write_text("[provenance.schemes]\njira = '('\n")

    error = refused("bad-config", 2, add, knowledge=knowledge, provenance=["jira:x"])

    assert "the pattern of the provenance scheme 'jira' is no regular expression" in error.message


@pytest.mark.parametrize(
    ("config", "message", "hint"),
    [
        ("[promotoin]\n", "unknown key 'promotoin' in the top level", "did you mean 'promotion'?"),
        (
            "[promotion]\nself_aproval = true\n",
            "unknown key 'self_aproval' in promotion",
            "did you mean 'self_approval'?",
        ),
        ("[decay.default]\ndekay = '1d'\n", "unknown key 'dekay' in decay.default", "did you mean 'decay'?"),
        ("[provenance]\nx = 1\n", "unknown key 'x' in provenance", "known here: schemes, resolve"),
        ("[promotion]\nself_approval = 'yes'\n", "self_approval must be true or false", None),
        ("promotion = 3\n", "promotion must be a table", None),
        ("[decay]\nfast = '1d'\n", "decay.fast must be a table with lifetimes", None),
        (
            "[decay.default]\ndecay = 9\n",
            "a lifetime in decay.default must be a duration in quotes, such as '30d'",
            None,
        ),
    ],
)
def test_a_wrong_key_in_the_policy_names_the_nearest_right_one(knowledge, repository, refused, config, message, hint):
    (repository / ".decapod" / "config.toml").write_text(config)

    error = refused("bad-config", 2, add, knowledge=knowledge)

    assert (error.message, error.hint) == (f".decapod/config.toml: {message}", hint)


def test_a_policy_that_is_no_toml_or_holds_no_duration_is_refused(knowledge, repository, refused):
    config = repository / ".decapod" / "config.toml"
    config.write_text("[")
    refused("bad-config", 2, add, knowledge=knowledge)
    config.write_bytes(b"\xff")
    refused("bad-config", 2, add, knowledge=knowledge)
    config.write_text("[decay.default]\ndecay = 'long'\n")
    refused("bad-duration", 2, add, knowledge=knowledge)


def test_the_actor_is_given_or_named_by_the_environment_or_by_git(knowledge, monkeypatch):
    def author(**fields: Any) -> str:
        return str(knowledge.get(id=add(knowledge, **fields)["id"])["author"])

    assert author() == "Ada"
    monkeypatch.setenv("DECAPOD_ACTOR", "Bea")
    assert author() == "Bea"
    assert author(actor=" Cleo ") == "Cleo"


def test_the_command_line_knows_the_same_actors(repository: Path):
    words = ("knowledge", "add", "Said", "--provenance", "cmd:x")
    git(repository, "config", "user.name", "Dora")

    added = [
        decapod(repository, *words),
        decapod(repository, *words, DECAPOD_ACTOR="Bea"),
        decapod(repository, *words, "--actor", "Cleo", DECAPOD_ACTOR="Bea"),
    ]

    assert [decapod(repository, "knowledge", "get", one["id"])["author"] for one in added] == ["Dora", "Bea", "Cleo"]
    assert refusal(repository, *words, "--actor", "") == (2, "empty")


def test_long_text_is_read_from_a_file_or_standard_input(repository: Path):
    (repository / "long.md").write_text("one\n" * 2000)
    words = ("knowledge", "add", "--title", "Long", "--provenance", "cmd:x")

    from_file = decapod(repository, *words, "--id", "f", "--text-file", "long.md")
    piped = run(repository, *words, "--id", "p", "--text", "-", stdin="two\n" * 2000)

    assert (from_file["action"], piped.returncode) == ("inserted", 0)
    assert decapod(repository, "knowledge", "get", "f")["content"] == ("one\n" * 2000).rstrip()
    assert decapod(repository, "knowledge", "get", "p")["content"] == ("two\n" * 2000).rstrip()


def test_times_have_milliseconds(knowledge, clock: StandingClock):
    clock.forward(milliseconds=7)
    added = add(knowledge)

    assert knowledge.get(id=added["id"])["created_at"] == "2026-03-01T12:00:00.007Z"


def test_no_absolute_path_is_stored(knowledge, repository):
    knowledge.add(note="Here", sources=[str(repository / "src" / "a.py") + ":3"], id="a")

    assert knowledge.get(id="a")["provenances"] == ["file:src/a.py#L3"]
    stored = b"".join(path.read_bytes() for path in (repository / ".decapod" / "ledgers").rglob("*.jsonl"))
    assert str(repository).encode() not in stored


@pytest.mark.parametrize("source", ["src/a.py:x", "src/a.py:3-", "src/a.py:L3-L9", "src/a.py:3:4"])
def test_a_source_with_something_else_than_lines_is_misuse(refused, knowledge, source):
    refused("bad-provenance", 2, knowledge.add, note="x", sources=[source])
