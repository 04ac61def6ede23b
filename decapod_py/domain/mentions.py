"""Mentions: the paths, lines, symbols and commands that a document names, each with the line it stands on.

A mention is what is meant as a name: in backticks, as the target of a link, in a block of shell or a drawn tree of
folders, or a word with a slash and an extension. Placeholders, globs, other hosts and sentences about the past are
none. Whether a mention is true is another question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from decapod_py.domain.anchors import split_lines
from decapod_py.domain.documents import is_past_heading
from decapod_py.domain.named import Mention, as_path, as_symbol, has_file_extension, is_bare, words_of
from decapod_py.domain.shell import Line, is_command, mentions_in_line, mentions_in_shell

_LONGEST_LINE = 20_000  # beyond that it is data, and nobody's sentence
_FENCE = re.compile(r"[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})\s*\{?\.?([\w+#-]*)(.*)")
_SHELLS = words_of("sh bash shell console zsh shell-session sh-session shellsession terminal fish cmd")
_UNSAID = frozenset({"", "text", "txt", "plaintext", "none", "tree"})
_NAMES = re.compile(r"`[^`]*`|\]\([^()]*\)|\S*/\S*")
_MAY_MENTION = re.compile(r"[`/]|\]\(|\]:|=\s*[\"']|::")
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*)")
_UNDERLINE = re.compile(r"\s{0,3}(=+|-{3,}|~{3,}|\^{3,})\s*")
_DIRECTIVE = re.compile(r"(\s*)\.\.\s+(code-block|code|sourcecode|prompt)::\s*([\w-]*)")
_VERSION_NOTE = re.compile(r"(\s*)\.\.\s+(?:versionadded|versionchanged|versionremoved|deprecated(?:-removed)?)::")
_RST_TARGET = re.compile(r"\s*\.\.\s+(?:literalinclude|include|image|figure)::\s*(\S+)")
_RST_LINK = re.compile(r"(?:[^`<>]*<)([^<>`]+)>")
_LINK = re.compile(r"\]\(\s*(<[^<>]*>|[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)")
_LINK_DEFINITION = re.compile(r" {0,3}\[[^\]]{1,200}\]:\s+(<[^<>]*>|\S+)")
_ATTRIBUTE = re.compile(r"""\b(?:src|href)\s*=\s*["']([^"'<>]{1,300})["']""", re.IGNORECASE)
_ADDRESS = re.compile(r"\w+://\S*|www\.\S*")
_STRUCK = re.compile(r"~~[^~]*~~|<(del|s)>[^<]*</\1>", re.IGNORECASE)
_BEFORE, _AFTER = "([{\"'*_“‘«|", ")]},.;:!?\"'*_”’»|"
_TREE = re.compile(r"^([\s│|]*)(?:├|└|\+)[─-]+\s*(\S.*)")
_STARTS_ANEW = re.compile(r"\s*(?:[-*+]\s|\d+[.)]\s|\||#|>|$|`{3}|~{3})")
_PAST = re.compile(
    r"\b(?:removed|renamed|deleted|deprecated|formerly|previously|no longer|obsolete|superseded|replaced|dropped"
    r"|retired|moved (?:to|from|into|out)|migrated|legacy|historical(?:ly)?|in the past|once (?:was|had|lived)"
    r"|was split|(?:does|do|did) not exist|doesn't exist|don't exist|gone|originally|until (?:version|v?\d)|before v?\d"
    r"|old (?:name|file|path|layout|location|version)|(?<!is )(?<!are )(?<!be )(?<!been )(?<!was )used to)\b",
    re.IGNORECASE,
)
_NOT_HERE = re.compile(
    r"\b(?:hypothetical|imagin\w+|suppose|todo|planned|not yet|will be (?:written|added|made)|upstream)\b",
    re.IGNORECASE,
)
# Files that the reader has or is to make, or that a tool makes, need not be here.
_MADE_OR_YOURS = re.compile(
    r"\b(?:your|creat(?:es?|ed|ing)|generat(?:es?|ed|ing)|writes?|saves?|produces?|outputs?)\b\W*(?:[\w'’-]+\W+){0,3}$",
    re.IGNORECASE,
)
_IN_YOURS = re.compile(r"\W*(?:[\w'’-]+\W+){0,2}(?:in|to|of|from|into|at) (?:the \w+ of )?your\b", re.IGNORECASE)
_ANYBODYS = re.compile(r"\b(?:e\.g\.|for example|for instance|such as|named|called|a|an|any)\W*$", re.IGNORECASE)


def mentions_in(text: str, *, rst: bool = False) -> list[Mention]:
    """Every mention of a Markdown document, or of one in reStructuredText, in the order they stand."""
    reader = _Reader(text, rst)
    found: dict[tuple[int, str, tuple[str, ...]], Mention] = {}
    for mention in reader.read():
        found.setdefault((mention.line, mention.kind, mention.names), mention)
    return [mention for mention in found.values() if reader.elsewhere.isdisjoint(mention.names)]


class _Reader:
    """Walks through a document once; knows in which block and under which heading it is."""

    def __init__(self, text: str, rst: bool) -> None:
        self.lines = split_lines(text)
        self.rst = rst
        self.past = 0  # the level of the heading that began a section about the past; 0 outside of one
        self.commented = False
        self.elsewhere: set[str] = set()  # paths that the reader has or is to make: not ours wherever they stand

    def read(self) -> Iterator[Mention]:
        index = self._after_front_matter()
        while index < len(self.lines):
            line = self.lines[index]
            note = _VERSION_NOTE.match(line) if self.rst else None
            if note:  # tells what came, changed or went when: the past
                index = self._end_of_indented(index + 1, len(note[1]))
                continue
            block = self._block_at(index)
            if block:
                language, begin, end, index = block
                if not self.past and not self.commented:
                    inside = [(number + 1, self.lines[number]) for number in range(begin, end)]
                    yield from _mentions_in_block(language, inside)
                continue
            self._notice_heading(index)
            shown = self._uncommented(line) if len(line) <= _LONGEST_LINE else ""
            if shown.strip() and not self.past:
                yield from self._mentions_in_prose(index, shown)
            index += 1

    def _after_front_matter(self) -> int:
        if self.lines[:1] != ["---"]:
            return 0
        ends = (index for index, line in enumerate(self.lines[1:200], 1) if line.rstrip() in ("---", "..."))
        return next(ends, -1) + 1

    def _block_at(self, index: int) -> tuple[str, int, int, int] | None:
        """The language, first and last line of a code block that begins here, and where to go on."""
        line = self.lines[index][:400]
        directive = _DIRECTIVE.match(line) if self.rst else None
        if directive:
            end = self._end_of_indented(index + 1, len(directive[1]))
            return directive[3].lower(), index + 1, end, end
        fence = _FENCE.match(line)
        if not fence or (fence[1][0] == "`" and "`" in fence[3]):
            return None
        closing = re.compile(rf"[\s>]*{re.escape(fence[1])}{re.escape(fence[1][0])}*\s*")
        end = index + 1
        while end < len(self.lines) and not closing.fullmatch(self.lines[end][:400]):
            end += 1
        return fence[2].lower(), index + 1, end, end + 1

    def _end_of_indented(self, index: int, indent: int) -> int:
        while index < len(self.lines):
            line = self.lines[index]
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            index += 1
        return index

    def _notice_heading(self, index: int) -> None:
        line = self.lines[index][:400]
        heading = _HEADING.match(line)
        level, title = (len(heading[1]), heading[2]) if heading else (0, line)
        if not heading and index + 1 < len(self.lines) and line.strip():
            under = _UNDERLINE.fullmatch(self.lines[index + 1][:400])
            level = (1 if under[1][0] == "=" else 2) if under and not _STARTS_ANEW.match(line) else 0
        if level and (not self.past or level <= self.past):
            self.past = level if is_past_heading(title) else 0

    def _uncommented(self, line: str) -> str:
        """The line without what stands in `<!-- -->`."""
        shown = []
        while line:
            before, mark, line = line.partition("-->" if self.commented else "<!--")
            if not self.commented:
                shown.append(before)
            if mark:
                self.commented = not self.commented
        return "".join(shown)

    def _mentions_in_prose(self, index: int, line: str) -> Iterator[Mention]:
        if not _MAY_MENTION.search(line):
            return
        found = [*_mentions_in_line(_STRUCK.sub("", line), index + 1, self.rst, self.elsewhere)]
        sentence = self._sentence(index, line) if found else ""
        if not _PAST.search(sentence) and not _NOT_HERE.search(sentence):
            yield from found

    def _sentence(self, index: int, line: str) -> str:
        """The words of the line, and of its sentences that go on in the lines around it; names say nothing here."""
        before = after = ""
        if index and not _STARTS_ANEW.match(line):
            before = self.lines[index - 1][-_LONGEST_LINE:].rpartition(". ")[2]
            before = "" if before.rstrip().endswith((".", ":")) else before
        if index + 1 < len(self.lines) and not line.rstrip().endswith("."):
            following = self.lines[index + 1][:_LONGEST_LINE]
            after = "" if _STARTS_ANEW.match(following) else re.split(r"\.(?:\s|$)", following, maxsplit=1)[0]
        return _NAMES.sub(" ", f"{before} {line} {after}")


def _mentions_in_block(language: str, lines: list[Line]) -> Iterator[Mention]:
    """What a code block names: commands, or a drawn tree. Other languages show what somebody else's files hold."""
    lines = [(number, text) for number, text in lines if len(text) <= _LONGEST_LINE]
    if language in _SHELLS:
        yield from mentions_in_shell(lines, said=True)
    elif language in _UNSAID:
        if any(_TREE.match(text) for _, text in lines):
            yield from _mentions_in_tree(lines)
        else:
            yield from mentions_in_shell(lines, said=False)


