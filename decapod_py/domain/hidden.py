"""Text that people do not see and machines read: invisible characters, comments, links that run, orders to agents."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from decapod_py.domain.text import neutral

_MOST = 100  # of each sort: nobody reads more, and a hostile text could hold millions


class Hidden(NamedTuple):
    """What is hidden and where, counted from 1; `shown` makes it visible."""

    kind: str
    line: int
    column: int
    shown: str


class _Found(NamedTuple):
    place: int
    kind: str
    shown: str


def find_hidden(text: str) -> list[Hidden]:
    """What a text hides from its readers, in its order."""
    from decapod_py.domain.orders import find_orders

    orders = (_Found(place, "instructions", f"“{_excerpt(order)}”") for place, order in find_orders(text))
    found = [one for some in (_characters(text), _escapes(text), _markup(text), orders) for one in islice(some, _MOST)]
    if not found:
        return []
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return [_hidden(one, starts) for one in sorted(found)]


def _hidden(found: _Found, starts: list[int]) -> Hidden:
    line = bisect_right(starts, found.place)
    return Hidden(found.kind, line, found.place - starts[line - 1] + 1, found.shown)


def _excerpt(text: str) -> str:
    """The beginning of it, with nothing invisible left."""
    short = " ".join(text.split())
    written = re.sub(_INVISIBLE, lambda match: f"\\u{{{ord(match[0]):x}}}", neutral(short[:80]))
    return written + ("…" if len(short) > 80 else "")


_ZERO_WIDTH = "\u200b-\u200d\u2060\ufeff"
_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_TAGS = "\U000e0000-\U000e007f"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_OTHERS = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u2061-\u2065\u206a-\u206f\u2800\u3164\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
)
_INVISIBLE = f"[{_ZERO_WIDTH}{_BIDIRECTIONAL}{_TAGS}{_SELECTORS}{_OTHERS}]"
_KINDS = {
    "zero-width": f"[{_ZERO_WIDTH}]",
    "bidirectional": f"[{_BIDIRECTIONAL}]",
    "tag": f"[{_TAGS}]",
    "variation-selector": f"[{_SELECTORS}]",
    "invisible": f"[{_OTHERS}]",
}


def _characters(text: str) -> Iterator[_Found]:
    """Invisible characters that nothing needs: one finding for each kind in a run of them."""
    if text.isascii():
        return
    for match in re.finditer(f"{_INVISIBLE}+", text):
        if len(match[0]) < 8 and all(_is_needed(text, place) for place in range(*match.span())):
            continue
        for kind, members in _KINDS.items():
            if (some := "".join(re.findall(members, match[0]))) and not (kind == "tag" and _is_flag(text, match)):
                yield _Found(match.start(), kind, _described(some))


def _described(characters: str) -> str:
    """`U+200B ZERO WIDTH SPACE, 3 times`, or what tag characters and selectors spell."""
    import unicodedata

    spelt = _spelt(characters[:200])
    if spelt:
        return f"{len(characters)} characters from U+{ord(characters[0]):04X} on that spell “{_excerpt(spelt)}”"
    counted = {character: characters.count(character) for character in list(dict.fromkeys(characters[:200]))[:5]}
    return "; ".join(
        f"U+{ord(character):04X} {unicodedata.name(character, 'UNNAMED')}" + (f", {times} times" if times > 1 else "")
        for character, times in counted.items()
    )


def _spelt(characters: str) -> str:
    """What is written in characters that stand for bytes: tags for ASCII, selectors for all of them."""
    if re.fullmatch(f"[{_TAGS}]+", characters):
        return "".join(chr(ord(character) - 0xE0000) for character in characters if character > "\U000e001f")
    if len(characters) > 1 and re.fullmatch(f"[{_SELECTORS}]+", characters):
        data = bytes(_byte(ord(character)) for character in characters).decode("utf-8", "replace")
        return data if data.isprintable() and "\ufffd" not in data else ""
    return ""


def _byte(selector: int) -> int:
    return selector - 0xFE00 if selector < 0xE0000 else selector - 0xE0100 + 16


def _is_flag(text: str, match: re.Match[str]) -> bool:
    """England, Scotland and Wales are a black flag and tags."""
    spelt = "".join(chr(ord(character) - 0xE0000) for character in match[0] if character >= "\U000e0000")
    return text[match.start() - 1 : match.start()] == "\U0001f3f4" and spelt in ("gbeng\x7f", "gbsct\x7f", "gbwls\x7f")


# Scripts that join and part letters by invisible characters: Arabic and its neighbours, Indic, Myanmar, Khmer,
# Mongolian; and those written without blanks, where a zero-width space may part words.
_JOINING = "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua840-\ua8ff\uaa60-\uaa7f\ufb50-\ufdff\ufe70-\ufefc"
_WITHOUT_BLANKS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_HANGUL = "\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff"


def _is_needed(text: str, place: int) -> bool:
    """Whether an ordinary text has this character here: in an emoji, or in a script that needs it."""
    character, before, after = text[place], text[max(0, place - 1) : place], text[place + 1 : place + 2]
    if character == "\ufeff":
        return place == 0  # a byte order mark
    if "\u200c" <= character <= "\u200d" and re.match(f"[{_JOINING}]", before):
        return True
    if character == "\u200d":
        return _is_pictorial(before) and _is_pictorial(after)
    if character == "\u200b":
        return bool(re.match(f"[{_WITHOUT_BLANKS}]", before) or re.match(f"[{_WITHOUT_BLANKS}]", after))
    if character in "\u200e\u200f\u061c":
        return bool(re.search(f"[{_RIGHT_TO_LEFT}]", text[max(0, place - 40) : place + 40]))
    if re.match(f"[{_SELECTORS}]", character):
        return _selects(character, before)
    if character in "\u115f\u1160":
        return bool(re.match(f"[{_HANGUL}]", before + after))
    return "\u180b" <= character <= "\u180f" and "\u1800" <= before <= "\u18af"


def _is_pictorial(character: str) -> bool:
    import unicodedata

    return character == "\ufe0f" or unicodedata.category(character or " ") in ("So", "Sk", "Sm")


def _selects(selector: str, before: str) -> bool:
    """Whether a variation selector stands where one selects: after a symbol, a digit of a keycap or an ideograph."""
    import unicodedata

    category = unicodedata.category(before or " ")
    if selector in "\ufe0e\ufe0f":
        return category in ("So", "Sm", "Sk") or before in tuple("0123456789#*‼⁉〰〽ℹ")
    return category == "Lo" or (selector < "\ufe0e" and (category == "Sm" or before == "0"))


_CONTROL = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"


def _escapes(text: str) -> Iterator[_Found]:
    """Terminal escapes and other characters that act on a terminal."""
    if re.search(_CONTROL, text):
        for match in re.finditer(rf"(?:\x1b[\[\]()#PX^_]?|\x9b)[ -?]{{0,40}}+[@-~]?|{_CONTROL}+", text):
            yield _Found(match.start(), "escape" if match[0][0] in "\x1b\x9b" else "control", neutral(match[0][:40]))


def _markup(text: str) -> Iterator[_Found]:
    """What Markdown or HTML does not show, or runs. What stands in code is shown as it is."""
    if "<" not in text and "](" not in text and "]:" not in text:
        return
    fences = _fences(text)
    for found in (*_comments(text), *_hiding_tags(text), *_links(text)):
        if not _is_code(text, found.place, fences):
            yield found


def _comments(text: str) -> Iterator[_Found]:
    place = text.find("<!--")
    while place >= 0:
        end = text.find("-->", place)
        yield _Found(
            place, "html-comment", _excerpt(text[place : place + 400] if end < 0 else text[place : end + 3][:400])
        )
        place = text.find("<!--", end) if end >= 0 else -1


_HIDING = (
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}(?:hidden|collapse)|(?:font-size|opacity)\s{0,3}:\s{0,3}0*\.?0+(?![.\d])"
    r"|color\s{0,3}:\s{0,3}transparent|(?<=\s)hidden(?=[\s>=/]|$)"
)


def _hiding_tags(text: str) -> Iterator[_Found]:
    lower = text.lower()
    if not any(word in lower for word in ("none", "hidden", "collapse", "font-size", "opacity", "transparent")):
        return
    for match in re.finditer(r"<[A-Za-z][^<>]{4,1000}+", text):
        if re.search(_HIDING, match[0], re.IGNORECASE) and match[0][1:6].lower() != "input":
            yield _Found(match.start(), "hidden-style", _excerpt(match[0] + ">"))


# Where a link's target begins, if it may begin with one of the schemes below, written plainly or not.
_LINK = (
    r"(?:\]\([\s<]{0,10}|^ {0,3}\[[^\]\n]{1,200}+\]:[ \t<]{0,10}|<|(?:href|src|action)\s{0,5}=\s{0,5}[\"']?\s{0,10})"
    r"(?=[jvd&\x00-\x08\x0b\x0c\x0e-\x1f\u00ad\u200b-\u200f\u2060\ufeff])"
)
_PICTURE = r"data:image/(?:png|gif|jpe?g|webp|avif)[;,]"


def _links(text: str) -> Iterator[_Found]:
    """Links that run a script or carry a page; a picture in a `data:` link is a picture."""
    from html import unescape

    lower = text.lower()
    if text.isascii() and "script" not in lower and "data:" not in lower and "&" not in text:
        return
    for match in re.finditer(_LINK, text, re.IGNORECASE | re.MULTILINE):
        target = re.sub(
            r"[\x00-\x20\u00ad\u200b-\u200f\u2060\ufeff]", "", unescape(text[match.end() : match.end() + 200])
        ).lower()
        if target.startswith(("javascript:", "vbscript:")):
            yield _Found(match.end(), "script-link", _excerpt(text[match.end() : match.end() + 100]))
        elif re.match(r"data:[\w.+-]*/?[\w.+-]*[;,]", target) and not re.match(_PICTURE, target):
            yield _Found(match.end(), "data-link", _excerpt(text[match.end() : match.end() + 100]))


def _fences(text: str) -> list[tuple[int, int]]:
    """Where the fenced code blocks of Markdown are; one that is not closed reaches to the end."""
    fences: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for match in re.finditer(r"^ {0,3}(`{3,}+|~{3,}+)(.*)$", text, re.MULTILINE):
        if opened is None:
            opened = match
        elif match[1].startswith(opened[1]) and not match[2].strip():
            fences.append((opened.start(), match.end()))
            opened = None
    return [*fences, (opened.start(), len(text))] if opened else fences


def _is_code(text: str, place: int, fences: list[tuple[int, int]]) -> bool:
    index = bisect_right(fences, place, key=lambda fence: fence[0]) - 1
    if index >= 0 and place < fences[index][1]:
        return True
    before = text[max(0, place - 1_000) : place].rpartition("\n")[2]
    after = text[place : place + 1_000].partition("\n")[0]
    return before.count("`") % 2 == 1 and "`" in after
