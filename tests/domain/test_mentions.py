"""What counts as a mention in a document, and what is an example, a sentence about the past or nobody's file."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decapod_py.domain.definitions import definition_of, make_targets, npm_scripts, renamed_in
from decapod_py.domain.documents import is_document, is_withdrawn, speaks_of_the_past
from decapod_py.domain.mentions import mentions_in


def found(text: str, *, rst: bool = False) -> list[tuple[int, str, str]]:
    return [(mention.line, mention.kind, mention.text) for mention in mentions_in(text, rst=rst)]


def names(text: str) -> list[tuple[str, ...]]:
    return [mention.names for mention in mentions_in(text)]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("The client is in `src/client.py`.", "path", ("src/client.py",)),
        ("Look at `./src/client.py`.", "path", ("./src/client.py",)),
        ("Tests live in `tests/unit/`.", "path", ("tests/unit/",)),
        ("See `setup.cfg`.", "path", ("setup.cfg",)),
        ("The `Makefile` says how.", "path", ("Makefile",)),
        ("See [the guide](docs/guide.md#install).", "path", ("docs/guide.md",)),
        ("See [the guide](<docs/my guide.md>).", "path", ("docs/my guide.md",)),
        ("See [the guide](docs/my%20guide.md).", "path", ("docs/my guide.md",)),
        ("[guide]: docs/guide.md 'Guide'", "path", ("docs/guide.md",)),
        ('<img src="docs/logo.png">', "path", ("docs/logo.png",)),
        ("In `docs/my notes.md` it is said.", "path", ("docs/my notes.md",)),
        ("Im Ordner `größe/maß.py` steht es.", "path", ("größe/maß.py",)),
        ("- src/core/engine.ts: the engine", "path", ("src/core/engine.ts",)),
        ("@docs/rules.md", "path", ("docs/rules.md",)),
        ("It fails in `src/client.py:12`.", "line", ("src/client.py",)),
        ("It fails in `src/client.py:12-20`.", "line", ("src/client.py",)),
        ("It fails [here](src/client.py#L12-L20).", "line", ("src/client.py",)),
        ("Call `retry_request` first.", "symbol", ("retry_request",)),
        ("Call `RetryPolicy` first.", "symbol", ("RetryPolicy",)),
        ("Call `Client.retry()` first.", "symbol", ("Client", "retry")),
        ("Call `connect(host, port)` first.", "symbol", ("connect",)),
        ("Call `shop::Cart::total` first.", "symbol", ("shop", "Cart", "total")),
        ("Run `make lint`.", "make-target", ("lint",)),
        ("Run `make -j4 -C core test VERBOSE=1`.", "make-target", ("test",)),
        ("Run `npm run build:all -- --watch`.", "npm-script", ("build:all",)),
        ("Run `npm test`.", "npm-script", ("test",)),
        ("Run `yarn --cwd web storybook`.", "npm-script", ("storybook",)),
        ("Run `pnpm --filter web run dev`.", "npm-script", ("dev",)),
        ("Run `python scripts/load.py --all`.", "command", ("scripts/load.py",)),
        ("Run `uv run python scripts/load.py`.", "command", ("scripts/load.py",)),
        ("Run `./scripts/load.sh now`.", "command", ("./scripts/load.sh",)),
        ("Run `bash tools/load.sh`.", "command", ("tools/load.sh",)),
        ("Run `python -m shop.tools.load`.", "command", ("shop/tools/load.py", "shop/tools/load/__main__.py")),
    ],
)
def test_a_name_in_a_sentence_is_a_mention(text, kind, expected):
    (mention,) = mentions_in(text)

    assert (mention.line, mention.kind, mention.names[: len(expected)]) == (1, kind, expected)


@pytest.mark.parametrize(
    "text",
    [
        "Name it `path/to/module.py`.",
        "Name it `src/<name>.py` or `src/{name}.py`.",
        "All of `src/*.py` and `src/**/x?.py`.",
        "Put it into `$HOME/x.py` or `~/x.py`.",
        "Files such as `src/.../x.py`.",
        "See [there](https://example.com/src/client.py) or https://example.com/src/a.py.",
        "See `https://example.com/src/client.py`.",
        "Edit your `settings.py`.",
        "Create a file `src/settings.py`.",
        "Put `settings.py` in your project.",
        "It is called `example.com`.",
        "Say `yes` or `no`, `true` or `install`.",
        "Use `npm install` and `yarn add left-pad`.",
        "Use `make` alone.",
        "Mail [us](mailto:ada@example.com) or go [up](#top).",
        "The file `src/client.py` was removed in 2.0.",
        "`src/client.py` no longer exists.",
        "It used to be in `src/client.py`.",
        "Formerly `retry_request`.",
        "~~`src/client.py`~~",
        "<!-- see `src/client.py` -->",
        "bare words such as Makefile or client",
    ],
)
def test_examples_other_hosts_and_the_past_are_no_mentions(text):
    assert found(text) == []


def test_a_file_that_is_used_to_do_something_is_not_of_the_past():
    assert found("`scripts/load.py` is used to load data.") == [(1, "path", "scripts/load.py")]


def test_a_name_with_such_a_word_in_it_says_nothing_about_the_past():
    assert found("See `src/legacy/removed.py`.") == [(1, "path", "src/legacy/removed.py")]


def test_a_sentence_about_the_past_may_go_over_two_lines():
    assert found("The file `src/client.py` was\nremoved in 2.0. Now `src/http.py` is used.") == []
    assert found("It was removed.\nLook at `src/http.py`.") == [(2, "path", "src/http.py")]
    assert found("- a was removed\n- `src/http.py` is used") == [(2, "path", "src/http.py")]


def test_a_section_about_earlier_versions_is_not_read_but_the_next_one_is():
    text = "# Guide\n\n## Changelog\n\n`src/a.py`\n\n### 1.0\n\n`src/b.py`\n\n## Use\n\n`src/c.py`\n"

    assert found(text) == [(13, "path", "src/c.py")]


def test_shell_blocks_are_read_as_commands_and_output_is_not():
    text = """\
