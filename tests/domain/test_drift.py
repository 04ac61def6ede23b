"""How citations stand in a file that has changed: each state, what tells equal texts apart, and the bounds."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decapod_py.domain.anchors import Anchor, Cited, cited_text, comparable, digest_of, split_lines
from decapod_py.domain.drift import STATES, FileText, Sighting, diff_of, look, then_text, unified, worst
from decapod_py.domain.symbols import find_symbol

RUFF = Path(sys.executable).parent / "ruff"

SOURCE = """\
import time


class Client:
    def __init__(self, base):
        self.base = base
        self.session = None

    def retry(self, request, times=3):
        for attempt in range(times):
            try:
                return self.send(request)
            except TimeoutError:
                time.sleep(2**attempt)
        return None

    def send(self, request):
        if self.session is None:
            self.session = connect(self.base, timeout=10)
        return self.session.send(request)

    def close(self):
        if self.session is None:
            return None
        self.session.close()
        return None
"""


def anchored(text: str, first: int | None = None, last: int | None = None, path="a.py", name=None):
    lines = split_lines(text)
    if name is not None:
        first, last = find_symbol(path, text, name)
    begin, end = first or 1, last or len(lines)
    body = "\n".join(lines[begin - 1 : end])
    anchor = Anchor(path, first, last, name, None, None, digest_of(body), len(comparable(body)))
    return anchor, cited_text(lines, begin, end)


def state(then: str, now: str, first=None, last=None, path="a.py", name=None) -> str:
    return look(*anchored(then, first, last, path, name), path, now).state


def place(then: str, now: str, first: int, last: int, path="a.py") -> tuple[str, int | None, int | None]:
    return look(*anchored(then, first, last, path), path, now)[:3]


RETRY = (9, 15)


def test_an_unchanged_file_is_ok_wherever_it_is_cited():
    file = FileText(SOURCE)
    lines = split_lines(SOURCE)
    for first in range(1, len(lines) + 1):
        for last in range(first, len(lines) + 1):
            anchor, cited = anchored(SOURCE, first, last)
            assert look(anchor, cited, "a.py", file)[:3] == ("ok", first, last)


def test_what_is_cited_and_what_stands_there_come_with_the_sighting():
    text = "\n".join(SOURCE.split("\n")[8:15])
    assert look(*anchored(SOURCE, *RETRY), "a.py", SOURCE) == Sighting("ok", 9, 15, text)
    assert then_text(*anchored(SOURCE, *RETRY)) == text


@pytest.mark.parametrize(
    "now",
    [
        SOURCE.replace("\n", "\r\n"),
        SOURCE.replace("\n", "   \n"),
        SOURCE.replace("            try:\n", "\n\n            try:\n"),
        SOURCE.replace("self.session.close()", "self.session.stop()"),
        SOURCE + "\n\nmore = 1\n",
        "\n".join(f"    {line}" if line else "" for line in SOURCE.split("\n")),
    ],
)
def test_line_ends_blanks_indentation_and_edits_elsewhere_leave_it_ok(now):
    assert state(SOURCE, now, *RETRY) == "ok"


def test_lines_inserted_above_move_it():
    assert place(SOURCE, f"# a\n# b\n{SOURCE}", *RETRY) == ("moved", 11, 17)


def test_lines_deleted_above_move_it():
    assert place(SOURCE, SOURCE.replace("import time\n\n\n", ""), *RETRY) == ("moved", 6, 12)


def test_a_method_that_moved_down_the_file_is_found():
    lines = SOURCE.split("\n")
    now = "\n".join([*lines[:8], *lines[16:26], "", *lines[8:15], ""])
    assert place(SOURCE, now, *RETRY) == ("moved", 20, 26)


def test_a_block_that_was_indented_as_a_whole_is_the_same_block():
    now = SOURCE.replace(
        "        return self.session.send(request)\n",
        "        if True:\n            return self.session.send(request)\n",
    )
    assert place(SOURCE, now, 20, 20) == ("moved", 21, 21)


def test_relative_indentation_counts():
    now = SOURCE.replace("                time.sleep(2**attempt)", "            time.sleep(2**attempt)")
    assert state(SOURCE, now, *RETRY) == "changed"


def test_an_edit_is_a_change_and_shows_both_sides_with_their_line_numbers():
    now = "# new first line\n" + SOURCE.replace("2**attempt", "3**attempt")
    anchor, cited = anchored(SOURCE, *RETRY)
    seen = look(anchor, cited, "a.py", now)
    assert seen[:3] == ("changed", 10, 16)
    assert diff_of(anchor, cited, "a.py", seen) == (
        "--- a/a.py\n"
        "+++ b/a.py\n"
        "@@ -11,5 +12,5 @@\n"
        "             try:\n"
        "                 return self.send(request)\n"
        "             except TimeoutError:\n"
        "-                time.sleep(2**attempt)\n"
        "+                time.sleep(3**attempt)\n"
        "         return None"
    )


def test_deleted_lines_are_gone():
    lines = SOURCE.split("\n")
    now = "\n".join([*lines[:8], *lines[16:]])
    assert look(*anchored(SOURCE, *RETRY), "a.py", now) == Sighting("gone", None, None, None)


def test_a_deleted_section_is_not_taken_for_its_neighbour_that_reads_alike():
    def section(name: str, fruit: str, cause: str, count: int) -> str:
        return f"## The {name}\n\nEvery {fruit} has it, because of {cause}.\nIt never has more than {count}.\n\n"

    one, other = section("ribbon of silk", "bridge", "the island", 198), section("pepper", "falcon", "the meadow", 199)
    last = "## How to harvest\n\n- take the urchin to the pepper\n"
    assert state(one + other + last, one + last, 6, 9, "a.md") == "gone"


def test_what_began_its_file_is_gone_when_others_words_begin_it():
    first = "LIMITS = ['needle', 'harvest',\n    'ember', 'xenon']\n\n\n"
    then = first + SOURCE
    assert state(then, "def greet(window):\n    return window.dragon\n\n\n" + SOURCE, 1, 2) == "gone"
    assert state(then, first.replace("'ember'", "'basket'") + SOURCE, 1, 2) == "changed"


def test_lines_replaced_by_others_are_changed():
    lines = SOURCE.split("\n")
    now = "\n".join([*lines[:8], "    entirely = different", *lines[15:]])
    assert place(SOURCE, now, *RETRY) == ("changed", 9, 9)


def test_an_emptied_file_and_one_about_something_else_leave_nothing():
    assert state(SOURCE, "", *RETRY) == "gone"
    assert state(SOURCE, "The quick brown fox\njumps over\n", *RETRY) == "gone"


def test_words_that_stand_everywhere_do_not_make_a_text_the_cited_one():
    names = ["retry", "limit", "token", "batch", "queue", "lease", "owner", "timer"]
    lines = [f"    assert {name} >= {len(name)}{at}, '{name} must not be reset'" for at, name in enumerate(names)]
    text = "\n".join(["def check():", *lines, "    reset(token, batch)", "    return None"])
    for line in range(2, 10):
        left = [kept for at, kept in enumerate(text.split("\n"), 1) if abs(at - line) > 1]
        assert state(text, "\n".join(left), line, line) == "gone", line


def test_what_is_left_of_a_text_is_found_however_it_is_wrapped():
    then = ["a = 1", "window = split(ticket, 62)", "retry = reset(batch, limit=64, wait=True)", "lease = 65", "b = 2"]
    now = ["c = 3", "retry = reset(", "    batch,", "    limit=64,", "    wait=True,", ")", "lease = 65", "d = 7"]
    assert place("\n".join(then), "\n".join(now), 2, 4) == ("changed", 2, 7)


def test_an_edited_line_among_edited_lines_is_found_by_its_words():
    now = "x = 1\n\n" + SOURCE.replace("connect(self.base, timeout=10)", "connect(self.base, timeout=30)")
    now = now.replace("if self.session is None:", "if not self.session:").replace(
        "self.session.send", "self.session.post"
    )
    assert place(SOURCE, now, 19, 19) == ("changed", 21, 21)


@pytest.mark.parametrize("line", [15, 24, 26])
def test_a_line_that_stands_everywhere_is_told_by_the_lines_around_it(line):
    assert SOURCE.split("\n")[line - 1].strip() == "return None"
    assert place(SOURCE, f"a\nb\n{SOURCE}", line, line) == ("moved", line + 2, line + 2)


def test_a_common_line_that_was_deleted_is_not_taken_for_another_one():
    lines = SOURCE.split("\n")
    assert lines[14].strip() == lines[25].strip() == "return None"
    now = "\n".join([*lines[:14], *lines[15:]])
    assert state(SOURCE, now, 15, 15) == "gone"


def test_a_common_line_that_came_to_stand_at_the_old_place_is_not_the_cited_one():
    then = "def one():\n    a()\n    return None\n\ndef two():\n    b()\n    return None\n"
    now = "def zero():\n    z()\n    return None\n\n" + then
    assert place(then, now, 3, 3) == ("moved", 7, 7)


def test_a_common_line_whose_surroundings_were_reformatted_is_found():
    then = "def f():\n    call(one, 'two', three, four, five, six)\n    return None\n\n\ndef g():\n    return None\n"
    now = (
        "def f():\n    call(\n        one,\n        'two',\n        three,\n        four,\n        five,\n"
        "        six,\n    )\n    return None\n\n\ndef g():\n    return None\n"
    )
    assert place(then, now, 3, 3) == ("moved", 10, 10)


def test_of_two_equal_functions_the_one_with_its_neighbours_is_meant():
    block = "def same(value):\n    return value.strip().lower()\n"
    then = f"first = 1\nsecond = 2\n{block}third = 3\n\n{block}fourth = 4\n"
    now = f"{block}fourth = 4\n\nfirst = 1\nsecond = 2\n{block}third = 3\n"
    assert place(then, now, 3, 4) == ("moved", 7, 8)


def test_reformatted_lines_are_found_where_they_are_now():
    now = "x = 1\n" + SOURCE.replace(
        "connect(self.base, timeout=10)",
        "connect(\n                self.base,\n                timeout=10,\n            )",
    )
    assert place(SOURCE, now, 19, 19) == ("reformatted", 20, 23)
    assert place(SOURCE, now, 17, 20) == ("reformatted", 18, 24)


def test_a_token_more_is_not_layout_even_if_all_the_old_ones_are_there():
    assert state("a\nreturn x_long_enough_to_tell\nb\n", "a\nreturn x_long_enough_to_tell + 1\nb\n", 2, 2) == "changed"
    assert state("def f():\n    return first\n", "def f():\n    return first or second\n", 2, 2) == "changed"


def test_a_range_out_of_a_call_is_reformatted_with_what_is_around_it():
    then = "x = 1\nresult = call(alpha_value, beta_value,\n              gamma_value, delta_value)\ny = 2\n"
    now = "x = 1\nresult = call(\n    alpha_value,\n    beta_value,\n    gamma_value,\n    delta_value,\n)\ny = 2\n"
    assert place(then, now, 3, 3) == ("reformatted", 5, 7)
    joined = "x = 1\nresult = call(alpha_value, beta_value, gamma_value, delta_value)\ny = 2\n"
    assert place(then, joined, 3, 3) == ("reformatted", 2, 2)
    edited = joined.replace("gamma_value, ", "gamma_value, other, ")
    assert state(then, edited, 3, 3) == "changed"


def test_a_real_formatter_makes_nothing_changed():
    source = SOURCE.replace('"', "'").replace("timeout=10)", "timeout = 10,retries={'a':1,'b':2},verify=True)")
    command = [RUFF, "format", "--isolated", "--line-length", "40", "--stdin-filename", "a.py", "-"]
    now = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    assert now != source
    file = FileText(now)
    lines = split_lines(source)
    for first in range(1, len(lines) + 1):
        for last in range(first, len(lines) + 1):
            if any(lines[first - 1 : last]):
                seen = look(*anchored(source, first, last), "a.py", file)
                assert seen.state in ("ok", "moved", "reformatted"), (first, last, seen)


def test_a_whole_file_is_ok_reformatted_or_changed():
    assert state(SOURCE, SOURCE.replace("\n", "\r\n")) == "ok"
    assert state(SOURCE, SOURCE.replace("timeout=10", "timeout = 10")) == "reformatted"
    assert state(SOURCE, SOURCE.replace("timeout=10", "timeout=11")) == "changed"
    assert look(*anchored(SOURCE), "a.py", "x = 1\n") == Sighting("changed", None, None, "x = 1\n")
    assert state("", "") == "ok"


def test_a_long_file_of_which_only_the_head_was_kept_is_not_called_reformatted():
    then = "".join(f"value_{number} = f({number}, 'a')\n" for number in range(200))
    now = then.replace("'", '"')
    assert state(then, now) == "changed"
    assert state(then, then) == "ok"


def test_a_long_range_is_found_by_its_head_and_confirmed_by_its_digest():
    then = "".join(f"value_{number} = f({number}, 'a')\n" for number in range(300))
    assert place(then, "x = 1\n" + then, 11, 250) == ("moved", 12, 251)
    assert state(then, "x = 1\n" + then.replace("f(200", "f(201"), 11, 250) == "changed"
    seen = look(*anchored(then, 11, 250), "a.py", then.replace("f(12", "f(13"))
    diff = diff_of(*anchored(then, 11, 250), "a.py", seen)
    assert diff is not None
    assert diff.endswith("… only the first 80 lines of what was cited are known")


def test_a_line_longer_than_what_is_kept_of_it_is_found():
    long = "x = [" + ", ".join(map(str, range(5_000))) + "]"
    assert place(f"a = 1\n{long}\nb = 2\n", f"new = 0\n\na = 1\n{long}\nb = 2\n", 2, 2) == ("moved", 4, 4)
    assert state(f"a = 1\n{long}\nb = 2\n", f"a = 1\n{long[:-3]}]\nb = 2\n", 2, 2) == "changed"


def test_a_symbol_is_ok_wherever_it_stands():
    now = "# comment\n\n" + SOURCE
    assert look(*anchored(SOURCE, name="Client.retry"), "a.py", now)[:3] == ("ok", 11, 17)


def test_a_symbol_is_reformatted_changed_moved_or_gone():
    retry = {"name": "Client.retry"}
    assert state(SOURCE, SOURCE.replace("request, times=3", "request,times = 3"), **retry) == "reformatted"
    assert state(SOURCE, SOURCE.replace("2**attempt", "attempt"), **retry) == "changed"
    assert state(SOURCE, SOURCE.replace("class Client", "class Connection"), **retry) == "moved"
    assert state(SOURCE, SOURCE.replace("def retry", "def again"), **retry) == "gone"
    assert state(SOURCE, "", **retry) == "gone"


def test_a_symbol_of_a_file_that_does_not_parse_now_is_looked_for_by_its_lines():
    broken = "def (:\n" + SOURCE
    assert look(*anchored(SOURCE, name="Client.retry"), "a.py", broken)[:3] == ("ok", 10, 16)
    assert state(SOURCE, broken.replace("2**attempt", "attempt"), name="Client.retry") == "changed"


def test_a_symbol_whose_file_has_another_kind_of_name_now_is_looked_for_by_its_lines():
    assert look(*anchored(SOURCE, name="Client.retry"), "notes.txt", "x\n" + SOURCE)[:3] == ("moved", 10, 16)


def test_a_heading_is_its_section():
    then = (
        "# Title\n\n## Retries\n\nRequests that fail are retried three times\nwith a growing pause.\n\n## Other\n\nx\n"
    )
    cited = {"path": "a.md", "name": "retries"}
    assert state(then, "# New\n\n" + then, **cited) == "ok"
    rewrapped = then.replace("retried three times\nwith a", "retried\nthree times with a")
    assert state(then, rewrapped, **cited) == "reformatted"
    assert state(then, then.replace("three", "four"), **cited) == "changed"
    assert state(then, then.replace("## Retries", "## Repeats"), **cited) == "gone"


def test_a_redacted_text_is_known_by_its_digest_alone():
    anchor, _ = anchored(SOURCE, *RETRY)
    assert look(anchor, None, "a.py", SOURCE)[:3] == ("ok", 9, 15)
    assert look(anchor, None, "a.py", "x = 1\n" + SOURCE)[:3] == ("moved", 10, 16)
    assert look(anchor, None, "a.py", SOURCE.replace("2**attempt", "1"))[:3] == ("changed", 9, 15)
    assert look(anchor, None, "a.py", "x\n") == Sighting("gone", None, None, None)
    assert then_text(anchor, None) is diff_of(anchor, None, "a.py", Sighting("gone", None, None, None)) is None


def test_empty_lines_that_were_cited_along_move_along():
    then = "a_name_that_tells = 1\n\nb_name_that_tells = 2\n\nc = 3\n"
    assert place(then, "x\n" + then, 2, 4) == ("moved", 3, 5)
    assert place(then, "x\n" + then.replace("\n\n", "\n"), 2, 4) == ("ok", 3, 3)


def test_the_worst_state_speaks_for_all():
    assert worst(["ok", "moved", "changed"]) == "changed"
    assert worst(["ok", "reformatted"]) == "reformatted"
    assert worst(reversed(STATES)) == "gone"
    assert worst([]) is None


def test_a_diff_is_bounded_and_says_so():
    then = "\n".join(f"line {number}" for number in range(1_000))
    now = "\n".join(f"other {number}" for number in range(1_000))
    shown = unified(then, now, "a\nb.py", 11, 21).split("\n")
    assert len(shown) == 201
    assert shown[2] == "@@ -11,400 +21,400 @@"
    assert shown[-1].startswith("… 1803 more lines")
    assert len(unified("x" * 5_000_000, "y" * 5_000_000, "a", 1, 1)) < 2_000


def test_a_diff_of_nothing_names_the_line_before():
    assert unified("a\n", "", "f", 5, 5) == "--- a/f\n+++ b/f\n@@ -5 +4,0 @@\n-a"
    assert unified("a\n", "a\n", "f", 1, 1) == "--- a/f\n+++ b/f"


def big_file() -> str:
    chance = random.Random(7)
    words = [f"word{number}" for number in range(2_000)]
    line = "{}{} = {}({}, {})"
    return "".join(
        line.format("    " * chance.randrange(3), *chance.choices(words, k=3), number % 97)
        + "\n" * chance.randrange(1, 3)
        for number in range(5_000)
    )


@pytest.mark.parametrize(
    ("edit", "limit"),
    [
        (lambda text: text, 0.25),
        (lambda text: "x = 1\n" * 10 + text, 0.5),
        (lambda text: text.replace(" = ", "="), 2.0),
        (lambda text: text.replace("word1", "other1"), 2.0),
    ],
)
def test_a_hundred_citations_of_a_large_file_are_quickly_looked_for(edit, limit):
    then = big_file()
    chance = random.Random(8)
    citations = [anchored(then, first, first + chance.randrange(30)) for first in chance.sample(range(1, 4_900), 100)]
    now = edit(then)
    started = time.perf_counter()
    file = FileText(now)
    for anchor, cited in citations:
        look(anchor, cited, "a.py", file)
    assert time.perf_counter() - started < limit


BRACES = "}\n" * 100_000
LINE = "x = [" + ", ".join(f"a{number % 1_000}" for number in range(850_000)) + "]\n"
PAIRS = "def foo(a,b):\n  return a+b\n" * 50_000


@pytest.mark.parametrize(
    ("then", "first", "last", "now"),
    [
        (BRACES, 50_000, 50_000, BRACES[:-6]),
        (BRACES, 50_000, 50_060, BRACES[:60_000]),
        (BRACES, 20_000, 80_000, BRACES[:-6]),
        (BRACES, 20_000, 20_070, "{\n" * 100_000),
        (BRACES, 20_000, 20_070, "".join(" " * (number % 7) + "}\n" for number in range(100_000))),
        ("foo\n" + BRACES, 1, 60, BRACES),
        (LINE, 1, 1, "y\n" + LINE),
        (LINE, 1, 1, LINE.replace("a77,", "b77,", 1)),
        ("def foo(a,b):\n  return a+b\n", 1, 2, LINE),
        (PAIRS, 40_001, 40_002, "x\n" + PAIRS),
        (PAIRS, 40_001, 40_002, PAIRS.replace("a+b", "a-b")),
        (PAIRS, 40_001, 40_002, PAIRS.replace("a+b", "a + b")),
        ("x = 1\n" + "(" * 3_000, 1, 2, "(" * 100_000 + "\nx = 2"),
        ("'" * 3_000, 1, 1, "'" * 100_000),
        ("a " * 1_900, 1, 1, "a " * 500_000),
    ],
)
@pytest.mark.parametrize("kind", ["py", "js"])
def test_no_file_makes_it_slow(then, first, last, now, kind):
    anchor, cited = anchored(then, first, last, f"a.{kind}")
    started = time.perf_counter()
    look(anchor, cited, f"a.{kind}", now)
    assert time.perf_counter() - started < 4


NAMES = st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"])
LINES = st.lists(
    st.one_of(
        st.builds(
            "{0}{1} = {2}({3})".format, st.sampled_from(["", "    ", "        "]), NAMES, NAMES, st.integers(0, 9_999)
        ),
        st.sampled_from(["", "    return None", "}", "else:", "    pass"]),
    ),
    min_size=3,
    max_size=30,
)
RANGES = st.tuples(st.integers(0, 1_000), st.integers(0, 8))
KINDS = st.sampled_from(["py", "js", "md", "txt", "yaml", "c"])


def text_of(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def span(lines: list[str], where: tuple[int, int]) -> tuple[int, int]:
    first = where[0] % len(lines) + 1
    return first, min(first + where[1], len(lines))


def stands_in(block: list[str], lines: list[str]) -> bool:
    """Whether the very same text is somewhere, by comparing every window the slow way."""
    wanted = comparable("\n".join(block))
    solid = [line for line in lines if line.strip()]
    windows = (solid[at : at + len(wanted)] for at in range(len(solid) - len(wanted) + 1))
    return any(comparable("\n".join(window)) == wanted for window in windows)


@given(LINES, RANGES, st.integers(1, 20), KINDS)
def test_text_inserted_above_moves_a_citation_by_exactly_that(lines, where, added, kind):
    first, last = span(lines, where)
    anchor, cited = anchored(text_of(lines), first, last, f"a.{kind}")
    now = [*(f"new_{number} = 1" for number in range(added)), *lines]
    seen = look(anchor, cited, f"a.{kind}", text_of(now))
    if anchor.lines:
        assert comparable(seen.now or "") == comparable("\n".join(lines[first - 1 : last]))
        assert seen.state in ("ok", "moved")
        # With an empty line at an end the old range may hold the text still; an equal text may be as good.
        unique = not stands_in(lines[first - 1 : last], [*now[: first + added - 1], *now[last + added :]])
        if unique and lines[first - 1] and lines[last - 1]:
            assert seen[:3] == ("moved", first + added, last + added)


@given(LINES, RANGES, KINDS)
def test_deleted_lines_are_never_ok(lines, where, kind):
    first, last = span(lines, where)
    anchor, cited = anchored(text_of(lines), first, last, f"a.{kind}")
    left = [*lines[: first - 1], *lines[last:]]
    if anchor.lines and not stands_in(lines[first - 1 : last], left):
        assert look(anchor, cited, f"a.{kind}", text_of(left)).state in ("gone", "changed")


@given(LINES, RANGES, KINDS)
def test_an_indented_block_is_the_same_block(lines, where, kind):
    first, last = span(lines, where)
    anchor, cited = anchored(text_of(lines), first, last, f"a.{kind}")
    now = [f"    {line}" if first <= number <= last else line for number, line in enumerate(lines, 1)]
    assert not anchor.lines or look(anchor, cited, f"a.{kind}", text_of(now)).state in ("ok", "moved")


@given(LINES, RANGES, st.integers(0, 100), KINDS)
def test_an_edited_word_is_never_overlooked(lines, where, which, kind):
    first, last = span(lines, where)
    anchor, cited = anchored(text_of(lines), first, last, f"a.{kind}")
    words = [number for number in range(first, last + 1) if "(" in lines[number - 1]]
    if not words:
        return
    line = words[which % len(words)]
    now = [text.replace("(", "x(") if number == line else text for number, text in enumerate(lines, 1)]
    if not stands_in(lines[first - 1 : last], now):
        seen = look(anchor, cited, f"a.{kind}", text_of(now))
        assert seen.state in ("changed", "gone")


@given(LINES, RANGES, KINDS, st.sampled_from(["\r\n", "\r", "  \n", "\n\n", "\t \n"]))
def test_line_ends_trailing_blanks_and_empty_lines_are_no_drift(lines, where, kind, ending):
    first, last = span(lines, where)
    anchor, cited = anchored(text_of(lines), first, last, f"a.{kind}")
    seen = look(anchor, cited, f"a.{kind}", text_of(lines).replace("\n", ending))
    if not anchor.lines:
        return
    if ending == "\n\n":
        assert seen.state in ("ok", "moved")
        assert comparable(seen.now or "") == comparable("\n".join(lines[first - 1 : last]))
    else:
        assert seen[:3] == ("ok", first, last)


@given(LINES, RANGES, st.integers(0, 100), KINDS)
def test_empty_lines_inside_of_a_citation_leave_it_ok(lines, where, which, kind):
    first, last = span(lines, where)
    anchor, cited = anchored(text_of(lines), first, last, f"a.{kind}")
    at = first + which % (last - first + 1)
    now = [*lines[:at], "", *lines[at:]]
    if lines[first - 1] and anchor.lines:
        assert look(anchor, cited, f"a.{kind}", text_of(now)).state == "ok"


ANY_LINE = st.one_of(st.none(), st.integers(1, 60), st.just(2**31 - 1))


@given(
    st.builds(
        Anchor,
        st.just("a.py"),
        ANY_LINE,
        ANY_LINE,
        st.one_of(st.none(), st.text(max_size=5), st.just("f")),
        st.none(),
        st.none(),
        st.one_of(st.just(digest_of("")), st.just("bytes:0"), st.text(max_size=5), st.just(digest_of("a\nb"))),
        st.integers(0, 50),
    ),
    st.one_of(st.none(), st.builds(Cited, *[st.text(st.sampled_from("ab\n }()'\"#\r\t\0\x0c"), max_size=30)] * 3)),
    st.sampled_from(["a.py", "a.md", "a.js", "", "a", "a.txt", "x/.py"]),
    st.text(st.sampled_from("ab\n }()'\"#\r\t\0\x0c\u2028\ud800"), max_size=60),
)
@settings(max_examples=400)
def test_no_anchor_and_no_text_make_it_fail(anchor, cited, path, text):
    seen = look(anchor, cited, path, text)
    assert seen.state in ("ok", "moved", "reformatted", "changed", "gone")
    diff_of(anchor, cited, path, seen)
    if seen.first is not None:
        assert seen.last is not None and 1 <= seen.first <= seen.last
