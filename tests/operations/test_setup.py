"""`decapod init` and `uninstall`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support import git

from decapod_py.client import Decapod
from decapod_py.foundation.errors import DecapodError

MADE = [".decapod/config.toml", ".decapod/.gitattributes", ".decapod/ledgers/", ".decapod/knowledge/"]
NEXT = 'decapod knowledge add "What is true" --from PATH:LINES'


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A git repository that has never seen Decapod."""
    top = tmp_path / "bare"
    top.mkdir()
    git(top, "init", "-q")
    return top


def tree(top: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(top)): path.read_bytes() if path.is_file() else None
        for path in sorted(top.rglob("*"))
        if ".git" not in path.relative_to(top).parts
    }


def init(place: Path) -> Any:
    with Decapod(str(place)) as client:
        return client.init()


def refusal_of_init(place: Path) -> DecapodError:
    before = tree(place)
    with pytest.raises(DecapodError) as refused:
        init(place)
    assert tree(place) == before
    assert refused.value.exit_code == 1
    return refused.value


def test_init_makes_its_place_says_what_and_what_is_next(bare):
    assert init(bare) == {"root": str(bare), "made": MADE, "git": True, "next": ["git add .decapod", NEXT]}
    assert sorted(path for path, data in tree(bare).items() if data is not None) == [
        ".decapod/.gitattributes",
        ".decapod/config.toml",
        ".decapod/local/.gitignore",
    ]
    assert (bare / ".decapod" / ".gitattributes").read_text().splitlines()[0] == "* text eol=lf"
    assert (bare / ".decapod" / "local" / ".gitignore").read_text() == "*\n"


def test_running_init_again_changes_nothing(bare):
    init(bare)
    before = tree(bare)

    assert init(bare)["made"] == []
    assert tree(bare) == before


