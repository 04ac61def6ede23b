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
from decapod_py.workspace import FOLDER, make_local, refuse_links

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
    root = repository.worktree if repository else workspace.directory
    if repository:
        _refuse_ignored(root)
    if os.path.lexists(os.path.join(root, FOLDER)) and not os.path.isdir(os.path.join(root, FOLDER)):
        raise Refused("in-the-way", f"{FOLDER} is a file here", "move it away")
    refuse_links(root)
    make_local(os.path.join(root, FOLDER, "local"))
    made = [path for path in _wanted(root) if _make(root, path)]
    add = f"git add {FOLDER}"
    return {
        "root": root,
        "made": made,
        "git": repository is not None,
        "next": ([add] if repository else []) + ['decapod knowledge add "What is true" --from PATH:LINES'],
    }


def _wanted(root: str) -> dict[str, str | None]:
    return {
        f"{FOLDER}/config.toml": CONFIG_TOML,
        f"{FOLDER}/.gitattributes": _GIT_ATTRIBUTES,
        f"{FOLDER}/ledgers/": None,
        f"{FOLDER}/knowledge/": None,
    }


def _make(root: str, path: str) -> bool:
    full = os.path.join(root, path)
    if os.path.lexists(full.rstrip("/")):
        return False
    content = _wanted(root)[path]
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
                f"remove that rule, or add !/{FOLDER}/ after it",
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
            "commit it first, so that nothing is lost",
        )
    swept = _swept(workspace)
    if swept:
        raise Refused(
            "unsaved", f"{len(swept)} kept segments are in no commit, such as {swept[0]}", Call("ledger.restore")
        )
    workspace.close()
    target = FOLDER if request.everything else f"{FOLDER}/local"
    if os.path.isdir(os.path.join(root, target)):
        shutil.rmtree(os.path.join(root, target))
    kept = [] if request.everything else [f"{FOLDER}/ledgers/", f"{FOLDER}/knowledge/", f"{FOLDER}/config.toml"]
    follow = [f"git rm -r {FOLDER} && git commit"] if not request.everything else [f"git commit -am 'Remove {FOLDER}'"]
    return {"removed": [f"{target}/"], "kept": kept, "next": follow}


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
