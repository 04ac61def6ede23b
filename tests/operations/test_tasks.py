"""`decapod tasks`: tasks, claims and findings."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from support import NOON, StandingClock, decapod, git, refusal, run

from decapod_py.client import Decapod
from decapod_py.foundation.clock import format_time
from decapod_py.foundation.errors import DecapodError, Misused, Refused
from decapod_py.surfaces.mcp import toolsets

HOUR = 3_600_000


@pytest.fixture
def tasks(opened: Any) -> Any:
    return opened.tasks


@pytest.fixture
def task(tasks: Any) -> str:
    """A task that everybody may claim."""
    return str(tasks.create(title="Parse it", agent="planner")["task_id"])


def claims_of(tasks: Any, task: str) -> list[tuple[str, str]]:
    [found] = tasks.status(task_id=task)["tasks"]
    return [(claim["agent"], claim["aspect"]) for claim in found["claims"]]


def database(repository: Path) -> Path:
    return repository / ".git" / "decapod" / "claims.db"


def test_a_task_is_an_event_that_names_agent_and_actor(opened, tasks):
    task = tasks.create(
        title="  Parse   it ", description="All of it.\r\n", tags=["core", "Core"], agent="planner", actor="Ben"
    )["task_id"]

    [event] = opened.ledger.show(ledger="tasks")["events"]
    assert (event["event_id"], event["type"], event["actor"], event["agent"], event["tags"]) == (
        task,
        "task.created",
        "Ben",
        "planner",
        ["core"],
    )
    assert {name: event["text"][name] for name in ("title", "description")} == {
        "title": "Parse it",
        "description": "All of it.",
    }
    assert tasks.status(task_id=task) == {
        "total": 1,
        "count": 1,
        "tasks": [
            {
                "id": task,
                "title": "Parse it",
                "status": "open",
                "agent": "planner",
                "tags": ["core"],
                "created_at": format_time(NOON),
                "here": True,
                "claims": [],
                "findings": 0,
                "description": "All of it.",
            }
        ],
    }


def test_an_agent_without_a_name_of_its_own_is_the_actor(as_agent, opened):
    task = as_agent("tasks.create", title="Parse it")["task_id"]

    assert as_agent("tasks.claim", task_id=task, aspect="docs")["agent"] == "agent:tester"
    assert opened.tasks.status(task_id=task)["tasks"][0]["agent"] == "agent:tester"


def test_an_agent_may_act_under_another_name_and_the_event_says_who_did(as_agent, opened):
    task = as_agent("tasks.create", title="Parse it", agent="worker-1")["task_id"]

    [event] = opened.ledger.show(ledger="tasks")["events"]
    assert (event["actor"], event["agent"]) == ("agent:tester", "worker-1")
    assert as_agent("tasks.claim", task_id=task, aspect="docs", agent="worker-1")["ok"]


def test_an_aspect_has_one_holder(tasks, task):
    assert tasks.claim(task_id=task, aspect="docs", agent="one") == {
        "ok": True,
        "task_id": task,
        "aspect": "docs",
        "agent": "one",
        "expires_at": format_time(NOON + HOUR),
        "held_by": None,
    }
    assert tasks.claim(task_id=task, aspect="docs", agent="two", ttl_minutes=480) == {
        "ok": False,
        "task_id": task,
        "aspect": "docs",
        "agent": "two",
        "expires_at": format_time(NOON + HOUR),
        "held_by": "one",
    }
    assert tasks.claim(task_id=task, aspect="tests", agent="two")["ok"]
    assert claims_of(tasks, task) == [("one", "docs"), ("two", "tests")]


def test_one_aspect_in_two_spellings_has_one_holder(tasks, task):
    assert tasks.claim(task_id=task, aspect="Front end", agent="one")["ok"]
    assert tasks.claim(task_id=task, aspect=" front  END", agent="two")["held_by"] == "one"
    assert tasks.release(task_id=task, aspect="FRONT END", agent="one")["ok"]


def test_two_spellings_of_an_agent_are_two_agents(tasks, task):
    assert tasks.claim(task_id=task, aspect="docs", agent="worker")["ok"]
    assert not tasks.claim(task_id=task, aspect="docs", agent="Worker")["ok"]


def test_whoever_holds_an_aspect_may_claim_it_again(tasks, task, clock):
    tasks.claim(task_id=task, aspect="docs", agent="one")
    clock.forward(milliseconds=HOUR // 2)

    again = tasks.claim(task_id=task, aspect="docs", agent="one", ttl_minutes=120)

    assert (again["ok"], again["expires_at"]) == (True, format_time(NOON + HOUR // 2 + 2 * HOUR))


def test_a_claim_expires_to_the_millisecond_and_is_then_anybodys(tasks, task, clock):
    tasks.claim(task_id=task, aspect="docs", agent="one")
    clock.forward(milliseconds=HOUR - 1)
    assert not tasks.claim(task_id=task, aspect="docs", agent="two")["ok"]
    assert claims_of(tasks, task) == [("one", "docs")]

    clock.forward(milliseconds=1)

    assert claims_of(tasks, task) == []
    assert tasks.claim(task_id=task, aspect="docs", agent="two")["ok"]


def test_only_the_holder_renews(tasks, task, clock):
    tasks.claim(task_id=task, aspect="docs", agent="one", ttl_minutes=10)
    clock.forward(milliseconds=60_000)

    assert tasks.renew(task_id=task, aspect="docs", agent="two")["held_by"] == "one"
    renewed = tasks.renew(task_id=task, aspect="docs", agent="one")

    assert (renewed["ok"], renewed["expires_at"]) == (True, format_time(NOON + 60_000 + HOUR))
    [claim] = tasks.status(task_id=task)["tasks"][0]["claims"]
    assert claim["claimed_at"] == format_time(NOON)


def test_a_claim_that_expired_or_never_was_cannot_be_renewed(tasks, task, clock):
    nothing = {"ok": False, "expires_at": None, "held_by": None}
    asked = {"task_id": task, "aspect": "docs", "agent": "one"}

    assert tasks.renew(**asked) == {**asked, **nothing}
    tasks.claim(**asked)
    clock.forward(milliseconds=HOUR)
    assert tasks.renew(**asked) == {**asked, **nothing}


def test_only_the_holder_releases(tasks, task):
    tasks.claim(task_id=task, aspect="docs", agent="one")

    assert tasks.release(task_id=task, aspect="docs", agent="two")["held_by"] == "one"
    assert tasks.release(task_id=task, aspect="docs", agent="one") == {
        "ok": True,
        "task_id": task,
        "aspect": "docs",
        "agent": "one",
        "expires_at": None,
        "held_by": None,
    }
    assert not tasks.release(task_id=task, aspect="docs", agent="one")["ok"]
    assert tasks.claim(task_id=task, aspect="docs", agent="two")["ok"]


@pytest.mark.parametrize("minutes", [0, -1, 481, 10**9])
@pytest.mark.parametrize("verb", ["claim", "renew"])
def test_a_claim_lasts_one_minute_to_eight_hours(refused, tasks, task, verb, minutes):
    refused("bad-arguments", 2, getattr(tasks, verb), task_id=task, aspect="docs", ttl_minutes=minutes)


def test_completing_a_task_ends_all_claims_on_it_and_nothing_else(tasks, task):
    other = tasks.create(title="Another")["task_id"]
    for aspect, agent in (("docs", "one"), ("tests", "two")):
        tasks.claim(task_id=task, aspect=aspect, agent=agent)
    tasks.claim(task_id=other, aspect="docs", agent="two")

    done = tasks.complete(task_id=task, agent="one", reason="Merged.")

    assert (done["status"], done["changed"]) == ("completed", True)
    assert [(claim["agent"], claim["aspect"]) for claim in done["released"]] == [("one", "docs"), ("two", "tests")]
    [shown] = tasks.status(task_id=task)["tasks"]
    assert (shown["status"], shown["claims"], shown["decided_by"], shown["reason"]) == (
        "completed",
        [],
        "one",
        "Merged.",
    )
    assert claims_of(tasks, other) == [("two", "docs")]
    assert [one["id"] for one in tasks.status()["tasks"]] == [other]


def test_a_closed_task_takes_no_claims_until_it_is_reopened(refused, tasks, task):
    tasks.claim(task_id=task, aspect="docs", agent="one")
    tasks.cancel(task_id=task)

    for verb in ("claim", "renew"):
        refused("task-closed", 1, getattr(tasks, verb), task_id=task, aspect="docs", agent="one")
    refused("task-closed", 1, tasks.complete, task_id=task)
    assert tasks.reopen(task_id=task)["status"] == "open"
    assert claims_of(tasks, task) == []
    assert tasks.claim(task_id=task, aspect="docs", agent="two")["ok"]


def test_deciding_the_same_again_records_nothing(opened, tasks, task):
    assert not tasks.reopen(task_id=task)["changed"]
    first = tasks.complete(task_id=task)
    again = tasks.complete(task_id=task)

    assert (again["changed"], again["event_id"], again["status"]) == (False, None, first["status"])
    assert opened.status()["heads"] == {"tasks": 1}
    assert len(opened.ledger.show(ledger="tasks")["events"]) == 2


def test_claims_that_a_crash_left_on_a_closed_task_count_for_nothing(repository, opened, tasks, task):
    tasks.claim(task_id=task, aspect="docs", agent="one")
    kept = database(repository).read_bytes()
    tasks.complete(task_id=task)
    database(repository).write_bytes(kept)

    assert claims_of(tasks, task) == []
    with pytest.raises(Refused) as refusal:
        tasks.claim(task_id=task, aspect="docs", agent="two")
    assert refusal.value.code == "task-closed"
    assert len(tasks.complete(task_id=task)["released"]) == 1


def test_a_finding_links_knowledge(opened, knowledge, tasks, task):
    entry = knowledge.add(title="T", text="x", provenance=["cmd:x"])["id"]

    posted = tasks.post_finding(task_id=task, summary="It is slow.\n", agent="one", knowledge_id=entry[:12])
    tasks.post_finding(task_id=task, summary="It is ugly.")

    assert tasks.findings(task_id=task)["findings"][0] == {
        "id": posted["finding_id"],
        "task_id": task,
        "agent": "one",
        "summary": "It is slow.",
        "knowledge_id": entry,
        "created_at": format_time(NOON),
    }
    assert tasks.status(task_id=task)["tasks"][0]["findings"] == 2


def test_findings_are_bounded_and_the_newest_come_last(tasks, task, clock):
    for number in range(5):
        tasks.post_finding(task_id=task, summary=f"Number {number}")
        clock.forward(milliseconds=1_000)

    found = tasks.findings(task_id=task, limit=2)
    assert [one["summary"] for one in found["findings"]] == ["Number 3", "Number 4"]
    assert (found["total"], found["count"]) == (5, 2)
    since = tasks.findings(task_id=task, since=format_time(NOON + 3_000))
    assert [one["summary"] for one in since["findings"]] == ["Number 3", "Number 4"]


def test_a_finding_may_come_after_its_task_was_completed(tasks, task):
    tasks.complete(task_id=task)

    assert tasks.post_finding(task_id=task, summary="Too late, and true.")["task_id"] == task


def test_a_task_and_a_finding_can_be_cited(knowledge, tasks, task):
    finding = tasks.post_finding(task_id=task, summary="It is slow.")["finding_id"]

    added = knowledge.add(title="T", text="x", provenance=[f"event:{task}", f"event:{finding}"])

    assert added["action"] == "inserted"


def test_what_names_an_unknown_task_is_refused(refused, tasks, task):
    unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    for asked in (unknown, "nonsense", "", "  ", "\u200b", "a' OR 1=1 --", "0" * 5_000):
        refused("not-found", 1, tasks.status, task_id=asked)
        refused("not-found", 1, tasks.claim, task_id=asked, aspect="docs")
        refused("not-found", 1, tasks.post_finding, task_id=asked, summary="s")
        refused("not-found", 1, tasks.findings, task_id=asked)
        refused("not-found", 1, tasks.complete, task_id=asked)


def test_a_finding_about_knowledge_that_is_not_there_is_refused(refused, knowledge, tasks, task):
    gone = knowledge.add(title="T", text="x", provenance=["cmd:x"])["id"]
    knowledge.delete(id=gone)

    refused("not-found", 1, tasks.post_finding, task_id=task, summary="s", knowledge_id="nowhere")
    refused("deleted", 1, tasks.post_finding, task_id=task, summary="s", knowledge_id=gone)


def test_empty_names_and_texts_are_refused(refused, tasks, task):
    for nothing in ("", "   ", "\u200b"):
        refused("empty", 2, tasks.create, title="T", agent=nothing)
        refused("empty", 2, tasks.claim, task_id=task, aspect="docs", agent=nothing)
        refused("empty", 2, tasks.claim, task_id=task, aspect=nothing)
        refused("empty", 2, tasks.post_finding, task_id=task, summary="s", agent=nothing)
    refused("no-title", 2, tasks.create, title=" \n ")
    refused("empty", 2, tasks.post_finding, task_id=task, summary=" \n ")
    refused("bad-text", 2, tasks.claim, task_id=task, aspect="a\x1b[2Jb")
    refused("bad-text", 2, tasks.create, title="T", agent="a\nb")


def test_what_is_too_long_or_a_secret_is_refused(refused, tasks, task):
    refused("too-long", 2, tasks.create, title="T", description="x" * 20_001)
    refused("too-long", 2, tasks.post_finding, task_id=task, summary="x" * 4_001)
    refused("too-long", 2, tasks.claim, task_id=task, aspect="x" * 201)
    leak = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    refused("secret", 1, tasks.create, title="T", description=f"token {leak}")
    refused("secret", 1, tasks.post_finding, task_id=task, summary=f"token {leak}")


@pytest.mark.parametrize("verb", ["status", "list", "findings"])
def test_a_limit_of_nothing_is_refused_and_the_next_question_is_answered(refused, tasks, task, verb):
    asked = {"task_id": task} if verb == "findings" else {}
    refused("bad-arguments", 2, getattr(tasks, verb), limit=0, **asked)

    assert getattr(tasks, verb)(limit=1, **asked)["count"] in (0, 1)


def test_tasks_are_found_by_status_tags_and_agent_before_the_limit_is_applied(tasks, clock):
    wanted = tasks.create(title="Wanted", tags=["Front End", "a, b"], agent="one")["task_id"]
    for number in range(60):
        tasks.create(title=f"Other {number}", agent="two")
    tasks.complete(task_id=wanted)

    for filter_ in ({"tags": ["front end", "A, B"]}, {"created_by": "one"}, {"tags": ["a, b"], "created_by": "one"}):
        found = tasks.list(status="any", limit=1, **filter_)
        assert [one["id"] for one in found["tasks"]] == [wanted]
    assert [one["id"] for one in tasks.list(status="completed")["tasks"]] == [wanted]
    assert tasks.list(tags=["front"])["total"] == 0
    page = tasks.list(limit=10, offset=55)
    assert (page["total"], page["count"]) == (60, 5)


def test_a_task_is_found_by_the_beginning_of_its_id(refused, tasks, task, clock):
    assert tasks.status(task_id=task[:12].lower())["tasks"][0]["id"] == task
    second = tasks.create(title="Second")["task_id"]
    assert task[:8] == second[:8]

    refused("ambiguous-id", 1, tasks.status, task_id=task[:8])


def test_tasks_and_findings_are_part_of_the_state(opened, tasks, task, repository, clock):
    tasks.post_finding(task_id=task, summary="It is slow.")
    tasks.cancel(task_id=task)
    before = opened.status()

    assert before["tasks"] == {"cancelled": 1}
    assert opened.rebuild(check=True)["ok"]
    assert opened.rebuild()["digest"] == before["digest"]
    opened.tasks.reopen(task_id=task)
    assert opened.status()["digest"] != before["digest"]


def test_claims_are_no_part_of_the_state(opened, tasks, task, repository):
    before = opened.status()
    tasks.claim(task_id=task, aspect="docs", agent="one")
    after = opened.status()

    assert (before["claims"], after["claims"]) == (0, 1)
    assert {**before, "claims": 1} == after
    assert "decapod/claims" not in git(repository, "status", "--porcelain", "--ignored")


def test_a_redacted_task_shows_no_text_and_its_finding_neither(opened, tasks, task):
    finding = tasks.post_finding(task_id=task, summary="Something private.")["finding_id"]
    tasks.cancel(task_id=task, reason="Another private thing.")
    for event in opened.ledger.show(ledger="tasks")["events"]:
        opened.ledger.redact(target=event["event_id"], reason="leaked")

    assert tasks.findings(task_id=task)["findings"][0]["summary"] == "[redacted]"
    [shown] = tasks.status(task_id=task)["tasks"]
    assert shown["title"] == "[redacted]" and "reason" not in shown and shown["status"] == "cancelled"
    assert finding == tasks.findings(task_id=task)["findings"][0]["id"]
    assert opened.rebuild(check=True)["ok"]


def test_worktrees_share_claims_and_see_at_once_what_another_closed(repository, opened, tasks, task, clock, tmp_path):
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "A task")
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    with Decapod(tmp_path / "other", actor="Ben", clock=clock) as other:
        assert tasks.claim(task_id=task, aspect="docs", agent="one")["ok"]
        assert other.tasks.claim(task_id=task, aspect="docs", agent="two")["held_by"] == "one"
        assert claims_of(other.tasks, task) == [("one", "docs")]

        other.tasks.complete(task_id=task)

        assert claims_of(tasks, task) == []
        with pytest.raises(Refused) as refusal:
            tasks.claim(task_id=task, aspect="tests", agent="one")
        assert refusal.value.code == "task-closed"
        assert tasks.status()["total"] == 0
        assert [one["id"] for one in tasks.list(status="completed")["tasks"]] == [task]


def test_a_task_that_another_worktree_recorded_can_be_claimed_and_completed(repository, tasks, opened, clock, tmp_path):
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    task = tasks.create(title="Not committed")["task_id"]
    with Decapod(tmp_path / "other", actor="Ben", clock=clock) as other:
        assert other.tasks.claim(task_id=task[:15], aspect="docs", agent="two")["ok"]
        [shown] = other.tasks.status(task_id=task)["tasks"]
        assert (shown["title"], shown["here"], shown["status"]) == (None, False, "open")
        other.tasks.post_finding(task_id=task, summary="Found elsewhere.", agent="two")
        assert "another worktree" in other.warnings[0]
        other.tasks.complete(task_id=task)
        git(tmp_path / "other", "add", "-A")
        git(tmp_path / "other", "commit", "-qm", "Done")

    assert tasks.status()["total"] == 0
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "A task")
    git(repository, "merge", "-q", "--no-edit", "other")

    [shown] = tasks.status(task_id=task)["tasks"]
    assert (shown["title"], shown["status"], shown["findings"]) == ("Not committed", "completed", 1)
    assert opened.rebuild(check=True)["ok"]


@pytest.mark.parametrize("ahead", [20_000, 24 * HOUR])
def test_a_decision_holds_over_the_one_it_was_made_from_whatever_the_clocks_say(
    repository, opened, tasks, task, clock, tmp_path, ahead
):
    tasks.cancel(task_id=task)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "A task")
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    with Decapod(tmp_path / "other", actor="Ben", clock=lambda: clock() + ahead) as other:
        other.tasks.reopen(task_id=task)
        tasks.claim(task_id=task, aspect="docs", agent="one")

        decided = tasks.complete(task_id=task)

        assert (decided["status"], [claim["agent"] for claim in decided["released"]]) == ("completed", ["one"])
        for seen in (tasks, other.tasks):
            assert [one["status"] for one in seen.status(task_id=task)["tasks"]] == ["completed"]
            with pytest.raises(Refused) as refusal:
                seen.claim(task_id=task, aspect="docs", agent="two")
            assert refusal.value.code == "task-closed"
    git(tmp_path / "other", "add", "-A")
    git(tmp_path / "other", "commit", "-qm", "Open again")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Done")
    git(repository, "merge", "-q", "--no-edit", "other")
    database(repository).unlink()  # what the ledger says by itself
    assert [one["status"] for one in tasks.status(task_id=task)["tasks"]] == ["completed"]
    assert opened.ledger.verify()["ok"]


def test_claiming_needs_a_git_directory_that_can_be_written_and_nothing_else_does(repository, tasks, task):
    git_dir = repository / ".git"
    shutil.rmtree(git_dir / "decapod")
    (git_dir / "decapod").write_text("in the way")

    for verb in ("claim", "renew", "release"):
        with pytest.raises(Refused) as refusal:
            getattr(tasks, verb)(task_id=task, aspect="docs")
        assert refusal.value.code == "claims-unwritable"
    other = tasks.create(title="Works")["task_id"]
    tasks.post_finding(task_id=other, summary="Works too.")
    tasks.complete(task_id=other)
    assert tasks.status()["total"] == 1


@pytest.mark.parametrize("name", ["", "claims.db", "claims.lock"])
def test_no_claim_goes_through_a_link(repository, tasks, task, tmp_path, name):
    folder = repository / ".git" / "decapod"
    place = folder / name if name else folder
    elsewhere = tmp_path / "elsewhere"
    shutil.move(place, elsewhere)
    place.symlink_to(elsewhere)

    with pytest.raises(Refused) as refusal:
        tasks.claim(task_id=task, aspect="docs")
    assert refusal.value.code == "claims-unwritable"


@pytest.mark.parametrize("damage", [b"no database at all" * 100, "table", "page"])
def test_a_damaged_claim_database_refuses_claims_and_is_never_quietly_made_anew(
    repository, opened, tasks, task, damage
):
    for number in range(200):
        tasks.claim(task_id=task, aspect=f"aspect {number}", agent="one")
    path = database(repository)
    if damage == "table":
        with sqlite3.connect(path) as connection:
            connection.execute("DROP TABLE claims")
    elif damage == "page":
        pages = path.read_bytes()
        path.write_bytes(pages[:4096] + b"\xff" * (len(pages) - 4096))
    else:
        path.write_bytes(damage)
    found = path.read_bytes()

    with pytest.raises(Refused) as refusal:
        tasks.claim(task_id=task, aspect="aspect 7", agent="two")

    assert refusal.value.code == "claims-damaged" and "remove it" in str(refusal.value.hint)
    assert path.read_bytes() == found
    assert not list((repository / ".decapod" / "local").glob("*.unreadable*"))
    assert tasks.status()["total"] == 1 and opened.warnings
    assert [one["code"] for one in opened.doctor()["problems"]] == ["claims-damaged"]
    path.unlink()
    assert tasks.claim(task_id=task, aspect="aspect 7", agent="two")["ok"]


def test_a_claim_database_of_a_newer_version_is_refused(repository, tasks, task):
    with sqlite3.connect(database(repository)) as connection:
        connection.execute("PRAGMA user_version = 99")

    with pytest.raises(Refused) as refusal:
        tasks.claim(task_id=task, aspect="docs")
    assert refusal.value.code == "newer-data"


def test_outside_git_claims_are_local(tmp_path, clock):
    with Decapod(tmp_path, actor="Ada", clock=clock) as plain:
        plain.init()
        task = plain.tasks.create(title="T")["task_id"]
        assert plain.tasks.claim(task_id=task, aspect="docs", agent="one")["ok"]
        assert not plain.tasks.claim(task_id=task, aspect="docs", agent="two")["ok"]
    assert (tmp_path / ".decapod" / "local" / "claims.db").exists()


def test_two_workspaces_in_one_repository_have_claims_of_their_own(repository, tasks, task, clock):
    (repository / "inner" / ".decapod" / "ledgers").mkdir(parents=True)
    with Decapod(repository / "inner", actor="Ada", clock=clock) as inner:
        with pytest.raises(Refused) as refusal:
            inner.tasks.claim(task_id=task, aspect="docs")
        assert refusal.value.code == "not-found"
        own = inner.tasks.create(title="Inner")["task_id"]
        assert inner.tasks.claim(task_id=own, aspect="docs")["ok"]
    assert tasks.status()["total"] == 1
    assert len(list((repository / ".git" / "decapod").glob("claims*.db"))) == 2


def test_uninstall_removes_the_claims_unless_somebody_holds_one(repository, opened, tasks, task, clock):
    tasks.claim(task_id=task, aspect="docs", agent="one")
    opened.uninstall()
    assert "hold claims" in opened.warnings[0] and database(repository).exists()

    clock.forward(milliseconds=HOUR)
    opened.uninstall()

    assert not (repository / ".git" / "decapod").exists()


def test_a_held_claim_is_an_answer_with_exit_code_1(repository):
    task = decapod(repository, "tasks", "create", "Parse it")["task_id"]
    decapod(repository, "tasks", "claim", task, "docs", "--agent", "one")

    held = run(repository, "tasks", "claim", task, "docs", "--agent", "two", "--json")
    plain = run(repository, "tasks", "claim", task, "docs", "--agent", "two")

    assert (held.returncode, held.stderr, json.loads(held.stdout)["held_by"]) == (1, "", "one")
    assert plain.returncode == 1 and plain.stdout.startswith(f"held: one holds docs of {task} until ")
    assert refusal(repository, "tasks", "claim", task, "docs", "--ttl-minutes", "481") == (2, "bad-arguments")
    assert refusal(repository, "tasks", "list", "--limit", "0")[0] == 2


def test_agents_are_offered_every_operation_on_tasks_and_agents():
    names = {
        *("tasks_create", "tasks_claim", "tasks_renew", "tasks_release", "tasks_complete", "tasks_cancel"),
        *("tasks_reopen", "tasks_status", "tasks_list", "tasks_post_finding", "tasks_findings"),
        *("agents_register", "agents_info", "agents_list"),
    }
    assert set(toolsets.tools_of(["tasks", "agents"])) == names
    assert not names & set(toolsets.tools_of(["core"]))


def test_a_clock_that_goes_back_frees_nothing(tasks, task, clock: StandingClock):
    tasks.claim(task_id=task, aspect="docs", agent="one")
    clock.forward(days=-3)

    assert tasks.claim(task_id=task, aspect="docs", agent="two")["held_by"] == "one"


def test_refusals_are_of_our_own_type(tasks, task):
    with pytest.raises(DecapodError):
        tasks.claim(task_id=task, aspect="\ud800")
    with pytest.raises(Misused):
        tasks.findings(task_id=task, since="yesterday")
