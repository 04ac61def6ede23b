"""Times are whole milliseconds since 1970 inside, RFC 3339 UTC outside."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import lru_cache

from decapod_py.foundation.errors import Misused

Clock = Callable[[], int]
DAY = 86_400_000
LATEST = 253_402_300_799_999  # the last millisecond of year 9999
_LONGEST = 365_000 * DAY  # of a duration, so that what it leads to is a time we can write
_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": DAY, "w": 7 * DAY}
_HINT = "give RFC 3339 (2026-03-01T12:00:00Z), a date, or epoch seconds with Z (1767225600Z)"


def system_clock() -> int:
    return time.time_ns() // 1_000_000


def format_time(milliseconds: int) -> str:
    """RFC 3339 in UTC with milliseconds."""
    day, rest = divmod(milliseconds, DAY)
    seconds = rest // 1_000
    return f"{_date(day)}T{seconds // 3_600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest % 1_000:03}Z"


@lru_cache(maxsize=1_000)
def _date(day: int) -> str:
    moment = time.gmtime(day * 86_400)
    return f"{moment[0]:04}-{moment[1]:02}-{moment[2]:02}"


def parse_time(text: str) -> int:
    """Reads RFC 3339, a plain date (midnight UTC) or epoch seconds with one Z."""
    as_written_here = _parse_own_form(text)
    if as_written_here is not None:
        return as_written_here
    text = text.strip()
    if re.fullmatch(r"\d{1,12}Z", text, re.ASCII):
        milliseconds = int(text[:-1]) * 1000
    else:
        milliseconds = _parse_rfc3339(text)
    if not 0 <= milliseconds <= LATEST:
        raise Misused("bad-time", f"the time {text!r} is outside the years 1970 to 9999", _HINT)
    return milliseconds


@lru_cache(maxsize=1_000)  # an event says its own moment up to three times
def _parse_own_form(text: str) -> int | None:
    """The form `format_time` gives, which every event has: in a quarter of the time the general reading takes."""
    if len(text) != 24 or text[10] != "T" or text[13] + text[16] + text[19] + text[23] != "::.Z":
        return None
    digits = text[11:13] + text[14:16] + text[17:19] + text[20:23]
    if not (digits.isascii() and digits.isdigit()):
        return None
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:6])
    midnight = _midnight(text[:10])
    if midnight is None or hours > 23 or minutes > 59 or seconds > 59:
        return None
    return midnight + hours * 3_600_000 + minutes * 60_000 + seconds * 1_000 + int(digits[6:])


@lru_cache(maxsize=1_000)
def _midnight(date: str) -> int | None:
    try:
        milliseconds = _parse_rfc3339(date)
    except Misused:
        return None
    return milliseconds if milliseconds >= 0 else None


def _parse_rfc3339(text: str) -> int:
    from datetime import UTC, datetime, timedelta

    if not re.fullmatch(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d))?", text, re.ASCII):
        raise Misused("bad-time", f"{text!r} is not a time", _HINT)
    fraction = re.search(r"\.(\d+)", text)
    plain = re.sub(r"\.\d+", "", text).upper()
    try:
        moment = datetime.fromisoformat(plain)
    except ValueError as problem:
        raise Misused("bad-time", f"{text!r} is not a time: {problem}", _HINT) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    whole = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return whole + int((fraction[1] + "000")[:3] if fraction else 0)


def parse_duration(text: str) -> int:
    """Reads `30d`, `12h`, `90m`, `45s`, `2w` as milliseconds."""
    match = re.fullmatch(r"(\d{1,6})([smhdw])", text.strip(), re.ASCII)
    if not match:
        raise Misused("bad-duration", f"{text!r} is not a duration", "write a number and s, m, h, d or w, such as 30d")
    milliseconds = int(match[1]) * _UNITS[match[2]]
    if milliseconds > _LONGEST:
        raise Misused("bad-duration", f"{text!r} is longer than a thousand years", "leave the expiry out")
    return milliseconds


def parse_moment(text: str, now: int) -> int:
    """A time, or a duration counted from now."""
    if re.fullmatch(r"\d{1,6}[smhdw]", text.strip(), re.ASCII):
        return now + parse_duration(text)
    return parse_time(text)
