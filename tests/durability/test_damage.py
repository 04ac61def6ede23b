"""What else goes wrong on a machine: damaged databases, deleted folders, dead lock holders, full disks."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from durability.commands import KILLED, Tree, new_tree

from decapod_py.client import Decapod

PAGE = 4096


def database(tree: Tree) -> Path:
    return tree.local / "knowledge.db"


def put_in_its_place(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def overwrite_pages(first: int) -> Callable[[Path], None]:
    """Damages every page from this one on: SQLite opens the file and stumbles later."""

    def damage(path: Path) -> None:
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(first * PAGE)
            file.write(os.urandom(size - first * PAGE))

    return damage


def make_it_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "file").touch()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "random bytes": put_in_its_place(os.urandom(50_000)),
    "text": put_in_its_place(b"This is no database.\n" * 100),
    "its first page alone": lambda path: os.truncate(path, PAGE),
    "half of it": lambda path: os.truncate(path, path.stat().st_size // 2 // PAGE * PAGE),
    "a torn page at its end": lambda path: os.truncate(path, path.stat().st_size - 1000),
    "damaged tables": overwrite_pages(2),
    "damaged rows": overwrite_pages(20),
    "a folder": make_it_a_folder,
}
COMMANDS = {
    "search": ["knowledge", "search", "witness"],
    "status": ["status"],
    "add": ["knowledge", "add", "One more", "--provenance", "person:Ada"],
    "rebuild": ["rebuild"],
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_database_is_moved_aside_and_made_anew(
    damage: str, command: str, lived_in: Tree, place: Path
) -> None:
    tree = lived_in.copy_to(place / "tree")
    tree.add("witness")
    events = tree.event_ids()
    DAMAGE[damage](database(tree))

    done = tree.run(*COMMANDS[command])
    if done.code:  # found only after the write was begun: refused, or recorded all the same
        assert (command, done.code) == ("add", 1) and done.error in ("database-damaged", "unfinished")
        done = done._replace(err=done.err + tree.run(*COMMANDS[command]).err)

    aside = list(tree.local.glob("knowledge.db.unreadable-*"))
    assert bool(aside) == ("moved to .decapod/local/knowledge.db.unreadable-1" in done.err)
    assert aside or damage in ("damaged rows", "a torn page at its end"), "what no answer needs may go unseen"
    assert tree.status_of("witness") == "active"
    assert events <= tree.event_ids()
    tree.ask("rebuild")
    tree.check()
    tree.check_against_a_clone()


def test_an_empty_database_is_filled(tree: Tree) -> None:
    tree.add("witness")
    database(tree).write_bytes(b"")

    assert tree.status_of("witness") == "active"
    tree.check()


@pytest.mark.parametrize("log", ["left", "damaged", "alone"])
def test_the_write_ahead_log_of_a_killed_process_is_taken_over_or_folded_again(tree: Tree, log: str) -> None:
    tree.add("witness")
    assert tree.run("knowledge", "edit", "witness", "--text", "Edited.", kill_at="committed").code == KILLED
    wal = tree.local / "knowledge.db-wal"
    assert wal.stat().st_size
    if log == "damaged":
        wal.write_bytes(os.urandom(wal.stat().st_size))
    elif log == "alone":
        database(tree).unlink()

    assert tree.entry("witness")["content"] == "Edited."
    tree.check()


def test_a_client_that_stays_open_goes_on_when_others_delete_or_rebuild_what_is_local(tree: Tree) -> None:
    with Decapod(tree.top, actor="Ada") as client:

        def add(number: int) -> None:
            client.knowledge.add(id=f"e{number}", title="T", text=f"Text {number}.", provenance=["person:Ada"])
            assert client.knowledge.get(id=f"e{number}")["status"] == "active"
            assert client.status()["entries"] == {"active": number + 1}

        add(0)
        shutil.rmtree(tree.local)
        add(1)
        shutil.rmtree(tree.local)
        assert client.status()["entries"] == {"active": 2}
        assert client.knowledge.search(query="text")["count"] == 2
        tree.ask("rebuild")
        add(2)
        database(tree).write_bytes(os.urandom(30_000))
        add(3)
        overwrite_pages(2)(database(tree))
        assert client.status()["entries"] == {"active": 4}
        database(tree).unlink()
        add(4)
        tree.add("theirs")
        assert client.knowledge.get(id="theirs")["status"] == "active"
    assert (tree.local / ".gitignore").read_text() == "*\n"
    tree.check()
    tree.check_against_a_clone()


def test_writers_go_on_while_somebody_keeps_deleting_what_is_local(tree: Tree) -> None:
    script = (
        "import shutil, sys\nwhile True:\n    shutil.rmtree(sys.argv[1], ignore_errors=True)\n"
        "    sys.stdout.write('.'); sys.stdout.flush()\n"
    )
    vandal = subprocess.Popen([sys.executable, "-c", script, str(tree.local)], stdout=subprocess.PIPE)
    acknowledged = []
    try:
        assert vandal.stdout and vandal.stdout.read(1)
        with Decapod(tree.top, actor="Ada") as client:
            for number in range(20):
                try:
                    client.knowledge.add(id=f"e{number}", title="T", text="Text.", provenance=["person:Ada"])
                except Exception:  # the machine is against us; what counts is what was acknowledged
                    continue
                acknowledged.append(f"e{number}")
    finally:
        vandal.kill()
        vandal.communicate()

    shutil.rmtree(tree.local, ignore_errors=True)
    assert set(acknowledged) <= {entry["id"] for entry in tree.ask("knowledge", "list", "--limit", "100")["entries"]}
    tree.ask("rebuild")
    tree.check()


def test_a_lock_whose_holder_is_dead_holds_nobody_up(tree: Tree) -> None:
    tree.add("witness")
    script = "import fcntl, os, sys, time; fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX); print(); "
    holder = subprocess.Popen(
        [sys.executable, "-uc", f"{script}time.sleep(600)", str(tree.local / "lock")], stdout=subprocess.PIPE
    )
    assert holder.stdout and holder.stdout.readline()
    assert tree.run("knowledge", "delete", "witness", kill_after=0.2).code == KILLED  # it waits
    assert tree.status_of("witness") == "active"  # a read needs no lock while nothing is behind

    holder.kill()
    holder.communicate()

    tree.ask("knowledge", "delete", "witness")
    tree.check()


def test_a_waiting_writer_goes_on_when_the_lock_it_waits_for_is_deleted(tree: Tree) -> None:
    tree.add("witness")
    with (tree.local / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(tree.local)
        tree.add("afterwards")
    tree.check()


@pytest.fixture
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of its own with 8 MB."""
    disk = place / "disk"
    disk.mkdir()
    mounted = (
        shutil.which("mount")
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], capture_output=True, check=False
        ).returncode
    )
    if not mounted:
        pytest.skip("mounting a small disk needs root")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path, leaving: int) -> Path:
    """Takes all space but some pages."""
    filler = disk / "filler"
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - leaving * PAGE)
    return filler


