"""Documents: the files of a repository that tell people and agents how it is, and those that tell how it was."""

from __future__ import annotations

import posixpath
import re

PROSE = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc")

_NAMED = re.compile(
    r"(agents|claude|gemini|copilot-instructions|conventions)\.md|\.cursorrules|\.windsurfrules"
    r"|(readme|contributing|hacking|development|architecture)(\.(md|markdown|mdx|rst|txt|adoc))?"
)
_FOLDERS = frozenset({"doc", "docs", "documentation", "adr", "adrs", "decisions"})
_VENDORED = frozenset(
    {"node_modules", "vendor", "vendored", "_vendor", "third_party", "third-party", "thirdparty", "external"}
    | {"bower_components", "site-packages", ".decapod", ".git"}
)
# Documents that come with tests and templates describe a repository that is not this one.
_STAND_INS = frozenset(
    {"fixtures", "fixture", "testdata", "test_data", "test-data", "snapshots", "__snapshots__", "golden"}
    | {"templates", "template", "cookiecutter", "skeleton", "boilerplate"}
)
_SAMPLES = _STAND_INS | {"examples", "example", "samples", "sample", "demo", "demos", "test", "tests", "spec", "specs"}
_PAST = re.compile(
    r"change[-_ ]?log|(version |^)history$|^(changes|news|old|legacy|archived?|blog|releases)$"
    r"|^(relnotes|removed|obsolete|announce|proposals)$|^release[-_ ]v?\d|historical"
    r"|release[-_ ]notes|what'?s[-_ ]?new|migrating|migration[-_ ](guide|from|to)|upgrading|upgrade[-_ ](guide|from|to)"
    r"|deprecat|breaking[-_ ]change|announcement|retrospective|post-?mortem|meeting[-_ ](notes|minutes)"
    r"|^(removed|changed) (in|since)"
)
# A guide for users that names one of these means the reader's own as often as ours.
_IN_ANY_PROJECT = frozenset(
    {"setup.py", "setup.cfg", "manifest.in", "pyproject.toml", "requirements.txt", "tox.ini", "pytest.ini"}
    | {"conftest.py", "__init__.py", "__main__.py", "main.py", "app.py", "manage.py", "config.py", "settings.py"}
    | {"package.json", "tsconfig.json", "index.html", "index.js", "index.ts", "cargo.toml", "go.mod", "gemfile"}
    | {"makefile", "dockerfile", "docker-compose.yml", ".gitignore", ".travis.yml", ".env", "readme.md"}
)
_LIST = re.compile(r"(cmakelists|robots|requirements.*|constraints.*)\.txt")
_DECISION = re.compile(r"(^|/)(adrs?|decisions)/|(^|/)adr[-_ ]?\d", re.IGNORECASE)
_STATUS = re.compile(
    r"^[\s>*_#|-]*status[\s*_:|#]*(?:\n[\s>*_-]*){0,3}(?:~~[^~\n]*~~)?[*_~\[\s]*"
    r"(superseded|superceded|deprecated|rejected|replaced|obsolete|withdrawn|abandoned)",
    re.IGNORECASE | re.MULTILINE,
)


def is_document(path: str) -> bool:
    """Whether a tracked file is one that should be true today."""
    lower = path.lower()
    *folders, name = lower.split("/")
    if is_vendored(path) or not _STAND_INS.isdisjoint(folders) or speaks_of_the_past(path):
        return False
    if _NAMED.fullmatch(name):
        return True
    if not name.endswith(PROSE) or _LIST.fullmatch(name):
        return False
    if not folders:
        return name.endswith((".md", ".markdown", ".mdx", ".rst"))
    return not _FOLDERS.isdisjoint(folders)


def is_vendored(path: str) -> bool:
    """Whether somebody else keeps this file."""
    return not _VENDORED.isdisjoint(path.lower().split("/")[:-1])


def is_sample(path: str) -> bool:
    """Whether a path lies where tests and templates keep files that stand for others."""
    return not _SAMPLES.isdisjoint(path.lower().split("/")[:-1])


def may_be_the_readers(name: str, document: str) -> bool:
    """Whether a guide for users names a file, without a folder, that any project has; those for developers do not."""
    *folders, title = document.lower().split("/")
    return bool(folders) and name.lower() in _IN_ANY_PROJECT and not _NAMED.fullmatch(title)


def speaks_of_the_past(path: str) -> bool:
    """Whether a file is a changelog, a migration guide or an archive: what it names may well be gone."""
    *folders, name = path.lower().split("/")
    return any(_PAST.search(word) for word in (*folders, posixpath.splitext(name)[0]))


def is_past_heading(heading: str) -> bool:
    """Whether a section is about earlier versions."""
    return bool(_PAST.search(heading.strip(" #*_:").lower()))


def is_withdrawn(path: str, text: str) -> bool:
    """Whether a decision record says that it holds no more."""
    return bool(_DECISION.search(path)) and bool(_STATUS.search(text[:4_000]))