def _mentions_in_tree(lines: list[Line]) -> Iterator[Mention]:
    """The paths of a tree drawn with lines, put together from their depth; the first line may name the top."""
    top, above = "", list[tuple[int, str]]()
    for number, text in lines:
        drawn = _TREE.match(text)
        if not drawn:
            word = text.split("#")[0].strip()
            top, above = (word.strip("/") if word.endswith("/") or not top else top), []
            continue
        name = re.split(r"\s+(?:#|<-|←|--|—|-|\()|\s{2,}", drawn[2], maxsplit=1)[0].strip()
        above = [(depth, folder) for depth, folder in above if depth < len(drawn[1])]
        path = "/".join([*(folder for _, folder in above), name.rstrip("/")])
        above.append((len(drawn[1]), name.strip("/")))
        if _PAST.search(drawn[2].removeprefix(name)) or not as_path(f"./{path}") or " " in name:
            continue
        names = (path,) if top in ("", ".") else (f"{top}/{path}", path)
        yield Mention(number, "path", name, names, tree=lines[0][0])


class _Span(NamedTuple):
    """A piece of code in a sentence, with a little of what surrounds it."""

    code: str
    before: str
    after: str


def _mentions_in_line(line: str, number: int, rst: bool, elsewhere: set[str]) -> Iterator[Mention]:
    rest, spans = _spans(line)
    for span in spans:
        yield from _mentions_in_span(span, number, rst, elsewhere)
    for target in _targets(line if rst else rest, rst):
        yield from _mention_of_link(target, number)
    for word in _ADDRESS.sub(" ", _LINK.sub(" ", rest)).split():
        word = word.lstrip(_BEFORE).rstrip(_AFTER).removeprefix("@")
        if "/" in word and has_file_extension(re.split(r"[:#]", word, maxsplit=1)[0]):
            yield from _mention_of_path(word, number)


