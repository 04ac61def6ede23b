"""The files of our git hooks: where git looks for them, the script we write, and the hook that was there before.

A hook that is there already is renamed to `<hook>.before-decapod`, bytes and mode as they are, and ours runs it first.
The script carries the digest of its own text, so that any version of this program knows whether somebody edited it.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from hashlib import sha256
from typing import Literal

from decapod_py.foundation.files import read_bytes, write_whole
from decapod_py.storage import git

HOOKS = ("pre-commit", "post-merge", "post-checkout", "pre-push")
BEFORE = ".before-decapod"
State = Literal["absent", "installed", "outdated", "edited", "other"]

_MARK = re.compile(rb"^# decapod-hook sha256:([0-9a-f]{64})$", re.MULTILINE)
_EXECUTABLE = 0o755
_SCRIPT = """\
# Written by `decapod hooks install`; `decapod hooks uninstall` takes it away and puts back what was here.
hook={hook}
python={python}

{hearing}# The hook that was here before decides first, as it always did.
before="${{0%/*}}/$hook{suffix}"
if [ -x "$before" ]; then
    {telling}"$before" "$@" || exit $?
fi

[ -d .decapod/ledgers ] || [ -f .decapod/config.toml ] || exit 0
[ "$hook$3" = post-checkout0 ] && exit 0 # single files were checked out, not a branch

why="decapod is not installed here"
run() {{
    {command}
    code=$?
    [ "$code" -eq 0 ] && exit 0
    # Only findings stop git. A broken installation may exit with 1 too, but cannot even tell its version.
    [ "$code" -eq 1 ] && "$@" --version >/dev/null 2>&1 && exit 1
    why="exit code $code"
}}
command -v decapod >/dev/null 2>&1 && run decapod
[ -x "$python" ] && run "$python" -P -m decapod_py
echo "decapod: the $hook hook could not run ($why); git proceeds" >&2
exit 0
"""
# A push is told on standard input, which only one can read: the hook that was here before hears the same.
_HEARING = """\
pushed=$([ -t 0 ] || cat)
tell() {
    [ -z "$pushed" ] || printf '%s\\n' "$pushed" 2>/dev/null
}

"""
_COMMAND = 'DECAPOD_HOOK=$hook "$@" hooks run "$hook" </dev/null'
_PUSH_COMMAND = 'tell | DECAPOD_HOOK=$hook "$@" hooks run "$hook" --pushed -'


def index_in_use(worktree: str) -> str | None:
    """The index that git is committing from, where it says so: the staged state that a hook has to look at.

    `git commit -a` and `git commit PATH` commit from an index of their own and tell their hooks with GIT_INDEX_FILE,
    relative to the top of the working tree. Ordinary questions ignore that variable; a question about the staged
    state passes it on.
    """
    named = os.environ.get("GIT_INDEX_FILE")
    return os.path.join(worktree, named) if named else None


def directory_of(repository: git.Repository) -> str:
    """Where git looks for hooks: core.hooksPath where it is set; all worktrees of a clone share one place."""
    told = git.ask(repository.worktree, "rev-parse", "--git-path", "hooks").removesuffix("\n")
    return os.path.normpath(os.path.join(repository.worktree, told))


def script(hook: str) -> bytes:
    """The hook as this installation writes it."""
    pushes = hook == "pre-push"
    text = _SCRIPT.format(
        hook=hook,
        python=shlex.quote(sys.executable or ""),
        suffix=BEFORE,
        hearing=_HEARING if pushes else "",
        telling="tell | " if pushes else "",
        command=_PUSH_COMMAND if pushes else _COMMAND,
    ).encode()
    return _head(text) + text


def _head(text: bytes) -> bytes:
    return b"#!/bin/sh\n# decapod-hook sha256:" + sha256(text).hexdigest().encode() + b"\n"


def state(directory: str, hook: str) -> State:
    """What stands at the hook's place."""
    path = os.path.join(directory, hook)
    if not os.path.lexists(path):
        return "absent"
    data = read_bytes(path) if os.path.isfile(path) and not os.path.islink(path) else None
    mark = _MARK.search(data) if data else None
    if data is None or mark is None:
        return "other"
    text = data[mark.end() + 1 :]
    if data != _head(text) + text:
        return "edited"
    return "installed" if data == script(hook) and os.access(path, os.X_OK) else "outdated"


def chained(directory: str, hook: str) -> str | None:
    """The hook that ours runs first, if there is one."""
    path = os.path.join(directory, hook + BEFORE)
    return path if os.path.lexists(path) else None


def install(directory: str, hook: str) -> None:
    """Writes our hook. One that is there already is kept beside it; nothing may be kept there yet."""
    path = os.path.join(directory, hook)
    os.makedirs(directory, exist_ok=True)
    kept = state(directory, hook) == "other"
    if kept:
        os.rename(path, path + BEFORE)
    try:
        write_whole(path, script(hook), scratch=directory, mode=_EXECUTABLE)
    except BaseException:
        if kept:
            os.replace(path + BEFORE, path)
        raise


def uninstall(directory: str, hook: str) -> None:
    """Takes our hook away and puts back the one that was there before: its name is all that ever changed."""
    path = os.path.join(directory, hook)
    if os.path.lexists(path + BEFORE):
        os.replace(path + BEFORE, path)
    elif os.path.lexists(path):
        os.unlink(path)
