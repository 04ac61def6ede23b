"""`decapod hooks`: install, uninstall, status, run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from decapod_py.foundation.errors import DecapodError, Misused, Refused
from decapod_py.operations.catalogue import operation
from decapod_py.storage import git, hook_files
from decapod_py.workspace import FOLDER

if TYPE_CHECKING:
    from decapod_py.operations.requests import HookNames, Nothing, RunHook
    from decapod_py.operations.shapes import HookRun, HooksInstalled, HooksStatus, HooksUninstalled
    from decapod_py.workspace import Workspace

DEFAULT = ["pre-commit", "post-merge"]
TIMEOUT = "DECAPOD_HOOK_TIMEOUT"  # seconds
_SECONDS, _LONGEST = 10.0, 86_400.0


@operation(writes=True, idempotent=True, tool=False)
def install(workspace: Workspace, request: HookNames) -> HooksInstalled:
    """Let git prove the knowledge whenever you commit, and catch up whenever you merge.

    Without names: pre-commit and post-merge. A hook that is there already is kept and runs first. Where husky, lefthook
    or pre-commit look after the hooks, nothing is changed and you are told what to add to their configuration.
    """
    repository = _repository(workspace)
    directory = hook_files.directory_of(repository)
    hooks = _named(request.hooks) or DEFAULT
    _refuse_managed(repository, directory, hooks)
    for hook in hooks:
        _refuse_obstacle(directory, hook)
    _warn_of_managers_at_rest(workspace, repository, hooks)
    done = []
    for hook in hooks:
        before = hook_files.state(directory, hook)
        if before != "installed":
            hook_files.install(directory, hook)
        action = {"installed": "unchanged", "outdated": "updated"}.get(before, "made")
        chained = hook_files.chained(directory, hook)
        done.append({"hook": hook, "action": action, "chained": chained and os.path.basename(chained)})
    return {
        "directory": directory,
        "hooks": done,  # type: ignore[typeddict-item]
        "next": [] if _is_initialised(repository) else ["decapod init"],
    }


@operation(writes=True, idempotent=True, tool=False)
def uninstall(workspace: Workspace, request: HookNames) -> HooksUninstalled:
    """Take our git hooks away and put back the ones that were there before, byte for byte.

    Without names: all of them. A hook of ours that somebody edited is left alone.
    """
    return take_away(_repository(workspace), _named(request.hooks) or list(hook_files.HOOKS))


def take_away(repository: git.Repository, hooks: list[str]) -> HooksUninstalled:
    """Removes these hooks wherever we may have put them."""
    directory = hook_files.directory_of(repository)
    done: HooksUninstalled = {"ok": True, "directory": directory, "removed": [], "restored": [], "left": []}
    # core.hooksPath may have been set after our hooks went where git looked before.
    for place in dict.fromkeys([directory, os.path.join(repository.common_dir, "hooks")]):
        for hook in hooks:
            _take_away(place, hook, done)
    return {**done, "ok": not done["left"]}


def _take_away(place: str, hook: str, done: HooksUninstalled) -> None:
    path = os.path.join(place, hook)
    found, chained = hook_files.state(place, hook), hook_files.chained(place, hook)
    if found == "edited":
        done["left"].append({"path": path, "reason": "somebody edited it: take out what decapod wrote by hand"})
    elif found == "other" and chained:
        done["left"].append({"path": chained, "reason": f"{hook} is not ours any more; this was there before"})
    elif found in ("installed", "outdated") or chained:
        hook_files.uninstall(place, hook)
        done["restored" if chained else "removed"].append(path)


@operation(tool=False)
def status(workspace: Workspace, request: Nothing) -> HooksStatus:
    """Show which git hooks are ours, what they run first, and who else looks after hooks here."""
    from decapod_py.storage.hook_managers import manager_of

    repository = _repository(workspace)
    directory = hook_files.directory_of(repository)
    manager = manager_of(repository, directory, list(hook_files.HOOKS))
    hooks = []
    for hook in hook_files.HOOKS:
        chained = hook_files.chained(directory, hook)
        state = hook_files.state(directory, hook)
        hooks.append({"hook": hook, "state": state, "chained": chained and os.path.basename(chained)})
    return {
        "directory": directory,
        "managed_by": manager.name if manager else None,
        "initialised": _is_initialised(repository),
        "hooks": hooks,  # type: ignore[typeddict-item]
    }


def _repository(workspace: Workspace) -> git.Repository:
    repository = git.find_repository(workspace.directory)
    if repository is None:
        raise Refused("no-git", f"there is no git working tree in {workspace.directory} or above", "git init")
    return repository


def _named(hooks: list[str]) -> list[str]:
    for hook in hooks:
        if hook not in hook_files.HOOKS:
            raise Misused("unknown-hook", f"no hook {hook!r}", f"name some of {', '.join(hook_files.HOOKS)}")
    return list(dict.fromkeys(hooks))


def _is_initialised(repository: git.Repository) -> bool:
    top = os.path.join(repository.worktree, FOLDER)
    return os.path.isdir(os.path.join(top, "ledgers")) or os.path.isfile(os.path.join(top, "config.toml"))


def _refuse_managed(repository: git.Repository, directory: str, hooks: list[str]) -> None:
    from decapod_py.storage.hook_managers import lies_in, manager_of

    manager = manager_of(repository, directory, hooks)
    if manager:
        steps = [f"to {place} add: {line}" for place, line in manager.steps.items()]
        free = [hook for hook in hooks if hook not in manager.hooks]
        raise Refused(
            "hooks-managed",
            f"{manager.name} looks after {', '.join(manager.hooks)} here; nothing was changed",
            "; ".join(steps + ([f"then: decapod hooks install {' '.join(free)}"] if free else [])),
            {"manager": manager.name, "add": manager.steps},
        )
    if not any(lies_in(directory, top) for top in (repository.worktree, repository.git_dir, repository.common_dir)):
        raise Refused(
            "hooks-shared",
            f"git looks for hooks in {directory}, outside this repository: others may use them too",
            "set core.hooksPath for this repository alone, or add a line to those hooks: decapod hooks run pre-commit",
        )


def _warn_of_managers_at_rest(workspace: Workspace, repository: git.Repository, hooks: list[str]) -> None:
    from decapod_py.storage.hook_managers import managers_at_rest

    for manager in managers_at_rest(repository, hooks):
        steps = "; ".join(f"to {place} add: {line}" for place, line in manager.steps.items())
        workspace.warnings.append(
            f"this repository is set up for {manager.name}, which has none of these hooks in hand here;"
            f" to have it run them for everybody: {steps}"
        )


def _refuse_obstacle(directory: str, hook: str) -> None:
    path = os.path.join(directory, hook)
    found = hook_files.state(directory, hook)
    if found == "edited":
        raise Refused(
            "hook-edited", f"somebody edited our hook {path}", "move what was added elsewhere and remove the file"
        )
    chained = hook_files.chained(directory, hook)
    if found == "other" and chained:
        raise Refused(
            "in-the-way",
            f"{path} is not ours, and {chained} keeps the hook that was there before",
            "join the two into one hook, remove the other, and install again",
        )


@operation(tool=False)
def run(workspace: Workspace, request: RunHook) -> HookRun:
    """Do what one git hook does. Git runs this; so may you, or another manager of hooks.

    pre-commit runs the gates on what is staged, pre-push on every commit that --pushed names, as git has it; post-merge
    and post-checkout catch up. Only findings stop git: trouble of our own, or more than 10 seconds
    (DECAPOD_HOOK_TIMEOUT), is one line.
    """
    repository = git.find_repository(workspace.directory)
    if repository is None or not _is_initialised(repository):
        return _proceeding(request.hook)
    try:
        with _time_limit():
            if request.hook == "pre-push":
                return _check_push(workspace, request.pushed)
            return _ACTIONS[request.hook](workspace, request.hook)
    except _TimeIsUp as problem:
        return _proceeding(request.hook, f"took longer than {problem} s and was stopped")
    except Exception as problem:
        # Whatever is wrong with us: nobody is kept from committing by it.
        reason = f"{problem} [{problem.code}]" if isinstance(problem, DecapodError) else repr(problem)
        return _proceeding(request.hook, f"could not run: {reason}")


def _proceeding(hook: str, trouble: str | None = None) -> HookRun:
    return {"hook": hook, "ok": True, "lines": [f"decapod: the {hook} hook {trouble}; git proceeds"] if trouble else []}


class _TimeIsUp(BaseException):
    """Not an Exception: nothing on the way may take it for a failure of its own."""


@contextmanager
def _time_limit() -> Iterator[None]:
    import signal
    import threading

    seconds = _seconds()
    if threading.current_thread() is not threading.main_thread():
        yield  # a call from Python: only the main thread can be interrupted
        return

    def stop(*_: object) -> None:
        raise _TimeIsUp(f"{seconds:g}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _seconds() -> float:
    """What a hook may take. A setting that is no length of time counts as none: the gates run all the same."""
    try:
        given = float(os.environ.get(TIMEOUT, ""))
    except ValueError:
        return _SECONDS
    return given if 0 < given < _LONGEST else _SECONDS


def _check_staged(workspace: Workspace, hook: str) -> HookRun:
    try:
        from decapod_py.operations.validate import validate_staged
    except ImportError:
        return _proceeding(hook)
    return _verdict(hook, validate_staged(workspace), "git commit --no-verify commits all the same")


def _check_push(workspace: Workspace, told: str | None) -> HookRun:
    from decapod_py.operations.pushed import validate_push

    return _verdict("pre-push", validate_push(workspace, told), "git push --no-verify pushes all the same")


def _verdict(hook: str, found: dict[str, Any], way_out: str) -> HookRun:
    lines = list(found["lines"])
    return {"hook": hook, "ok": found["ok"], "lines": lines if found["ok"] else [*lines, way_out]}


def _catch_up(workspace: Workspace, hook: str) -> HookRun:
    workspace.state()
    try:
        from decapod_py.operations.knowledge.drift import summary_line
    except ImportError:
        return _proceeding(hook)
    line = summary_line(workspace)
    return {"hook": hook, "ok": True, "lines": [line] if line else []}


_ACTIONS: dict[str, Callable[[Workspace, str], HookRun]] = {
    "pre-commit": _check_staged,
    "post-merge": _catch_up,
    "post-checkout": _catch_up,
}
