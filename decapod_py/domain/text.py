"""Texts that come from people and agents: what they may hold, and in which one form they are recorded."""

from __future__ import annotations

import re
import unicodedata

from decapod_py.foundation.errors import Misused, Refused

LONGEST_TITLE = 300
LONGEST_LABEL = 200
LONGEST_CONTENT = 1_000_000

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BLANK_LINES_FIRST = re.compile(r"\A(?:[ \t]*\n)+")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Entries are written by strangers. Control characters drive a terminal, directional overrides reorder what it shows,
# and a lone surrogate cannot be encoded at all.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")


def has_control_characters(text: str) -> bool:
    return bool(_CONTROL.search(text) or _SURROGATE.search(text))


def has_surrogates(text: str) -> bool:
    return bool(_SURROGATE.search(text))


def visible(text: str) -> str:
    """The text with everything that could act on a terminal made visible."""
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text))


def neutral(text: str) -> str:
    """The text with every character that acts instead of showing written out as an escape."""
    return text if text.isprintable() else UNSAFE.sub(_written_out, text)


def one_line(text: str) -> str:
    """The same on a single line, so that stored text cannot pose as a line of ours."""
    return text if text.isprintable() else neutral(_BLANKS.sub(" ", text).strip())


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def check_title(text: str) -> str:
    title = " ".join(_composed(check_unicode(text, "title")).split())
    if not title:
        raise Misused("no-title", "the title is empty", "say in a few words what this is about")
    if _CONTROL.search(title):
        raise Misused("bad-text", "the title holds a control character")
    if len(title) > LONGEST_TITLE:
        raise Misused(
            "too-long", f"the title has {len(title)} characters; at most {LONGEST_TITLE} are kept apart from the text"
        )
    return title


def check_content(text: str) -> str:
    """Line ends are LF, no blank lines around; control characters but tabs are refused."""
    content = tidy(check_unicode(text, "text"))
    if len(content) > LONGEST_CONTENT:
        raise Refused(
            "too-long",
            f"the text has {len(content)} characters; an entry holds at most {LONGEST_CONTENT}",
            "cite the file instead, or split the text into entries",
        )
    if re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", content):
        raise Misused("bad-text", "the text holds a control character", "remove terminal escapes and NUL bytes")
    return content


def tidy(text: str) -> str:
    """The one form of a body: LF, no blank lines before it, nothing blank after it."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _BLANK_LINES_FIRST.sub("", text.rstrip(" \t\n"), count=1)


def check_label(text: str, name: str) -> str:
    """A short single-line word of the user's: an actor, a key, a scope, a tag."""
    label = _composed(check_unicode(text, name)).strip()
    if not label:
        raise Misused("empty", f"the {name} is empty")
    if _CONTROL.search(label):
        raise Misused("bad-text", f"the {name} holds a line break or a control character")
    if len(label) > LONGEST_LABEL:
        raise Misused("too-long", f"the {name} has {len(label)} characters; at most {LONGEST_LABEL} are allowed")
    return label


def check_tags(tags: list[str]) -> list[str]:
    """Trimmed, each once whatever its case, in the order given."""
    seen: dict[str, str] = {}
    for tag in tags:
        label = check_label(tag, "tag")
        seen.setdefault(label.casefold(), label)
    return list(seen.values())


def check_reason(text: str | None) -> str | None:
    if text is None:
        return None
    reason = check_content(text).strip()
    if not reason:
        raise Misused("empty", "the reason is empty")
    return reason


def check_unicode(text: str, name: str) -> str:
    if has_surrogates(text):
        raise Misused("bad-text", f"the {name} is not valid Unicode")
    return text


def _composed(text: str) -> str:
    """One spelling for words that are compared: an accent is part of its letter."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def same_name(one: str, other: str) -> bool:
    """Whether two names are the same person's, whatever their case, width and invisible characters."""
    return name_key(one) == name_key(other)


def is_agent(name: str) -> bool:
    """Whether a name is an agent's: `agent:<client name>`."""
    return name_key(name).startswith("agent:")


def name_key(name: str) -> str:
    """What is the same for two spellings of one name; nothing where a reader would see nothing."""
    seen = (character for character in unicodedata.normalize("NFKC", name) if unicodedata.category(character) != "Cf")
    return " ".join("".join(seen).casefold().split())