```console
$ cd web && npm run dev
built src/never.py
$ python tools/load.py > out/report.txt
```

```bash
# make nothing
make test lint
cat <<EOF > x
make no-target
EOF
docker compose -f deploy/dev.yml up
```

```json
{"path": "src/other.py"}
```

```python
open("src/other.py")
```
"""
    assert found(text) == [
        (2, "npm-script", "npm run dev"),
        (4, "command", "python tools/load.py"),
        (9, "make-target", "make test"),
        (9, "make-target", "make lint"),
        (13, "path", "deploy/dev.yml"),
    ]


def test_paths_after_cd_count_from_there_too():
    assert names("```sh\ncd web\nnode tools/build.js\n```\n") == [("web/tools/build.js", "tools/build.js")]


def test_a_drawn_tree_names_its_files_with_their_folders():
    text = """\
```
shop/
├── src/
│   ├── cart.py      # the cart
│   └── pay/
│       └── card.py
└── Makefile
```
"""
    assert names(text) == [
        ("shop/src", "src"),
        ("shop/src/cart.py", "src/cart.py"),
        ("shop/src/pay", "src/pay"),
        ("shop/src/pay/card.py", "src/pay/card.py"),
        ("shop/Makefile", "Makefile"),
    ]


def test_restructured_text_has_roles_directives_and_double_backticks():
    text = """\
Use ``src/client.py`` and :meth:`~shop.Client.retry`, see `the guide <docs/guide.rst>`_.

.. literalinclude:: ../examples/a.py

.. code-block:: bash

   make html

