"""Orders to the agent that reads a text, such as to ignore its instructions: found however they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_WHICH = "(?:all|any|every|each|the|your|my|our|these|those|this|that|of|and|other|its){0,5}"
_EARLIER = "(?:previous|prior|above|earlier|preceding|foregoing)"
_GIVEN = "(?:previous|prior|above|earlier|preceding|foregoing|former|existing|original|initial|system)"
_TOLD = "(?:instruction|prompt|directive|guidance)s?"
_IGNORE = (
    "(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|paynoattentionto"
    "|(?:donot|dont|stop|never)(?:follow|obey)(?:ing)?)"
)

# Matched on letters alone: blanks, marks and what is invisible may stand anywhere between them.
_ORDERS = "|".join(
    (
        f"{_IGNORE}{_WHICH}(?:{_GIVEN}(?:and|or)?){{1,3}}{_TOLD}",
        f"{_IGNORE}{_WHICH}{_TOLD}(?:above|before(?:this|that)|sofar|(?:yougot|youweregiven|youhavebeengiven|thatcamebefore))",
        f"(?:overrid(?:e|ing)|bypass(?:ing)?){_WHICH}{_EARLIER}{_TOLD}",
        f"(?:ignore|disregard|forget)(?:all|any|your|the){{1,3}}(?:{_EARLIER}|original|safety)"
        "(?:rule|guideline|constraint|restriction|programming|training)s?",
        "(?:ignore|disregard|forget)your(?:instructions|guidelines|programming|training|rules|systemprompt)",
        "(?:ignore|disregard|forget)(?:everything|anything|all)(?:above|before(?:this|that)|you(?:were|have|ve)(?:been)?told|isaid)",
        "youarenow(?:dan|jailbroken|unrestricted|anunrestricted|freefrom|in(?:developer|debug|god|admin|dan)mode)",
        "(?:reveal|print|show|repeat|output|leak|tell)(?:me|us)?(?:your|the)(?:hidden|initial|original|full|entire|secret){0,2}"
        "system(?:prompt|instructions)",
        "(?:donot|dont|never)(?:tell|inform|alert|notify)(?:the|your)(?:user|human|operator)s?(?:about(?:this|these)|thatyou|ofthis)",
        "ignorier(?:en|e)?(?:sie)?(?:alle|die|deine|ihre){0,3}(?:vorherigen|bisherigen|obigen|fruheren)(?:anweisungen|befehle)",
        "ignore[rz]?(?:toutes)?(?:les|vos|tes)(?:instructions|consignes)(?:precedentes|anterieures|cidessus)",
        "ignor(?:ar|a|e)(?:todas)?(?:las|tus|sus)?instrucciones(?:anteriores|previas)",
        "(?:忽略|无视)(?:之前|以上|先前|前面|上述|所有|的){1,4}(?:指令|指示|提示|说明)",
    )
)
_HINTS = (
    *("ignor", "disregard", "forget", "overrid", "bypass", "follow", "obey", "paynoattention", "youarenow"),
    *("systemprompt", "systeminstructions", "donottell", "donttell", "donotinform", "never", "alert", "notify"),
    *("忽略", "无视"),
)
_MARKERS = r"<\|(?:im_start|im_end|system|assistant|endoftext|eot_id|start_header_id)\|>|<<SYS>>|\[/?INST\]"

# What looks like a letter of ours, and that letter; all in small letters.
_ALIKE = (
    "аa еe оo рp сc уy хx іi јj ѕs ԁd һh ԛq ԝw ѵv ӏl кk мm тt вb нh гr пn зz οo αa εe ιi κk νv ρp τt υu ωw χx ηn "
    "ɡg ɑa ɩi ıi ոn ցg աw օo սu հh ᴀa ᴇe ᴏo ᴜu ɪi ɴn ʀr ɢg 0o 1i 3e 4a 5s @a $s |i !i"
)


def find_orders(text: str) -> Iterator[tuple[int, str]]:
    """Where an agent is told to drop its instructions, and in which words."""
    for match in re.finditer(_MARKERS, text) if "<" in text or "[" in text else ():
        yield match.start(), match[0]
    letters = _letters(text)
    if any(hint in letters for hint in _HINTS) and re.search(_ORDERS, letters):
        start = 0
        # An order is one sentence: "Errors we ignore. Previous instructions stay." is none.
        for end in [*(match.end() for match in re.finditer(r"[.!?]\s|\n[ \t]*+\n", text)), len(text)]:
            for first, last in _orders(text[start:end]):
                yield start + first, text[start + first : start + last + 1]
            start = end


def _orders(sentence: str) -> Iterator[tuple[int, int]]:
    letters = _letters(sentence)
    found = list(re.finditer(_ORDERS, letters))
    if found:
        places = [place for place, character in enumerate(sentence) for _ in _letters(character)]
        yield from ((places[match.start()], places[match.end() - 1]) for match in found)


def _letters(text: str) -> str:
    """The letters of a text, small, without accents, in our script where they look like it, and nothing between."""
    if text.isascii():
        return text.lower().translate(_to_letters())
    import unicodedata

    plain = unicodedata.normalize("NFKD", text).casefold().translate(_to_letters())
    return re.sub(r"[\W\d_]+", "", plain)


@cache
def _to_letters() -> dict[int, str | None]:
    others: dict[int, str | None] = {code: None for code in range(128) if not chr(code).isalpha()}
    return others | {ord(pair[0]): pair[1] for pair in _ALIKE.split()}