def test_a_full_disk_is_an_error_with_words_and_leaves_nothing_half_done(tree: Tree, small_disk: Path) -> None:
    tree = new_tree(tree.commands, small_disk / "tree")
    tree.add("witness")
    answers = []
    for leaving in range(0, 100, 4):
        filler = fill(small_disk, leaving)
        entry_id = f"e{leaving}"
        words = ["--id", entry_id, "--title", "T", "--text", "x" * 6000, "--provenance", "person:Ada"]
        done = tree.run("knowledge", "add", *words)
        assert tree.status_of("witness") == "active"  # whatever is full, a question is answered
        tree.ask("status")
        filler.unlink()

        happened = tree.status_of(entry_id) == "active"
        answers.append("added" if done.code == 0 else done.error)
        assert (done.code, answers[-1], happened) in {
            (0, "added", True),
            (1, "unfinished", True),
            (1, "system", False),
            (1, "read-only", False),
        }, done
        tree.check(torn=None)
    assert "added" in answers and "system" in answers, answers
    tree.add("afterwards")
    tree.check_against_a_clone()


@pytest.mark.parametrize("largest", [400, 2_000, 20_000, 33_000, 60_000])
def test_a_limit_on_file_sizes_is_an_error_with_words_and_leaves_nothing_half_done(
    largest: int, lived_in: Tree, place: Path
) -> None:
    tree = lived_in.copy_to(place / "tree")
    tree.add("witness")
    words = ("--id", "new", "--title", "T", "--text", "word " * 1000, "--provenance", "person:Ada")

    done = tree.run("knowledge", "add", *words, largest_file=largest)

    happened = tree.status_of("new") == "active"
    assert (done.code, "added" if done.code == 0 else done.error, happened) in {
        (0, "added", True),
        (1, "unfinished", True),
        (1, "system", False),
        (1, "read-only", False),
    }, done
    asked = tree.run("knowledge", "search", "witness", "--no-content", largest_file=largest)
    if asked.code:
        assert asked.error == "output-failed"  # the answer itself is larger than a file may be
    else:
        assert asked.answer["count"] == 1
    tree.add("afterwards")
    tree.check(torn=None)
    tree.check_against_a_clone()


def test_markdown_that_cannot_be_written_waits_and_the_write_is_acknowledged(tree: Tree) -> None:
    tree.add("deep/witness")
    path = tree.top / tree.entry("deep/witness")["path"]
    shutil.rmtree(path.parent)
    path.parent.touch()  # a file where the folder was

    done = tree.run("knowledge", "edit", "deep/witness", "--text", "Edited.")

    assert done.answer["action"] == "edited"
    assert "cannot be written; decapod doctor --fix tries again" in done.err
    assert tree.entry("deep/witness")["content"] == "Edited."
    path.parent.unlink()
    tree.ask("doctor", "--fix")
    assert "Edited." in path.read_text()
    tree.check()


def test_an_interrupt_at_any_time_leaves_nothing_half_done(tree: Tree) -> None:
    tree.add("witness")
    words = [sys.executable, "-m", "decapod_py", "knowledge", "edit", "witness", "--json", "--text"]
    for number in range(3):
        process = subprocess.Popen(
            [*words, f"Edit {number}."],
            cwd=tree.top,
            env=tree.commands.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with (tree.local / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if number:  # it is surely in the middle of things: it waits for the lock
                wait_for_lock(process.pid)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        assert process.returncode in ((130,) if number else (130, -signal.SIGINT, 1)) and out == ""
        assert tree.entry("witness")["content"] == "Something that is true."
    tree.check()


def wait_for_lock(pid: int) -> None:
    """Polls until the process sleeps in flock."""
    waiting = f"-> FLOCK  ADVISORY  WRITE {pid} "
    while waiting not in Path("/proc/locks").read_text():
        os.sched_yield()
