"""Shell commands in documents: which files they run or read, which make targets and which npm scripts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from decapod_py.domain.named import Mention, as_path, words_of

Line = tuple[int, str]  # its number in the document, and what it says

_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|[^\s"'])+|["']""")
_JOINT = re.compile(r"&&|\|\||[;|]")
_PROMPT = re.compile(r"\s*(?:\([\w.-]+\)\s*)?(?:[\w@~:/.-]*[$%❯>]|PS>)\s+")
_HERE = re.compile(r"<<-?\s*['\"]?(\w+)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\??=.*", re.DOTALL)
_TARGET = re.compile(r"[A-Za-z0-9](?:[\w./-]*[\w-])?", re.ASCII)
_PROSE = words_of(
    "a an and any as be changes for if in is it its of on one or sure sense that the these this to use we you your"
)
_SCRIPT = re.compile(r"[A-Za-z0-9][\w:.-]*", re.ASCII)
_INTERPRETER = re.compile(
    r"(?:python|pypy|ruby|perl|php|lua)[\d.]*|bash|sh|zsh|dash|node|deno|tsx|ts-node|Rscript|source|\."
)
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_PREFIXES = words_of("sudo time env exec nohup command npx bunx then do else !")
_RUNNERS = words_of("uv poetry pipenv hatch pdm rye")
# What these are given is about to be made, fetched, or no file at all.
_MAKERS = words_of("touch mkdir tee curl wget git vim vi nano code emacs echo printf rm mv ln export set scp ssh gh")
_MAKE_WITH_VALUE = frozenset({"-C", "-f", "-I", "-o", "-W", "--directory", "--file", "-j", "-l"})
_NPM_WITH_VALUE = frozenset({"-w", "--workspace", "--prefix", "-C", "--dir", "--filter", "-F", "--cwd"})
_NPM_LIFECYCLE = words_of("test start stop restart")
# Words that the package managers know themselves: no script is meant.
_NPM_OWN = words_of(
    "add access audit autoclean bin bundle cache check ci clean-install config create dedupe deploy dev-engines"
    " dlx doctor exec explain fetch fund generate-lock-entry global help i import info init install install-test"
    " link list licenses login logout ls node npm outdated owner pack patch patch-commit pkg plugin policies"
    " prefix prune publish rebuild remove rm root run run-script self-update server set setup store tag team"
    " unlink uninstall unplug up update upgrade upgrade-interactive version versions view why whoami workspace"
    " workspaces x"
)
_COMMANDS = re.compile(
    r"\s*(?:\$\s|\./|make\s|npm\s|yarn\s|pnpm\s|bun\s|python[\d.]*\s|node\s|bash\s|sh\s|cd\s|pip[\d.]*\s|uv\s|poetry\s"
    r"|docker\s|pytest\s|source\s|cp\s|ruby\s|go\s|cargo\s)"
)


def is_command(text: str) -> bool:
    """Whether a text begins as a command does, for blocks and spans that do not say what they are."""
    return _COMMANDS.match(text) is not None


def mentions_in_shell(lines: list[Line], *, said: bool) -> Iterator[Mention]:
    """What a block of shell names. Where prompts are shown, the other lines are output."""
    prompted = any(_PROMPT.match(text) for _, text in lines)
    folder, here = "", None
    for number, text in lines:
        if here:
            here = None if text.strip() == here else here
            continue
        prompt = _PROMPT.match(text)
        if (prompted and not prompt) or not (said or prompted or is_command(text)):
            continue
        command = text[prompt.end() if prompt else 0 :].strip()
        found = _HERE.search(command)
        here = found[1] if found else None
        for words in _simple_commands(command):
            if words[0] == "cd" and len(words) == 2:
                folder = posixpath.normpath(posixpath.join(folder, words[1]))
            yield from mentions_in_command(words, number, folder)


def mentions_in_line(text: str, number: int) -> Iterator[Mention]:
    """What one command line names."""
    for words in _simple_commands(_PROMPT.sub("", text, count=1)):
        yield from mentions_in_command(words, number)


def _simple_commands(text: str) -> Iterator[list[str]]:
    if text.startswith("#") or len(text) > 2_000:
        return
    text = re.split(r"\s#\s", text, maxsplit=1)[0]
    for part in _JOINT.split(text):
        words = _without_prefixes([word.strip("\"'") for word in _WORD.findall(part)])
        if words:
            yield words


