"""Commands that documents name: make targets and npm scripts that no file has any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from decapod_py.domain.definitions import MAKEFILES, is_common_target, make_targets, npm_scripts, renamed_in
from decapod_py.domain.documents import is_vendored
from decapod_py.storage import git
from decapod_py.storage.trees import Objects
from decapod_py.views.bygone import Hunk, changed_hunks
from decapod_py.views.scan_report import SECONDS_FOR_CONTENTS, Named, Report

_PACKAGES = ("package.json", "*/package.json")

Makes = Callable[[Hunk, str, str], bool]  # whether this line of this change made the name


class Dropped(NamedTuple):
    """The change that took a name away, and its new name if that is plain."""

    hunk: Hunk
    now: str | None


def judge_targets(report: Report, named: list[Named]) -> None:
    missing = []
    for one in named:
        target = one.mention.names[0]
        if target in report.present.targets:
            report.accept(one)
        elif not _may_be_made(report, target):
            missing.append(one)
    dropped = _dropped(report, missing, MAKEFILES, _has_rule, "make targets")
    for one in missing:
        target = one.mention.names[0]
        if target in dropped:
            hunk, now = dropped[target]
            written = f"make {now}" if now in report.present.targets else None
            report.broken(one, f"{hunk.path} has no target {target} any more", hunk.since, written)


def _may_be_made(report: Report, target: str) -> bool:
    """Whether make could still know it: by a pattern, from a tool that writes makefiles, or as a file to build."""
    if is_common_target(target) and report.present.has_made_makefiles:
        return True
    return report.present.may_have_target(target) or report.present.resolve([target], ()) is not None


def _has_rule(hunk: Hunk, line: str, target: str) -> bool:
    return target in make_targets(line) and not is_vendored(hunk.path)


def judge_scripts(report: Report, named: list[Named]) -> None:
    missing = []
    for one in named:
        script = one.mention.names[0]
        if script in report.present.scripts:
            report.accept(one)
        elif " run " in one.mention.text or not report.present.names_package(script):
            missing.append(one)
    objects = Objects(report.root)

    def has_script(hunk: Hunk, line: str, script: str) -> bool:
        if f'"{script}"' not in line or is_vendored(hunk.path):
            return False
        return script in npm_scripts((objects.read(hunk.blob) or b"").decode("utf-8", "replace"))

    dropped = _dropped(report, missing, _PACKAGES, has_script, "npm scripts")
    objects.close()
    for one in missing:
        script = one.mention.names[0]
        if script in dropped:
            hunk, now = dropped[script]
            written = one.mention.text.replace(script, now) if now in report.present.scripts and now else None
            report.broken(one, f"{hunk.path} has no script {script} any more", hunk.since, written)


def _dropped(
    report: Report, missing: list[Named], files: tuple[str, ...], makes: Makes, what: str
) -> dict[str, Dropped]:
    """By name: the newest change that took it out of these files."""
    names = {one.mention.names[0] for one in missing}
    found: dict[str, Dropped] = {}
    if not names or not report.has_history:
        return found
    try:
        for hunk in changed_hunks(report.root, [f":(top){path}" for path in files], SECONDS_FOR_CONTENTS):
            for line in hunk.removed:
                for name in names.intersection(_candidates(line)) - found.keys():
                    if makes(hunk, line, name):
                        found[name] = Dropped(hunk, renamed_in(line, name, hunk.added))
    except git.GitFailed as problem:
        report.note_cut(what, problem)
    return found


def _candidates(line: str) -> set[str]:
    """The words of a line that could be targets, or the name of a script: a package.json may be one long line."""
    return {*make_targets(line), line.strip().partition(":")[0].strip('"'), *line.split('"')[1::2]}