def test_a_plain_directory_will_do(tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()

    assert init(plain) == {"root": str(plain), "made": MADE, "git": False, "next": [NEXT]}
    with Decapod(str(plain)) as client:
        added = client.knowledge.add(note="Works", provenance=["cmd:x"])
        assert client.knowledge.get(id=added["id"])["title"] == "Works"
        assert client.ledger.verify()["ok"]
        assert client.doctor() == {"ok": True, "problems": [], "fixed": []}


def test_a_subdirectory_of_a_repository_means_the_repository(bare):
    (bare / "deep" / "er").mkdir(parents=True)

    assert init(bare / "deep" / "er")["root"] == str(bare)
    with Decapod(str(bare / "deep")) as client:
        client.knowledge.add(note="Works", provenance=["cmd:x"])
        assert client.status()["root"] == str(bare)


def test_init_never_touches_a_file_it_did_not_make(bare):
    (bare / ".decapod" / "data").mkdir(parents=True)
    (bare / ".decapod" / "config.toml").write_text("# mine\n")
    (bare / ".decapod" / "data" / "knowledge.db").write_text("the Rust tool's\n")
    (bare / ".gitignore").write_text("*.tmp\n")
    (bare / ".gitattributes").write_text("*.bin binary\n")

    assert init(bare)["made"] == MADE[1:]
    assert {path: data for path, data in tree(bare).items() if data and b"=lf" not in data} == {
        ".decapod/config.toml": b"# mine\n",
        ".decapod/data/knowledge.db": b"the Rust tool's\n",
        ".decapod/local/.gitignore": b"*\n",
        ".gitattributes": b"*.bin binary\n",
        ".gitignore": b"*.tmp\n",
    }


@pytest.mark.parametrize("rule", [".decapod/", ".decapod", "*.jsonl", ".*", "*", ".decapod/ledgers", "*.md", "*.toml"])
def test_init_is_refused_when_git_ignores_what_must_be_shared(bare, rule):
    (bare / ".gitignore").write_text(f"{rule}\n")

    error = refusal_of_init(bare)

    assert error.code == "git-ignores"
    assert f".gitignore:1:{rule}" in error.message
    assert error.hint == "remove that rule, or add the lines !/.decapod/ and !/.decapod/** after it"


def test_a_rule_that_is_taken_back_is_no_hindrance(bare):
    (bare / ".gitignore").write_text(".*\n!/.decapod/\n!/.decapod/**\n")

    assert init(bare)["made"] == MADE


def test_rules_of_the_machine_and_of_the_clone_count_too(bare):
    excludes = Path(os.environ["HOME"]) / "ignore"
    excludes.write_text("*.jsonl\n")
    git(bare, "config", "--global", "core.excludesFile", str(excludes))
    assert refusal_of_init(bare).code == "git-ignores"
    excludes.write_text("")
    (bare / ".git" / "info").mkdir(exist_ok=True)
    (bare / ".git" / "info" / "exclude").write_text("/.decapod/\n")
    assert refusal_of_init(bare).code == "git-ignores"


def test_a_file_in_the_way_is_named(bare):
    (bare / ".decapod").write_text("mine\n")

    assert refusal_of_init(bare).code == "in-the-way"


def test_without_init_every_question_says_what_to_do(tmp_path):
    for ask in ("status", "rebuild", "doctor", "uninstall"):
        with Decapod(str(tmp_path)) as client, pytest.raises(DecapodError) as refused:
            getattr(client, ask)()
        assert (refused.value.code, refused.value.exit_code, refused.value.hint) == ("not-initialised", 1, ("init", {}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("config", ["format = 2\n", "format = 2\nfuture = true\n"])
def test_a_policy_of_a_newer_format_is_refused_with_what_is_needed(knowledge, repository, config):
    (repository / ".decapod" / "config.toml").write_text(config)

    for call in (lambda: knowledge.add(title="T", text="x", provenance=["cmd:x"]), lambda: knowledge.search(query="x")):
        with pytest.raises(DecapodError) as refusal:
            call()
        assert (refusal.value.code, refusal.value.message, refusal.value.hint) == (
            "newer-data",
            "this repository's knowledge has format 2; this program reads up to 1",
            "upgrade the package decapod-py",
        )
    assert list((repository / ".decapod" / "ledgers").rglob("*.jsonl")) == []


def test_a_policy_that_cannot_be_read_is_a_problem_that_status_and_doctor_name(opened, repository):
    (repository / ".decapod" / "config.toml").write_text("[provnance]\n")

    problems = [
        found for found in opened.status()["problems"] + opened.doctor()["problems"] if found["code"] == "bad-config"
    ]

    assert [found["fix"] for found in problems] == ["did you mean 'provenance'?"] * 2


def test_a_bare_repository_and_a_folder_inside_a_plain_workspace_get_none_of_their_own(tmp_path):
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    with pytest.raises(DecapodError) as refusal:
        init(tmp_path / "bare.git")
    assert refusal.value.code == "bare"

    (tmp_path / "plain" / "inner").mkdir(parents=True)
    init(tmp_path / "plain")
    assert init(tmp_path / "plain" / "inner")["made"] == []


def test_uninstall_takes_what_is_local_and_leaves_what_is_in_git(opened, knowledge, repository):
    knowledge.add(id="a", title="T", text="x", provenance=["cmd:x"])
    path = knowledge.get(id="a")["path"]

    assert opened.uninstall() == {
        "removed": [".decapod/local/"],
        "kept": [".decapod/config.toml", ".decapod/.gitattributes", ".decapod/ledgers/", ".decapod/knowledge/"],
        "next": ["git rm -r .decapod && git commit"],
    }
    assert not (repository / ".decapod" / "local").exists()
    assert (repository / path).exists()
    assert knowledge.get(id="a")["content"] == "x"


def test_uninstall_ends_the_trust_in_the_commands_of_this_place(opened, repository):
    (repository / ".decapod" / "config.toml").write_text('[[proof]]\nname = "a"\nrun = "true"\npaths = ["**"]\n')
    opened.trust()
    opened.uninstall()
    assert opened.trust()["changed"]


def test_uninstalling_everything_needs_all_of_it_to_be_committed(opened, knowledge, repository, refused):
    knowledge.add(id="a", title="T", text="x", provenance=["cmd:x"])
    refused("uncommitted", 1, opened.uninstall, everything=True)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Knowledge")

    assert opened.uninstall(everything=True)["removed"] == [".decapod/"]
    assert not (repository / ".decapod").exists()
    git(repository, "checkout", "--", ".decapod")
    with Decapod(str(repository)) as client:
        assert client.knowledge.get(id="a")["content"] == "x"


def test_uninstalling_everything_from_a_plain_directory_would_lose_it_all(tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    init(plain)
    with Decapod(str(plain)) as client, pytest.raises(DecapodError) as refused:
        client.uninstall(everything=True)

    assert refused.value.code == "uncommitted"


def test_uninstall_is_refused_while_only_the_kept_links_have_something(opened, knowledge, repository):
    knowledge.add(id="a", title="T", text="x", provenance=["cmd:x"])
    git(repository, "clean", "-fdq")

    with pytest.raises(DecapodError) as refused:
        opened.uninstall()

    assert (refused.value.code, refused.value.hint) == ("unsaved", ("ledger.restore", {}))
    assert opened.ledger.restore()["restored"] != []
    assert knowledge.get(id="a")["content"] == "x"
