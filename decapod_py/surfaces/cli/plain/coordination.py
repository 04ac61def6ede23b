"""Tasks, claims, findings and agents as plain text."""

from __future__ import annotations

from collections.abc import Callable

from decapod_py.domain.text import one_line
from decapod_py.surfaces.cli.output import to_json
from decapod_py.surfaces.cli.plain.wording import Lines, Result, facts, indented, quantity


def _task_created(result: Result) -> Lines:
    yield f"created {one_line(result['task_id'])}"
    yield f"next: decapod tasks claim {one_line(result['task_id'])} ASPECT"


def _claimed(result: Result) -> Lines:
    aspect, task = one_line(result["aspect"]), one_line(result["task_id"])
    if result["ok"]:
        yield f"{one_line(result['agent'])} holds {aspect} of {task} until {one_line(result['expires_at'])}"
    elif result["held_by"]:
        yield f"held: {one_line(result['held_by'])} holds {aspect} of {task} until {one_line(result['expires_at'])}"
    else:
        yield f"free: nobody holds {aspect} of {task} any more; claim it again"


def _released(result: Result) -> Lines:
    if result["ok"]:
        yield f"released {one_line(result['aspect'])} of {one_line(result['task_id'])}"
    elif result["held_by"]:
        yield from _claimed(result)
    else:
        yield f"free: nobody holds {one_line(result['aspect'])} of {one_line(result['task_id'])}"


def _task_decided(result: Result) -> Lines:
    already = "" if result["changed"] else "already "
    yield f"{one_line(result['task_id'])} is {already}{one_line(result['status'])}"
    for claim in result["released"]:
        yield f"released {one_line(claim['aspect'])}, held by {one_line(claim['agent'])}"


def _tasks_listed(result: Result) -> Lines:
    for task in result["tasks"]:
        yield task_heading(task)
        yield from (f"  {line}" for line in facts(task_facts(task)))
        yield from indented(task.get("description", ""), by="  ") if task.get("description") else ()
    yield tasks_summary(result)


def task_heading(task: Result) -> str:
    title = one_line(task["title"]) if task["here"] else "(recorded in another worktree)"
    tags = "".join(f" #{one_line(tag)}" for tag in task["tags"])
    remark = "" if task["status"] == "open" else f" ({one_line(task['status'])})"
    return f"{one_line(task['id'])}  {title}{remark}{tags}"


def task_facts(task: Result) -> list[tuple[str, str]]:
    """Who works on a task, and what came of it."""
    decided = f"{one_line(task['decided_at'])} by {one_line(task['decided_by'])}" if "decided_at" in task else ""
    return [
        *((one_line(claim["aspect"]), _holder(claim)) for claim in task["claims"]),
        ("findings", str(task["findings"] or "")),
        ("decided", decided),
        ("reason", one_line(task.get("reason", ""))),
    ]


def _holder(claim: Result) -> str:
    return f"held by {one_line(claim['agent'])} until {one_line(claim['expires_at'])}"


def tasks_summary(result: Result) -> str:
    if result["count"] == result["total"]:
        return quantity(result["total"], "task")
    return f"{result['count']} of {quantity(result['total'], 'task')}; --limit shows more"


def _finding_posted(result: Result) -> Lines:
    yield f"recorded finding {one_line(result['finding_id'])} for {one_line(result['task_id'])}"


def _findings_listed(result: Result) -> Lines:
    for finding in result["findings"]:
        entry = f" [{one_line(finding['knowledge_id'])}]" if finding["knowledge_id"] else ""
        yield f"{one_line(finding['created_at'])}  {one_line(finding['agent'])}{entry}"
        yield from indented(finding["summary"], by="  ")
    if result["count"] == result["total"]:
        yield quantity(result["total"], "finding")
    else:
        yield f"the newest {result['count']} of {quantity(result['total'], 'finding')}; --limit shows more"


def _agent_registered(result: Result) -> Lines:
    word = "registered" if result["created"] else "updated" if result["changed"] else "unchanged"
    yield f"{word} {one_line(result['agent'])}"


def _agent(result: Result) -> Lines:
    yield from facts([*agent_facts(result), ("metadata", to_json(result["metadata"]) if result["metadata"] else "")])
    for claim in result["claims"]:
        yield f"holds {one_line(claim['aspect'])} of {one_line(claim['task_id'])} until {one_line(claim['expires_at'])}"


def agent_facts(agent: Result) -> list[tuple[str, str]]:
    return [
        ("id", one_line(agent["id"])),
        ("name", one_line(agent["name"] or "")),
        ("type", one_line(agent["type"] or "")),
        ("first seen", one_line(agent["first_seen_at"])),
        ("last seen", one_line(agent["last_seen_at"])),
    ]


def _agents_listed(result: Result) -> Lines:
    width = max((len(one_line(agent["id"])) for agent in result["agents"]), default=0)
    for agent in result["agents"]:
        more = [one_line(agent[field]) for field in ("name", "type") if agent[field]]
        remark = f"  ({', '.join(more)})" if more else ""
        yield f"{one_line(agent['id']):<{width}}  {one_line(agent['last_seen_at'])}{remark}"
    if result["count"] == result["total"]:
        yield quantity(result["total"], "agent")
    else:
        yield f"{result['count']} of {quantity(result['total'], 'agent')}; --limit shows more"


RENDERERS: dict[str, Callable[[Result], Lines]] = {
    "tasks.create": _task_created,
    "tasks.claim": _claimed,
    "tasks.renew": _claimed,
    "tasks.release": _released,
    "tasks.complete": _task_decided,
    "tasks.cancel": _task_decided,
    "tasks.reopen": _task_decided,
    "tasks.status": _tasks_listed,
    "tasks.list": _tasks_listed,
    "tasks.post-finding": _finding_posted,
    "tasks.findings": _findings_listed,
    "agents.register": _agent_registered,
    "agents.info": _agent,
    "agents.list": _agents_listed,
}