def _spans(line: str) -> tuple[str, list[_Span]]:
    """The line without its code, and the code.

    A span ends at the next run of as many backticks. Runs are found once, so that a hostile line costs no more than
    any other of its length.
    """
    runs = [(match.start(), match.end()) for match in re.finditer("`+", line)]
    later: dict[int, list[int]] = {}
    for place in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[place][1] - runs[place][0], []).append(place)
    rest, spans, position, place = list[str](), list[_Span](), 0, 0
    while place < len(runs):
        begin, end = runs[place]
        same = later[end - begin]
        while same and same[-1] <= place:
            same.pop()
        if not same:
            place += 1
            continue
        closing = same.pop()
        rest.append(line[position:begin])
        position = runs[closing][1]
        code = line[end : runs[closing][0]].strip()
        spans.append(_Span(code, line[max(0, begin - 60) : begin], line[position : position + 60]))
        place = closing + 1
    return " ".join([*rest, line[position:]]), spans


def _mentions_in_span(span: _Span, number: int, rst: bool, elsewhere: set[str]) -> Iterator[Mention]:
    code = span.code
    if rst and code.endswith(">") and (target := _RST_LINK.fullmatch(code)):
        code = target[1].strip()
    found = as_path(code, blanks=True)
    if is_command(code) and " " in code:
        yield from mentions_in_line(code, number)
    elif found:
        if _MADE_OR_YOURS.search(span.before) or _IN_YOURS.match(span.after):
            elsewhere.add(found[0])
        elif not (is_bare(found[0]) and _ANYBODYS.search(span.before)):
            yield from _mention_of_path(code, number)
    elif symbol := as_symbol(code):
        yield Mention(number, "symbol", code, symbol)


def _mention_of_path(text: str, number: int) -> Iterator[Mention]:
    found = as_path(text, blanks=True)
    if found:
        path, at = found
        yield Mention(number, "path" if at is None else "line", text, (path,), at)


def _targets(line: str, rst: bool) -> Iterator[str]:
    for pattern in (_LINK, _LINK_DEFINITION, _ATTRIBUTE):
        yield from (match[1].strip("<>") for match in pattern.finditer(line))
    if rst:
        found = _RST_TARGET.match(line)
        if found:
            yield found[1]


def _mention_of_link(target: str, number: int) -> Iterator[Mention]:
    """A link names a path from the document's folder; what follows `?` or `#` is about its inside."""
    path, mark, fragment = target.partition("#")
    path = unquote(path.partition("?")[0])
    lines = re.fullmatch(r"L(\d{1,7})(?:C\d+)?(?:-L?\d+(?:C\d+)?)?", fragment) if mark else None
    word = path if is_bare(path.rstrip("/")) and not has_file_extension(path) else f"./{path}"
    found = as_path(word if not path.startswith(("/", ".")) else path, blanks=True)
    if found and ":" not in path:
        at = int(lines[1]) if lines else None
        yield Mention(number, "path" if at is None else "line", target, (path,), at, link=True)