def _without_prefixes(words: list[str]) -> list[str]:
    """The command itself: `sudo`, `A=b` and `uv run` only say how it is run."""
    while words:
        if words[0] in _PREFIXES or _ASSIGNMENT.fullmatch(words[0]):
            words = words[1:]
        elif words[0] in _RUNNERS and "run" in words[1:3]:
            words = words[words.index("run") + 1 :]
            while words and words[0].startswith("-"):
                words = words[1:]
        elif words[:2] in (["bundle", "exec"], ["yarn", "exec"], ["pnpm", "exec"], ["npm", "exec"]):
            words = words[2:]
        else:
            break
    return words


def mentions_in_command(words: list[str], number: int, folder: str = "") -> Iterator[Mention]:
    """What a simple command names; paths count from the folder the block went to, or from anywhere."""
    program, arguments = words[0], words[1:]
    if program in ("make", "gmake"):
        yield from _targets(arguments, number)
    elif program in ("npm", "yarn", "pnpm", "bun") and not _runs_a_file(arguments):
        yield from _scripts(program, arguments, number)
    elif _INTERPRETER.fullmatch(program):
        yield from _run_file(words, number, folder)
    elif "/" in program:
        yield from _files([program], number, folder, "command")
        yield from _files(_read(arguments), number, folder, "path")
    elif program not in _MAKERS and program != "cd":
        yield from _files(_read(arguments), number, folder, "path")


def _runs_a_file(arguments: list[str]) -> bool:
    return bool(arguments) and "/" in arguments[0]


def _targets(arguments: list[str], number: int) -> Iterator[Mention]:
    if any(word.startswith(("-f", "--file")) for word in arguments):
        return
    words = [*_plain_words(arguments, _MAKE_WITH_VALUE)]
    if not all(_TARGET.fullmatch(word) and word not in _PROSE for word in words):
        return  # a sentence: `make sure that`
    for word in words:
        if not word.isdigit():
            yield Mention(number, "make-target", f"make {word}", (word,))


def _scripts(program: str, arguments: list[str], number: int) -> Iterator[Mention]:
    words = list(_plain_words(arguments, _NPM_WITH_VALUE))
    if program == "yarn" and words[:1] == ["workspace"]:
        words = words[2:]
    named = words[:1] and words[0] in ("run", "run-script")
    script = words[1] if named and len(words) > 1 else words[0] if words and not named else None
    if script is None or not _SCRIPT.fullmatch(script) or (not named and script in _NPM_OWN):
        return
    if not named and (program == "bun" or (program == "npm" and script not in _NPM_LIFECYCLE)):
        return
    shown = f"{program} run {script}" if named else f"{program} {script}"
    yield Mention(number, "npm-script", shown, (script,))


def _plain_words(arguments: list[str], with_value: frozenset[str]) -> Iterator[str]:
    """The arguments that are neither options nor their values nor assignments."""
    skip = False
    for word in arguments:
        if word == "--":
            return
        if skip or word.startswith("-") or _ASSIGNMENT.fullmatch(word):
            skip = not skip and word in with_value
            continue
        yield word


def _run_file(words: list[str], number: int, folder: str) -> Iterator[Mention]:
    """The script or module an interpreter is given; what follows it is the script's own business."""
    program, *arguments = words
    for place, word in enumerate(arguments):
        if word == "-m" and program.startswith(("python", "pypy")):
            yield from _module(words, arguments[place + 1 : place + 2], number)
            return
        if word in ("-c", "-e", "-"):
            return
        if word.startswith("-") or (program == "deno" and word in ("run", "test")):
            continue
        shown = f"{program} {word}"
        yield from (mention._replace(text=shown) for mention in _files([word], number, folder, "command"))
        return


def _module(words: list[str], named: list[str], number: int) -> Iterator[Mention]:
    if named and "." in named[0] and _MODULE.fullmatch(named[0]):
        path = named[0].replace(".", "/")
        names = (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py")
        yield Mention(number, "command", f"{words[0]} -m {named[0]}", names)


def _read(arguments: list[str]) -> Iterator[str]:
    """The arguments that may be files to read: not what comes after `>` or `-o`."""
    written = False
    for word in arguments:
        if not written and not word.startswith((">", "2>", "&>")):
            yield word.rpartition("=")[2] if word.startswith("--") else word
        written = word in (">", ">>", "2>", "&>", "-o", "--output", "--out", "-O")


def _files(words: Iterator[str] | list[str], number: int, folder: str, kind: str) -> Iterator[Mention]:
    for word in words:
        found = as_path(word)
        if not found or (kind == "path" and posixpath.splitext(word)[1] == ""):
            continue
        path, at = found
        inside = posixpath.normpath(posixpath.join(folder, path)) if folder and not path.startswith("/") else path
        names = (inside, path) if inside != path else (path,)
        if kind == "command":
            yield Mention(number, "command", word, names)
        else:
            yield Mention(number, "path" if at is None else "line", word, names, at)
