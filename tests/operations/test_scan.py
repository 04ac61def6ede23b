"""`decapod scan` on repositories with a scripted past: every hit is explained, and nothing else is a hit."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from support import decapod, git, refusal, run

from decapod_py.client import Decapod
from decapod_py.foundation.errors import DecapodError
from decapod_py.surfaces.cli.plain import render


class Story:
    """A repository, told commit by commit."""

    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir(parents=True)
        git(top, "init", "-q")

    def commit(self, subject: str, files: dict[str, str | None] | None = None, **moves: str) -> str:
        """Writes, deletes (None) and moves files, commits everything and gives the short hash."""
        for path, text in (files or {}).items():
            place = self.top / path
            if text is None:
                place.unlink()
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text)
        git(self.top, "add", "-A")
        git(self.top, "commit", "-qm", subject, "--allow-empty")
        return git(self.top, "rev-parse", "HEAD").strip()

    def move(self, old: str, new: str) -> None:
        (self.top / new).parent.mkdir(parents=True, exist_ok=True)
        git(self.top, "mv", old, new)

    def scan(self, **arguments: Any) -> Any:
        with Decapod(str(self.top)) as client:
            return client.scan(**arguments)

    def hits(self, **arguments: Any) -> list[tuple[str, str, str, str | None]]:
        """Place, kind, mention and new name of every finding."""
        found = self.scan(**arguments)["findings"]
        return [(f"{hit['file']}:{hit['line']}", hit["kind"], hit["mention"], hit["now"]) for hit in found]


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path / "story")


def lines(count: int, word: str = "line") -> str:
    return "".join(f"{word} {number}\n" for number in range(count))


def python_library(story: Story) -> dict[str, str]:
    """A library whose module was renamed, and whose documents only half know it. Gives its commits by subject."""
    begin = story.commit(
        "Begin",
        {
            "src/shop/__init__.py": "",
            "src/shop/basket.py": "class Basket:\n    def total_price(self):\n        return 1\n" + lines(30, "# note"),
            "src/shop/pay.py": "def pay_by_card(amount):\n    return amount\n\n\ndef pay_cash():\n    pass\n",
            "src/shop/tools/load.py": lines(20, "x ="),
            "tests/test_pay.py": "from shop.pay import pay_by_card\n",
            "README.md": (
                "# Shop\n\nThe basket is in `src/shop/basket.py`, `Basket.total_price` sums up.\n"
                "Cards: `pay_by_card()`; cash: `pay_cash()`.\n\n"
                "```console\n$ python -m shop.tools.load\n$ python src/shop/tools/load.py\n```\n\n"
                "Never here: `src/shop/nothing.py`, `never_defined`, `make nothing`, `requests.get`.\n"
            ),
            "docs/guide.md": "See [basket](../src/shop/basket.py#L20), and `shop/basket.py:3` with `shop.basket`.\n",
            "CHANGELOG.md": "- `src/shop/basket.py` is new, with `Basket`\n",
        },
    )
    story.move("src/shop/basket.py", "src/shop/cart.py")
    renamed = story.commit("Call it a cart", {"src/shop/other.py": "import math\n"})
    sums = story.commit(
        "Sum up", {"src/shop/cart.py": "class Cart:\n    def total(self):\n        return 1\n" + lines(30, "# note")}
    )
    cash = story.commit(
        "Only cards",
        {
            "src/shop/pay.py": "def pay_by_card(amount):\n    return amount\n",
            "src/shop/tools/load.py": None,
        },
    )
    return {"begin": begin, "renamed": renamed, "sums": sums, "cash": cash}


def test_a_library_whose_module_was_renamed(story):
    commits = python_library(story)

    result = story.scan()

    since = {(hit["file"], hit["line"], hit["mention"]): hit["since"]["commit"] for hit in result["findings"]}
    assert since == {
        ("README.md", 3, "src/shop/basket.py"): commits["renamed"],
        ("README.md", 3, "Basket.total_price"): commits["sums"],
        ("README.md", 4, "pay_cash()"): commits["cash"],
        ("README.md", 7, "python -m shop.tools.load"): commits["cash"],
        ("README.md", 8, "python src/shop/tools/load.py"): commits["cash"],
        ("docs/guide.md", 1, "../src/shop/basket.py#L20"): commits["renamed"],
        ("docs/guide.md", 1, "shop/basket.py:3"): commits["renamed"],
        ("docs/guide.md", 1, "shop.basket"): commits["renamed"],
    }
    assert (result["files"], result["ok"], result["omitted"], result["notes"]) == (2, False, 0, [])


def test_a_hit_says_what_is_wrong_since_when_and_what_to_do(story):
    commits = python_library(story)

    first = next(hit for hit in story.scan()["findings"] if hit["mention"] == "src/shop/basket.py")

    assert first == {
        "file": "README.md",
        "line": 3,
        "kind": "path",
        "mention": "src/shop/basket.py",
        "message": "src/shop/basket.py was renamed to src/shop/cart.py",
        "since": {
            "commit": commits["renamed"],
            "date": git(story.top, "log", "-1", "--format=%cs").strip(),
            "subject": "Call it a cart",
        },
        "now": "src/shop/cart.py",
        "fix": "write src/shop/cart.py",
    }


def test_a_link_is_mended_from_the_folder_of_its_document(story):
    python_library(story)

    fixes = {hit["mention"]: hit["fix"] for hit in story.scan()["findings"] if hit["file"] == "docs/guide.md"}

    assert fixes["../src/shop/basket.py#L20"] == "write ../src/shop/cart.py"
    assert fixes["shop/basket.py:3"] == "write shop/cart.py"
    assert fixes["shop.basket"] == "write shop.cart"


def test_a_node_project_whose_scripts_were_renamed(story):
    package = {
        "name": "web",
        "scripts": {"dev": "vite", "lint": "eslint .", "e2e": "playwright"},
        "devDependencies": {"eslint": "9"},
    }
    readme = (
        "Run `npm run dev`, `yarn lint`, `yarn eslint .`, `npm run e2e`, `npm test` and `npm run never`.\n\n"
        "```sh\nnpm ci\nnode tools/seed.js\npnpm run e2e -- --headed\nyarn build\n```\n"
    )
    story.commit(
        "Begin", {"package.json": json.dumps(package, indent=2), "README.md": readme, "tools/seed.js": "seed()\n"}
    )
    package["scripts"] = {"start": "vite", "lint": "eslint .", "test:e2e": "playwright"}
    story.commit("Rename scripts", {"package.json": json.dumps(package, indent=2)})
    story.commit("No seed", {"tools/seed.js": None, "packages/ui/package.json": '{"scripts": {"build": "tsc"}}'})

    assert story.hits() == [
        ("README.md:1", "npm-script", "npm run dev", "npm run start"),
        ("README.md:1", "npm-script", "npm run e2e", "npm run test:e2e"),
        ("README.md:5", "command", "node tools/seed.js", None),
        ("README.md:6", "npm-script", "pnpm run e2e", "pnpm run test:e2e"),
    ]


def test_a_script_that_went_from_a_package_on_one_line_is_a_hit(story):
    story.commit(
        "Begin", {"package.json": '{"name":"x","scripts":{"build":"tsc","lint":"eslint"},"devDependencies":{"a":"1"}}'}
    )
    gone = story.commit("Drop it", {"package.json": '{"name":"x","scripts":{"build":"tsc"},"devDependencies":{}}'})
    story.commit("Document it", {"README.md": "Run `npm run lint` and `npm run build`.\n"})
    story.commit("Release", {"package.json": '{"name":"y","scripts":{"build":"tsc"}}'})

    (hit,) = story.scan()["findings"]

    assert (hit["mention"], hit["since"]["commit"]) == ("npm run lint", gone)


def test_a_project_driven_by_make(story):
    story.commit(
        "Begin",
        {
            "Makefile": "include rules/*.mk\nall: main\nmain: main.c\n\tcc main.c\nbench:\n\t./bench\nprofile: bench\n",
            "rules/test.mk": "check-%:\n\ttrue\nunit:\n\ttrue\n",
            "main.c": "static int parse_flags(int argc)\n{\n  return 0;\n}\n\nint main() { parse_flags(1); }\n",
            "run.sh": "make all\n",
            "CONTRIBUTING.md": (
                "Run `make`, `make all`, `make bench`, `make -j8 profile`, `make check-fast`, `make unit`.\n"
                "Flags go through `parse_flags()`; start with `./run.sh`.\n"
                "`make never-a-target` is none, and we make bench calls too.\n"
            ),
        },
    )
    story.commit(
        "Measure otherwise", {"Makefile": "include rules/*.mk\nall: main\nmain: main.c\n\tcc main.c\nperf:\n\ttrue\n"}
    )
    story.commit("Parse in main", {"main.c": "int main(void) { return 0; }\n", "run.sh": None})

    assert story.hits() == [
        ("CONTRIBUTING.md:1", "make-target", "make bench", None),
        ("CONTRIBUTING.md:1", "make-target", "make profile", None),
        ("CONTRIBUTING.md:2", "path", "./run.sh", None),
        ("CONTRIBUTING.md:2", "symbol", "parse_flags()", None),
    ]


def test_a_monorepo_with_blanks_and_letters_of_many_scripts_in_its_names(story):
    story.commit(
        "Begin",
        {
            "packages/größe/README.md": "Look at `src/maß.ts`, [notes](docs/my%20notes.md) and `src/shared.ts`.\n",
            "packages/größe/src/maß.ts": lines(20),
            "packages/größe/docs/my notes.md": lines(10, "word"),
            "packages/größe/src/shared.ts": "x\n",
            "packages/b/README.md": "Look at `src/shared.ts` and `docs/日本.md`.\n",
            "packages/b/src/shared.ts": "y\n",
            "packages/b/docs/日本.md": lines(12, "語"),
            "AGENTS.md": "Sizes: packages/größe/src/maß.ts. The rest: `packages/b/`.\n",
        },
    )
    story.move("packages/größe/src/maß.ts", "packages/größe/src/länge neu.ts")
    story.move("packages/b/docs/日本.md", "packages/b/docs/日本語.md")
    story.commit("Rename", {"packages/größe/docs/my notes.md": None, "packages/b/src/shared.ts": None})

    assert story.hits() == [
        ("AGENTS.md:1", "path", "packages/größe/src/maß.ts", "packages/größe/src/länge neu.ts"),
        ("packages/b/README.md:1", "path", "docs/日本.md", "packages/b/docs/日本語.md"),
        ("packages/größe/README.md:1", "path", "docs/my%20notes.md", None),
        ("packages/größe/README.md:1", "path", "src/maß.ts", "packages/größe/src/länge neu.ts"),
    ]
    fixes = [hit["fix"] for hit in story.scan()["findings"]]
    assert fixes == [
        "write packages/größe/src/länge neu.ts",
        "write docs/日本語.md",
        "name what took its place, or take it out",
        "write src/länge neu.ts",
    ]


def test_decision_records_count_while_they_hold(story):
    story.commit(
        "Begin",
        {
            "docs/adr/0001-xml.md": "# XML\n\n## Status\n\nSuperseded by 0002\n\nParsed in `src/xml.py`.\n",
            "docs/adr/0002-json.md": "# JSON\n\n## Status\n\nAccepted\n\nSee `src/json_reader.py` and `src/io.py`.\n",
            "docs/adr/0003-yaml.md": "---\nstatus: rejected\n---\n# YAML\n\nIn `src/yaml.py`.\n",
            "docs/decisions/0004.md": "# TOML\n\nStatus: proposed\n\n`src/xml.py` was removed. See `src/io.py`.\n",
            "docs/history.md": "`src/xml.py`\n",
            "src/xml.py": lines(9, "a"),
            "src/yaml.py": lines(9, "b"),
            "src/json_reader.py": lines(9, "c"),
            "src/io.py": lines(9, "d"),
        },
    )
    gone = story.commit("One reader", {"src/xml.py": None, "src/yaml.py": None, "src/json_reader.py": None})

    (hit,) = story.scan()["findings"]

    assert (hit["file"], hit["line"], hit["mention"], hit["since"]["commit"]) == (
        "docs/adr/0002-json.md",
        7,
        "src/json_reader.py",
        gone,
    )


def test_what_never_was_is_no_hit(story):
    story.commit(
        "Begin",
        {
            "README.md": (
                "Build into `dist/app.js`, configure `config/local.toml`, see `lib/imagined.rb` and `docs/<name>.md`.\n"
                "Use `numpy.array`, `useState()`, `make love`, `npm run away` and `python scripts/none.py`.\n"
                "[Issues](../../issues), [wiki](https://example.com/old.py), [here](#old).\n"
            ),
            "old.py": "x = 1\n",
            ".gitignore": "dist/\n",
        },
    )
    story.commit("Later", {"old.py": None})

    assert story.scan()["findings"] == []
    assert story.scan()["ok"]


def test_what_git_ignores_now_may_well_be_named(story):
    story.commit("Begin", {"README.md": "See `dist/app.js` and `gen/`.\n", "dist/app.js": "x\n", "gen/a.py": "y\n"})
    story.commit("Build it", {"dist/app.js": None, "gen/a.py": None, ".gitignore": "dist/\ngen/\n"})

    assert story.hits() == []


def test_a_guide_that_names_a_file_of_any_project_means_the_readers_own(story):
    told = "Add it to `setup.py`, then run `python setup.py develop`.\n"
    story.commit(
        "begin", {"setup.py": lines(3), "README.md": told, "docs/guide.md": told, "docs/contributing.md": told}
    )
    story.commit("drop it", {"setup.py": None})
    assert {hit[0] for hit in story.hits()} == {"README.md:1", "docs/contributing.md:1"}


def test_a_commit_with_megabytes_of_changes_is_read_in_one_go(story):
    big = {
        f"src/part{number}.py": f"def part_{number}(): ...\n" + lines(20_000, "value = 'x' * 40  #")
        for number in range(8)
    }
    story.commit(
        "begin", {**big, "README.md": "See `part_3()` and `gone_away()`.\n", "src/a.py": "def gone_away(): ...\n"}
    )
    story.commit("empty", {**dict.fromkeys(big, "def part_3(): ...\n"), "src/a.py": "def other(): ...\n"})
    assert [hit[2] for hit in story.hits()] == ["gone_away()"]


def test_a_file_that_came_back_or_lies_elsewhere_is_good(story):
    story.commit(
        "Begin", {"README.md": "`src/a.py`, `lib/b.py`, `C.md`\n", "src/a.py": "1\n", "lib/b.py": "2\n", "C.md": "3\n"}
    )
    story.commit("Away", {"src/a.py": None, "lib/b.py": None, "C.md": None})
    story.commit("Back", {"src/a.py": "1\n", "core/lib/b.py": "other\n", "c.md": "4\n"})

    result = story.scan()

    assert (result["findings"], result["good"]) == ([], 3)


def test_a_file_renamed_twice_has_its_last_name(story):
    story.commit(
        "Begin", {"README.md": "`src/a.py` in `src/inner/`\n", "src/a.py": lines(30), "src/inner/x.py": lines(20, "x")}
    )
    story.move("src/a.py", "src/b.py")
    story.move("src/inner", "src/within")
    first = story.commit("Once")
    story.move("src/b.py", "src/c.py")
    story.commit("Twice")

    assert story.hits() == [
        ("README.md:1", "path", "src/a.py", "src/c.py"),
        ("README.md:1", "path", "src/inner/", "src/within"),
    ]
    assert {hit["since"]["commit"] for hit in story.scan()["findings"]} == {first}


def test_a_line_beyond_the_end_counts_only_if_the_file_was_that_long(story):
    story.commit(
        "Begin", {"README.md": "See `src/a.py:40`, `src/a.py:900` and `src/a.py:10`.\n", "src/a.py": lines(50)}
    )
    story.commit("Change", {"src/a.py": lines(49, "word")})
    short = story.commit("Shorten", {"src/a.py": lines(20)})
    story.commit("Change again", {"src/a.py": lines(21)})

    (hit,) = story.scan()["findings"]

    assert (hit["kind"], hit["mention"], hit["since"]["commit"]) == ("line", "src/a.py:40", short)
    assert hit["message"] == "src/a.py has 21 lines now; it had 49"


def test_a_symbol_that_changelogs_and_documents_alone_remember_is_gone(story):
    story.commit(
        "Begin",
        {
            "README.md": "Call `load_everything` or `Loader`.\n",
            "CHANGES": "load_everything is new\n",
            "a.py": "def load_everything():\n    pass\n",
            "b.py": "class Loader:\n    pass\n",
        },
    )
    story.commit("Load less", {"a.py": "def load_something():\n    pass\n"})
    assert story.hits() == [("README.md:1", "symbol", "load_everything", "load_something")]

    story.commit("Load nothing", {"a.py": "x = 1\n"})
    assert story.hits() == [("README.md:1", "symbol", "load_everything", None)]


def test_what_is_deleted_but_not_committed_is_a_hit_without_a_commit(story):
    story.commit("Begin", {"README.md": "`src/a.py` and `src/b.py`\n", "src/a.py": lines(9), "src/b.py": lines(9, "b")})
    (story.top / "src/a.py").unlink()
    git(story.top, "mv", "src/b.py", "src/c.py")

    result = story.scan()

    assert [(hit["mention"], hit["since"], hit["now"]) for hit in result["findings"]] == [
        ("src/a.py", None, None),
        ("src/b.py", None, "src/c.py"),
    ]
    assert "not committed" in render("scan", result)


def test_a_target_and_a_symbol_that_are_gone_but_not_committed_are_hits_too(story):
    story.commit(
        "Begin",
        {
            "README.md": "`make bench` calls `run_bench()`\n",
            "Makefile": "bench:\n\ttrue\n",
            "a.py": "def run_bench(): pass\n",
        },
    )
    (story.top / "Makefile").write_text("other:\n")
    (story.top / "a.py").write_text("")

    assert [(hit["mention"], hit["since"]) for hit in story.scan()["findings"]] == [
        ("make bench", None),
        ("run_bench()", None),
    ]


def test_a_drawn_tree_of_another_project_is_not_judged_and_our_own_is(story):
    tree = "```\n{}/\n├── src/\n│   ├── app.py\n│   └── gone.py\n└── {}\n```\n"
    story.commit(
        "Begin",
        {
            "README.md": tree.format("shop", "setup.cfg")
            + "\nA plugin has:\n\n"
            + tree.format("plugin", "plugin.toml").replace("app", "two"),
            "src/app.py": lines(9),
            "src/gone.py": lines(9, "g"),
            "src/two.py": lines(9, "t"),
            "setup.cfg": "",
        },
    )
    story.commit("Less", {"src/gone.py": None, "src/two.py": None})

    assert story.hits() == [("README.md:5", "path", "gone.py", None)]


def test_only_what_a_branch_wrote_or_broke_with_a_base(story):
    story.commit(
        "Begin",
        {
            "README.md": "`src/old.py`\n\n`src/kept.py`\n",
            "docs/a.md": "`src/kept.py`\n",
            "src/old.py": lines(9),
            "src/kept.py": lines(9, "k"),
        },
    )
    story.commit("On main", {"src/old.py": None})
    git(story.top, "checkout", "-qb", "branch")
    story.commit("Write", {"docs/b.md": "`src/old.py`\n"})
    story.commit("Break", {"src/kept.py": None})

    everything = [place for place, *_ in story.hits()]
    assert everything == ["README.md:1", "README.md:3", "docs/a.md:1", "docs/b.md:1"]
    assert [place for place, *_ in story.hits(base="main")] == ["README.md:3", "docs/a.md:1", "docs/b.md:1"]
    assert story.hits(base="HEAD") == []
    (story.top / "README.md").write_text("Again: `src/old.py`\n\n`src/kept.py`\n")
    assert [place for place, *_ in story.hits(base="HEAD")] == ["README.md:1"]


def test_a_base_that_does_not_exist_is_a_misuse(story):
    story.commit("Begin", {"README.md": "x\n"})

    for base in ("nowhere", "--all", ""):
        with pytest.raises(DecapodError) as refused:
            story.scan(base=base or "no such")
        assert (refused.value.code, refused.value.exit_code) == ("no-such-ref", 2)


def test_a_shallow_clone_finds_less_and_says_so(story, tmp_path):
    python_library(story)
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{story.top}", "shallow")

    found = json.loads(run(tmp_path / "shallow", "scan", "--json").stdout)

    assert {hit["mention"] for hit in found["findings"]} == {
        "pay_cash()",
        "python -m shop.tools.load",
        "python src/shop/tools/load.py",
    }
    assert ["shallow" in note for note in found["notes"]] == [True]


def test_a_clone_without_blobs_fetches_nothing_and_says_what_it_could_not_read(story, tmp_path):
    python_library(story)
    git(story.top, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{story.top}", "partial")
    git(tmp_path / "partial", "remote", "set-url", "origin", "https://example.invalid/shop.git")

    found = json.loads(run(tmp_path / "partial", "scan", "--json").stdout)

    renamed = {hit["mention"]: hit["now"] for hit in found["findings"]}
    assert renamed["src/shop/basket.py"] == "src/shop/cart.py"
    assert renamed["python src/shop/tools/load.py"] is None
    assert any("symbols was not read to its end" in note for note in found["notes"])


def test_settings_of_the_machine_change_nothing(story):
    python_library(story)
    expected = story.scan()
    for setting in (
        *("color.ui=always", "diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.interHunkContext=9"),
        *("diff.external=false", "diff.renames=copies", "diff.relative=true", "core.quotePath=true"),
        *("log.showSignature=true", "log.follow=true", "log.date=relative", "i18n.logOutputEncoding=latin1"),
        *("format.pretty=oneline", "log.decorate=full", "diff.context=7", "status.relativePaths=false"),
    ):
        name, _, value = setting.partition("=")
        git(story.top, "config", name, value)

    assert story.scan() == expected


def test_worktrees_detached_heads_and_folders_inside_will_do(story, tmp_path):
    commits = python_library(story)
    git(story.top, "worktree", "add", "-q", "--detach", str(tmp_path / "other"), commits["renamed"])
    inside = json.loads(run(story.top / "src", "scan", "--json").stdout)
    other = json.loads(run(tmp_path / "other", "scan", "--json").stdout)

    assert (inside["root"], len(inside["findings"])) == (str(story.top), 8)
    assert (other["root"], len(other["findings"])) == (str(tmp_path / "other"), 4)


def test_paths_inside_a_submodule_are_not_judged(story, tmp_path):
    inner = Story(tmp_path / "inner")
    inner.commit("Begin", {"lib.py": "x\n"})
    story.commit("Begin", {"README.md": "`dep/lib.py`, `dep/gone.py`\n", "dep/gone.py": lines(9)})
    story.commit("Leave it to a submodule", {"dep/gone.py": None})
    (story.top / "dep").rmdir()
    git(story.top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f"file://{inner.top}", "dep")
    story.commit("Add it")

    assert story.hits() == []


def test_a_sparse_checkout_still_has_what_it_leaves_out(story):
    story.commit("Begin", {"README.md": "`src/a.py` and `lib/b.py:3`\n", "src/a.py": lines(9), "lib/b.py": lines(9)})
    git(story.top, "sparse-checkout", "set", "src")

    assert not (story.top / "lib").exists()
    assert story.hits() == []


def test_a_repository_without_commits_has_nothing_to_say(story):
    (story.top / "README.md").write_text("`src/a.py`, `make x`, `npm run x`, `load_all`\n")
    git(story.top, "add", "-A")

    result = story.scan()

    assert (result["files"], result["checked"], result["findings"]) == (1, 4, [])


def test_outside_git_and_in_a_bare_repository_it_is_refused(tmp_path):
    (tmp_path / "plain").mkdir()
    git(tmp_path, "init", "-q", "--bare", "bare.git")

    assert refusal(tmp_path / "plain", "scan") == (2, "no-git")
    assert refusal(tmp_path / "bare.git", "scan") == (2, "no-git")


def test_it_needs_no_workspace_changes_nothing_and_exits_with_one_when_it_finds(story):
    python_library(story)
    before = git(story.top, "status", "--porcelain", "--ignored")

    done = run(story.top, "scan")

    assert done.returncode == 1
    assert not (story.top / ".decapod").exists()
    assert git(story.top, "status", "--porcelain", "--ignored") == before
    assert "README.md:3: src/shop/basket.py was renamed to src/shop/cart.py [path]" in done.stdout
    assert "  fix: write src/shop/cart.py" in done.stdout


def test_a_clean_repository_exits_with_zero(repository):
    assert decapod(repository, "scan")["ok"] is True


def test_links_and_documents_that_lead_out_of_the_repository_are_not_read(story, tmp_path):
    (tmp_path / "secret.md").write_text("`src/a.py`\n")
    story.commit("Begin", {"src/a.py": lines(9)})
    story.commit("Delete", {"src/a.py": None})
    (story.top / "AGENTS.md").symlink_to(tmp_path / "secret.md")
    story.commit("Link")

    result = story.scan()

    assert (result["files"], result["findings"]) == (0, [])


def test_names_with_terminal_escapes_stay_harmless(story):
    name = "src/\x1b[31mred\x07.py"
    story.commit(
        "Begin \x1b[2J", {"README.md": f"`{name}` and [x](<src/a\u202eb.py>)\n", name: "1\n", "src/a\u202eb.py": "2\n"}
    )
    story.commit("Delete \x1b]0;title\x07", {name: None, "src/a\u202eb.py": None})

    done = run(story.top, "scan")

    assert done.returncode == 1
    assert "\x1b" not in done.stdout and "\x07" not in done.stdout and "\u202e" not in done.stdout


def test_no_more_findings_than_the_limit_are_shown_and_the_rest_is_counted(story):
    story.commit(
        "Begin",
        {"README.md": "".join(f"`src/a{n}.py`\n" for n in range(9)), **{f"src/a{n}.py": f"{n}\n" for n in range(9)}},
    )
    story.commit("Delete", {f"src/a{n}.py": None for n in range(9)})

    result = story.scan(limit=2)

    assert (len(result["findings"]), result["omitted"], result["ok"]) == (2, 7, False)


def test_large_documents_and_many_mentions_are_read_in_seconds(story):
    many = "".join(f"See `src/a{number}.py`, `load_{number}` and `make t{number}`.\n" for number in range(7_000))
    story.commit(
        "Begin",
        {
            "README.md": many,
            "docs/large.md": "many words of prose\n" * 260_000,
            "src/a7.py": "def load_9(): pass\n",
            "Makefile": "t5:\n",
        },
    )
    story.commit("Delete", {"src/a7.py": None, "Makefile": None})

    began = time.monotonic()
    result = story.scan()

    assert time.monotonic() - began < 40
    assert result["checked"] == 21_000
    assert {hit["mention"] for hit in result["findings"]} == {"src/a7.py", "load_9", "make t5"}


def test_paragraphs_that_name_files_are_adopted_once_and_then_watched(repository: Path) -> None:
    (repository / "README.md").write_text(
        "# Tool\n\nRetries live in `src/a.py`.\nThey stop at three.\n\nNothing here.\n"
    )
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Document it")

    adopted = decapod(repository, "scan", "--adopt")["adopted"]
    again = decapod(repository, "scan", "--adopt")["adopted"]

    (entry,) = decapod(repository, "knowledge", "list")["entries"]
    assert (adopted, again) == ([entry["id"]], [])
    assert entry["provenances"] == ["file:README.md#L3-L4", "file:src/a.py"]
    assert entry["drift"] == "ok"


def test_what_decapod_recorded_is_not_taken_for_code(repository: Path) -> None:
    (repository / "src" / "tool.py").write_text("def old_function():\n    pass\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Begin")
    (repository / "src" / "tool.py").write_text("pass\n")
    (repository / "README.md").write_text("Call `old_function()` of `src/tool.py`.\n\nSee `src/a.py`.\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Take it out")
    decapod(
        repository, "knowledge", "add", "old_function() retries", "--text", "See old_function.", "--from", "src/a.py"
    )

    adopted = json.loads(run(repository, "scan", "--adopt", "--json").stdout)["adopted"]
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Adopt")
    found = json.loads(run(repository, "scan", "--json").stdout)["findings"]

    assert [hit["mention"] for hit in found] == ["old_function()"]
    (entry,) = [decapod(repository, "knowledge", "get", entry_id) for entry_id in adopted]
    assert entry["provenances"] == ["file:README.md#L3", "file:src/a.py"]


def test_adopting_needs_a_workspace(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "README.md").write_text("See `README.md`.\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "One")

    assert refusal(tmp_path, "scan", "--adopt") == (1, "not-initialised")