Then go on.
"""
    assert found(text, rst=True) == [
        (1, "path", "src/client.py"),
        (1, "symbol", "~shop.Client.retry"),
        (1, "path", "docs/guide.rst"),
        (3, "path", "../examples/a.py"),
        (7, "make-target", "make html"),
    ]


def test_notes_about_a_version_are_of_the_past_and_what_follows_is_not():
    text = ".. versionchanged:: 2.3\n    ``src/old.py`` and :envvar:`FLASK_ENV` went.\n\nSee ``src/new.py``.\n"
    assert [mention.text for mention in mentions_in(text, rst=True)] == ["src/new.py"]


def test_a_file_that_the_reader_is_to_make_is_nowhere_ours():
    text = "Create a file `main.py`:\n\n```sh\npython main.py\npython tools/x_run.py\n```\n\nNow `main.py` runs.\n"

    assert found(text) == [(5, "command", "python tools/x_run.py")]


def test_front_matter_is_not_prose():
    assert found("---\nglobs: src/a.py\n---\n`src/b.py`\n") == [(4, "path", "src/b.py")]


@pytest.mark.parametrize(
    "line",
    ["`" * 5 + "a" * 3, "](" * 5_000, "`a``b```c" * 1_500, "[" * 15_000, "a.a/" * 4_000, "<!--" * 4_000, "~~" * 9_000],
)
def test_hostile_lines_take_no_longer_than_others(line):
    began = time.monotonic()
    for _ in range(20):
        mentions_in(line)
    assert time.monotonic() - began < 5


def test_twenty_thousand_mentions_and_five_megabytes_are_read_in_seconds():
    many = "".join(f"See `src/a{number}.py` and `load_{number}`.\n" for number in range(10_000))
    began = time.monotonic()
    assert len(mentions_in(many)) == 20_000
    assert mentions_in("x" * 5_000_000) == []
    assert mentions_in("some words of prose, and more\n" * 180_000) == []
    assert time.monotonic() - began < 20


@given(st.text(alphabet="`~[]()<>#*-|./: \n\tabcABC_0é─├$", max_size=200), st.booleans())
def test_any_text_can_be_read(text, rst):
    for mention in mentions_in(text, rst=rst):
        assert 1 <= mention.line <= text.count("\n") + 1
        assert mention.names


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md",
        "CLAUDE.md",
        "web/claude.md",
        "README",
        "packages/a/README.md",
        "CONTRIBUTING.rst",
        ".cursorrules",
        ".github/copilot-instructions.md",
        "docs/a/b.md",
        "doc/x.rst",
        "docs/x.txt",
        "adr/0001-x.md",
        "src/ADR/3.md",
        "SECURITY.md",
        "docs/releasing.md",
        "docs/migrations.md",
    ],
)
def test_these_are_documents(path):
    assert is_document(path)


@pytest.mark.parametrize(
    "path",
    [
        "CHANGELOG.md",
        "docs/changelog.md",
        "HISTORY.md",
        "NEWS.md",
        "docs/release-notes/1.0.md",
        "docs/upgrading.md",
        "docs/migration-guide.md",
        "node_modules/a/README.md",
        "vendor/x/README.md",
        "tests/fixtures/README.md",
        ".decapod/knowledge/a.md",
        "src/notes.md",
        "docs/conf.py",
        "docs/requirements.txt",
        "docs/archive/x.md",
    ],
)
def test_these_are_not(path):
    assert not is_document(path)


@pytest.mark.parametrize(
    "path", ["doc/en/announce/release-2.6.0.rst", "doc/historical-notes.rst", "doc/proposals/a.rst"]
)
def test_announcements_and_proposals_speak_of_the_past(path):
    assert not is_document(path)


def test_changelogs_speak_of_the_past():
    assert speaks_of_the_past("docs/CHANGES.rst")
    assert not speaks_of_the_past("docs/exchanges.rst")


@pytest.mark.parametrize(
    "text",
    [
        "# 3. Use XML\n\n## Status\n\nSuperseded by [ADR 7](0007.md)\n",
        "---\nstatus: deprecated\n---\n# Use XML\n",
        "# Use XML\n\n* Status: rejected\n",
        "# Use XML\n\n**Status**: ~~Accepted~~ Superseded\n",
    ],
)
def test_a_decision_that_holds_no_more_is_withdrawn(text):
    assert is_withdrawn("docs/adr/0003-use-xml.md", text)
    assert not is_withdrawn("docs/guide.md", text)


def test_an_accepted_decision_holds():
    assert not is_withdrawn("adr/0003.md", "# Use XML\n\n## Status\n\nAccepted\n\nSupersedes ADR 2.\n")


def test_rules_of_makefiles_and_scripts_of_packages():
    assert make_targets("test lint: build  # both") == ["test", "lint"]
    assert make_targets("VERSION := 3") == make_targets("\techo a: b") == make_targets("# a: b") == []
    assert npm_scripts('{"scripts": {"dev": "x"}, "dependencies": {"left": "1"}}') == {"dev"}
    assert npm_scripts("no JSON") == npm_scripts("[]") == npm_scripts('{"scripts": 3}') == frozenset()


@pytest.mark.parametrize(
    "line",
    [
        "def load_all(path):",
        "    async def load_all(self):",
        "class load_all(Base):",
        "export const load_all = () => 1",
        "func (c *Client) load_all(x int) error {",
        "pub fn load_all<T>(x: T) -> T {",
        "#define load_all 3",
        "load_all = 30",
        "load_all: int = 30",
        "static int load_all(const char *path)",
        "  load_all(path) {",
        "load_all() {",
    ],
)
def test_definitions_are_known_in_many_languages(line):
    assert definition_of("load_all").search(line)


@pytest.mark.parametrize(
    "line",
    [
        "x = load_all(3)",
        "return load_all(3)",
        "await load_all()",
        "import load_all",
        "if load_all == 3:",
        "a.load_all()",
    ],
)
def test_uses_are_no_definitions(line):
    assert not definition_of("load_all").search(line)


def test_a_line_that_differs_in_one_name_is_a_rename():
    assert renamed_in("def load(path):", "load", ["", "def read(path):"]) == "read"
    assert renamed_in("def load(path):", "load", ["def read(file):"]) is None
    assert renamed_in("def load(path):", "load", ["def read(path):", "def see(path):"]) is None
    assert renamed_in("bench:", "bench", ["perf:"]) is None
