"""Names: which ids an entry may have, and where its Markdown lives."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256

from decapod_py.domain.entry import is_procedural
from decapod_py.domain.text import visible
from decapod_py.foundation.errors import Misused, Refused
from decapod_py.foundation.ids import is_ulid

LONGEST_ID = 200
_PROCEDURAL = "procedural/"

_LONGEST_NAME = 80  # bytes of UTF-8, before the digest
_LONGEST_FOLDERS = 100  # bytes for all folders together, so that a checkout fits Windows' 260 characters
_DIGEST_LENGTHS = (6, 8, *range(12, 65, 4))
_NAMELESS = "entry"

# Windows opens a device for these, whatever follows the first dot.
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³")]
)


def check_entry_id(text: str) -> str:
    """The id as it is stored; an id that could not be one is refused."""
    if not text:
        raise _bad_id(text, "is empty")
    if len(text) > LONGEST_ID:
        raise _bad_id(text[:40] + "...", f"is longer than {LONGEST_ID} characters")
    if not re.fullmatch(r"[A-Za-z0-9._/-]+", text):
        raise _bad_id(text, "has a character that is not allowed")
    components = text.split("/")
    if "" in components:
        raise _bad_id(text, "has an empty component")
    if ".." in text or "." in components:
        raise _bad_id(text, "has .. in it, or a component that is a dot")
    if text.lower().startswith(_PROCEDURAL):
        return _PROCEDURAL + text[len(_PROCEDURAL) :]
    return text


def _bad_id(shown: str, problem: str) -> Misused:
    return Misused(
        "bad-id",
        f"the id {shown!r} {problem}",
        "use letters, digits and . _ - with / between folders, such as procedural/retry-policy",
    )


def check_folder(text: str, entry_id: str | None = None) -> str:
    """A folder below the knowledge folder, in one spelling; one that no file may be in is refused."""
    folder = text.strip().strip("/")
    if not folder:
        return ""
    if not is_safe_path(f"{folder}/x.md") or len(folder.encode()) > _LONGEST_FOLDERS:
        raise Misused(
            "bad-folder",
            f"{visible(text)!r} is no folder for entries",
            "name folders below .decapod/knowledge/, such as guides/http, without . or .. or a file name",
        )
    if is_procedural(f"{folder}/") or (entry_id is not None and is_procedural(entry_id)):
        raise Misused("bad-folder", "a rule is where its id says, and only rules are there", "choose another folder")
    return folder


def markdown_path(entry_id: str, title: str, taken: Callable[[str], bool], folder: str = "") -> str:
    """Where the entry's Markdown lives, below the knowledge folder, for good.

    The digest of the id makes one title on two branches two files. It grows only when the path is taken, and the
    whole path is case-folded already, so `taken` may compare folded paths and be right on every file system.
    """
    folders, name = _folders_and_name(entry_id, title)
    return _with_digest(folder.split("/") if folder else folders, name, entry_id, taken)


def path_as_named(wanted: str, entry_id: str, taken: Callable[[str], bool]) -> str:
    """Where the Markdown of an entry lives whose file has a name already: that one, if it will do and is free."""
    if is_procedural(wanted) and not is_procedural(entry_id):
        wanted = f"_{wanted}"  # only rules are there
    safe = is_safe_path(wanted)
    if safe and not taken(wanted):
        return wanted
    *folders, name = wanted.split("/")
    if not safe:
        folders = _bounded([_folder(_component(folder)) for folder in folders])
    return _with_digest(folders, slug(name[:-3] if name.lower().endswith(".md") else name), entry_id, taken)


def _with_digest(folders: list[str], name: str, entry_id: str, taken: Callable[[str], bool]) -> str:
    digest = sha256(entry_id.encode("utf-8", "surrogatepass")).hexdigest()
    for length in _DIGEST_LENGTHS:
        path = "/".join([*folders, _never_a_device(f"{name}-{digest[:length]}.md")])
        if not taken(path):
            return path
    raise Refused("path-taken", f"every Markdown path for the entry {entry_id!r} is taken")


def is_safe_path(path: str) -> bool:
    """Whether a path below the knowledge folder is one that a file may have, wherever the repository is checked out."""
    *folders, name = path.split("/")
    if not name.lower().endswith(".md") or "\\" in path or not path.isprintable() or len(path) > 400:
        return False
    # Names of ours are folded: one that differs in case alone would be the same file on some systems.
    if _DIGESTED.search(name.lower()) and name != name.lower():
        return False
    # A folder never ends like a file of ours, so that none can stand where a file has to go.
    if any(folder.lower().endswith(".md") for folder in folders):
        return False
    return all(_is_safe_part(part) for part in (*folders, name))


def _is_safe_part(part: str) -> bool:
    plain = bool(part) and not part.startswith(".") and not part.endswith((" ", ".")) and len(part.encode()) <= 200
    return plain and not _FORBIDDEN.search(part) and part.partition(".")[0].lower() not in _DEVICES


_DIGESTED = re.compile(r"-[0-9a-f]{6,64}\.md$")
_FORBIDDEN = re.compile(r'[<>:"|?*]')  # Windows checks out no such file


def is_named_for(name: str, entry_id: str) -> bool:
    """Whether a file name ends in the digest of this entry's id, and so is hardly another entry's."""
    stem, _, digest = name.removesuffix(".md").rpartition("-")
    known = sha256(entry_id.encode("utf-8", "surrogatepass")).hexdigest()
    return name.endswith(".md") and bool(stem) and len(digest) >= _DIGEST_LENGTHS[0] and known.startswith(digest)


def _folders_and_name(entry_id: str, title: str) -> tuple[list[str], str]:
    # A ULID says nothing to a reader; an id that someone chose does.
    if is_ulid(entry_id):
        return [], slug(title)
    *folders, name = [_component(component) for component in entry_id.split("/")]
    return _bounded([_folder(folder) for folder in folders]), name


def slug(title: str) -> str:
    """The title as a file name: letters and digits of any script, and single hyphens."""
    return _cut("".join(_kept(title, "")))


def _component(text: str) -> str:
    """One part of an id as a file name. Dots at an end would hide it on Unix and vanish on Windows."""
    return _cut("".join(_kept(text, "._-")).strip(".-"))


def _kept(text: str, punctuation: str) -> list[str]:
    """The folded text's letters, digits and the given punctuation; a hyphen for each run of anything else."""
    kept: list[str] = []
    in_word = False
    for character in _folded(text):
        # Thai, Hindi and others write vowels as marks: without them the word is another one.
        in_word = character.isalnum() or (in_word and _is_mark(character))
        if in_word or character in punctuation:
            kept.append(character)
        elif kept and kept[-1] != "-":
            kept.append("-")
    return kept


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", text).casefold())


def _is_mark(character: str) -> bool:
    if character.isascii() or "\ufe00" <= character <= "\ufe0f" or character >= "\U000e0100":
        return False  # the selectors of emoji and variants are marks too, but nobody sees them
    from unicodedata import category

    return category(character) in ("Mn", "Mc")


def _cut(name: str) -> str:
    whole_characters = name.encode()[:_LONGEST_NAME].decode(errors="ignore")
    return whole_characters.strip(".-") or _NAMELESS


def _folder(component: str) -> str:
    # A folder that looks like an entry's file could stand where that file has to go.
    return _never_a_device(f"{component}_" if component.endswith(".md") else component)


def _never_a_device(name: str) -> str:
    stem, dot, rest = name.partition(".")
    return f"{stem}_{dot}{rest}" if stem in _DEVICES else name


def _bounded(folders: list[str]) -> list[str]:
    """The outer folders that fit; the digest keeps the file apart whatever was left out."""
    kept: list[str] = []
    room = _LONGEST_FOLDERS
    for folder in folders:
        room -= len(folder.encode()) + 1
        if room < 0:
            break
        kept.append(folder)
    return kept
