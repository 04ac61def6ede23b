"""`decapod init` and `uninstall`."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from decapod_py.domain.policy import CONFIG_TOML
from decapod_py.foundation.errors import Call, Refused
from decapod_py.foundation.faults import step
from decapod_py.foundation.files import write_whole
from decapod_py.operations.catalogue import operation
from decapod_py.storage import git
from decapod_py.workspace import CONFIG, FOLDER, make_local, refuse_links

if TYPE_CHECKING:
    from decapod_py.operations.requests import Init, Uninstall
    from decapod_py.operations.shapes import Initialised, Uninstalled
    from decapod_py.workspace import Workspace

_GIT_ATTRIBUTES = """\
* text eol=lf
ledgers/knowledge.events/** linguist-generated
ledgers/knowledge.decay/** linguist-generated
ledgers/knowledge.retrieval/** linguist-generated
"""


@operation(writes=True, idempotent=True, tool=False)
def init(workspace: Workspace, request: Init) -> Initialised:
    """Make a place for knowledge in this git repository or directory.

    It never touches a file it did not make, and running it again changes nothing.
    """
    repository = git.find_repository(workspace.directory)
    root = repository.worktree if repository else _top_of_a_plain_directory(workspace)
    if repository:
        _refuse_ignored(root)
    elif git.is_bare(root):
        raise Refused("bare", f"{root} is a bare repository: nobody works in it", "clone it and run decapod init there")
    if os.path.lexists(os.path.join(root, FOLDER)) and not os.path.isdir(os.path.join(root, FOLDER)):
        raise Refused("in-the-way", f"{FOLDER} is a file here", "move it away")
    refuse_links(root)
    make_local(os.path.join(root, FOLDER, "local"))
    made = [path for path, content in _wanted().items() if _make(root, path, content)]
    add = f"git add {FOLDER}"
    return {
        "root": root,
        "made": made,
        "git": repository is not None,
        "next": ([add] if repository else []) + ['decapod knowledge add "What is true" --from PATH:LINES'],
    }


def _top_of_a_plain_directory(workspace: Workspace) -> str:
    """The workspace around this directory, if there is one: a second one inside would hide it."""
    try:
        return workspace.root
    except Refused:
        return workspace.directory


def _wanted() -> dict[str, str | None]:
    return {
        CONFIG: CONFIG_TOML,
        f"{FOLDER}/.gitattributes": _GIT_ATTRIBUTES,
        f"{FOLDER}/ledgers/": None,
        f"{FOLDER}/knowledge/": None,
    }


def _make(root: str, path: str, content: str | None) -> bool:
    full = os.path.join(root, path)
    if os.path.lexists(full.rstrip("/")):
        return False
    if content is None:
        os.makedirs(full)
        return True
    # Whole or not there: an empty file that a crash left would be taken for somebody's own.
    write_whole(full, content.encode(), scratch=os.path.join(root, FOLDER, "local"))
    step("file-made")
    return True


def _refuse_ignored(root: str) -> None:
    """Knowledge that git ignores would exist on this machine only, and be lost with it."""
    for path in (
        f"{FOLDER}/ledgers/knowledge.events/2026-01/x.jsonl",
        f"{FOLDER}/knowledge/x.md",
        f"{FOLDER}/config.toml",
    ):
        try:
            rule = git.ask(root, "check-ignore", "--verbose", "--no-index", "--", path, accept=(0, 1)).strip()
        except git.GitFailed:
            return
        if rule and not rule.split("\t")[0].rpartition(":")[2].startswith("!"):
            raise Refused(
                "git-ignores",
                f"git ignores {path}: {rule.split(chr(9))[0]}",
                f"remove that rule, or add the lines !/{FOLDER}/ and !/{FOLDER}/** after it",
            )


@operation(writes=True, destructive=True, tool=False)
def uninstall(workspace: Workspace, request: Uninstall) -> Uninstalled:
    """Remove what Decapod keeps on this machine; knowledge in git stays unless --everything is said."""
    root = workspace.root
    unsaved = _uncommitted(workspace)
    if request.everything and unsaved:
        raise Refused(
            "uncommitted",
            f"{unsaved[0]} and {len(unsaved) - 1} more are not committed"
            if len(unsaved) > 1
            else f"{unsaved[0]} is not committed",
            "commit it first, so that nothing is lost"
            if workspace.repository
            else f"there is no git here to keep it; to lose it, remove {FOLDER} by hand",
        )
    swept = _swept(workspace)
    if swept:
        raise Refused(
            "unsaved", f"what {swept[0]} held is in no commit and not among the ledgers", Call("ledger.restore")
        )
    _forget_claims(workspace)
    _end_trust(root)
    workspace.close()
    target = FOLDER if request.everything else f"{FOLDER}/local"
    removed = os.path.isdir(os.path.join(root, target))
    if removed:
        shutil.rmtree(os.path.join(root, target))
    gone = ([f"{target}/"] if removed else []) + _without_hooks(workspace)
    kept = [] if request.everything else list(_wanted())
    if workspace.repository is None:
        follow = f"rm -r {FOLDER}"
    elif request.everything:
        follow = f"git commit -am 'Remove {FOLDER}'"
    else:
        follow = f"git rm -r {FOLDER} && git commit"
    return {"removed": gone, "kept": kept, "next": [follow]}


def _forget_claims(workspace: Workspace) -> None:
    """Claims are leases, and other worktrees may hold some: those stay until they end."""
    try:
        if not workspace.claims.forget(workspace.clock()):
            workspace.warnings.append(f"left {workspace.claims.path}: agents hold claims in it")
    except Refused as problem:
        workspace.warnings.append(problem.message)


def _end_trust(root: str) -> None:
    from decapod_py.storage import trust

    try:
        trust.revoke(os.path.join(root, CONFIG))
    except (Refused, OSError):
        pass  # no home, no trust


def _without_hooks(workspace: Workspace) -> list[str]:
    """Takes our git hooks away; says which. One that somebody edited stays, with a warning."""
    from decapod_py.operations.hooks import take_away
    from decapod_py.storage.hook_files import HOOKS

    if workspace.repository is None:
        return []
    done = take_away(workspace.repository, list(HOOKS))
    workspace.warnings += [f"left {left['path']}: {left['reason']}" for left in done["left"]]
    return [*done["removed"], *done["restored"]]


def _uncommitted(workspace: Workspace) -> list[str]:
    """Files of ours that no commit holds: all of them where there is no git."""
    if workspace.repository is None:
        return [FOLDER]
    changed = git.ask(workspace.root, "status", "--porcelain", "-z", "--untracked-files=no", "--", FOLDER)
    # Files that git ignores too: only the local folder may go unseen.
    untracked = git.ask(workspace.root, "ls-files", "--others", "-z", "--", FOLDER)
    found = [line[3:] for line in changed.split("\0") if line] + [line for line in untracked.split("\0") if line]
    return [path for path in found if not path.startswith(f"{FOLDER}/local/")]


def _swept(workspace: Workspace) -> list[str]:
    from decapod_py.storage.kept import swept_segments

    return swept_segments(workspace.ledgers, workspace.local, workspace.root, workspace.repository).lost
