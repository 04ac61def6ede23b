"""Architecture decision records, as Nygard, adr-tools and MADR write them: where they stand and what they replace."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_FOLDERS = frozenset({"adr", "adrs", "decisions", "decision-records", "architecture-decisions"})
# A day's note is numbered, too.
_NUMBERED = re.compile(r"(?!\d{4}-\d\d-\d\d)(?:adr[-_ ]?)?(\d{1,5})(?:[-_ .]|$)", re.IGNORECASE)

_MARKS = r"^[ \t>*_+-]*"
_SECTION = re.compile(r"^#{1,6}[ \t]+status[ \t:]*#*[ \t]*\n(.*?)(?=^#{1,6}[ \t]|\Z)", re.I | re.M | re.S)
_LINE = re.compile(_MARKS + r"status[*_ \t]*:[*_ \t]*(\S.*)$", re.I | re.M)
_DATE = re.compile(_MARKS + r"date[*_ \t]*:[*_ \t]*(\d{4}-\d\d-\d\d)\b", re.I | re.M)
_REPLACED_BY = re.compile(r"\b(?:super[sc]eded|replaced)[ \t]+by\b(.*)", re.I)
_REPLACES = re.compile(_MARKS + r"(?:super[sc]edes|replaces)\b(.*)", re.I | re.M)
_REPLACES_ANYWHERE = re.compile(r"\b(?:super[sc]edes|replaces)\b(.*)", re.I)
_TAKEN_BACK = re.compile(r"~~[^~\n]*~~")
# The strongest first: a record that was accepted and later superseded says both.
_WORDS = (
    ("superseded", re.compile(r"\b(?:super[sc]eded|replaced)\b", re.I)),
    ("deprecated", re.compile(r"\b(?:deprecated|obsolete|withdrawn|abandoned)\b", re.I)),
    ("rejected", re.compile(r"\b(?:rejected|declined)\b", re.I)),
    ("accepted", re.compile(r"\b(?:accepted|approved|adopted|implemented|decided)\b", re.I)),
    ("proposed", re.compile(r"\b(?:proposed|proposal|draft|pending|open|in review)\b", re.I)),
)
_STATUSES = {"superseded": "superseded", "deprecated": "deprecated", "rejected": "deprecated"}
_SAID_BY_A_TAG = ("rejected", "proposed")  # words that our statuses have no word for

_FILE = re.compile(r"\]\(<?(?:\./)?([^)\s#>]+\.(?:md|markdown))(?:#[^)]*)?>?\)|\[\[([^\[\]|#]+)", re.I)
_NUMBER = re.compile(r"(?:\badr[-_ ]?|#|^[ \t:*_-]*)0*(\d{1,5})\b", re.I)


class Record(NamedTuple):
    """What a decision record says about itself."""

    status: str
    tags: tuple[str, ...]
    date: str | None
    superseded_by: tuple[str, ...]  # names of files, or numbers
    supersedes: tuple[str, ...]


def recognises(path: str, fields: dict[str, Any], body: str) -> bool:
    """Whether a file is a decision record: numbered, and among others or with a status."""
    *folders, name = path.split("/")
    if not _NUMBERED.match(name):
        return False
    return any(folder.lower() in _FOLDERS for folder in folders) or _word(_status_text(fields, body)) is not None


def read(fields: dict[str, Any], body: str) -> Record:
    """The record's status in our words, its date, and which records it replaces or is replaced by."""
    said = _status_text(fields, body)
    word = _word(said)
    superseded_by = [name for match in _REPLACED_BY.finditer(said) for name in _references(match[1])]
    lines = [match[1] for match in _REPLACES.finditer(body)] + [match[1] for match in _REPLACES_ANYWHERE.finditer(said)]
    supersedes = [name for line in lines for name in _references(line)]
    if superseded_by and word is None:
        word = "superseded"
    return Record(
        _STATUSES.get(word or "", "active"),
        (f"status/{word}",) if word in _SAID_BY_A_TAG else (),
        _date(fields, body),
        tuple(dict.fromkeys(superseded_by)),
        tuple(dict.fromkeys(supersedes)),
    )


def number_of(name: str) -> int | None:
    """The number that a file name begins with."""
    found = _NUMBERED.match(name)
    return int(found[1]) if found else None


def _status_text(fields: dict[str, Any], body: str) -> str:
    written = fields.get("status")
    section = None if written else _SECTION.search(body)
    line = None if written or section else _LINE.search(body)
    text = str(written) if written else section[1] if section else line[1] if line else ""
    return "" if "{" in text or " | " in text else _TAKEN_BACK.sub("", text)  # a template lists all of them


def _word(text: str) -> str | None:
    return next((word for word, pattern in _WORDS if pattern.search(text)), None)


def _date(fields: dict[str, Any], body: str) -> str | None:
    written = fields.get("date")
    if isinstance(written, str) and written.strip():
        return written.strip()
    found = _DATE.search(body)
    return found[1] if found else None


def _references(text: str) -> list[str]:
    """The records a line names: by their files if it links to any, else by their numbers."""
    files = [(link or wiki).strip().rsplit("/", 1)[-1] for link, wiki in _FILE.findall(text)]
    return files or _NUMBER.findall(text)
