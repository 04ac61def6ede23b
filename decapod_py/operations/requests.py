"""What each operation may be asked: one model a request, for the command line, agents, schemas and Python.

A model holds types, bounds and words. What is *true* (an id that is free, a provenance that has a form) is decided by
the rules, so that every route refuses with the same error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


@dataclass(frozen=True)
class Cli:
    """How a field appears on the command line, where its name alone does not say."""

    positional: bool = False
    option: str | None = None  # another name than the field's
    metavar: str | None = None
    reads_file: bool = False  # `-` reads standard input, and `--<option>-file` a file


@dataclass(frozen=True)
class PeopleOnly:
    """Not offered to agents: the field decides something an agent may not decide."""


@dataclass(frozen=True)
class Unlisted:
    """Taken from agents, but not listed: few need it, and every argument in the list costs all of them context."""


Status = Literal["active", "superseded", "deprecated", "stale"]
TtlPolicy = Literal["ephemeral", "decay", "persistent"]
Outcome = Literal["helped", "neutral", "hurt", "unknown"]

Id = Annotated[
    str, Cli(positional=True, metavar="ID"), Field(description="Entry id, or the unique beginning of a ULID")
]
ExpectedVersion = Annotated[
    str | None, Cli(metavar="VERSION"), Field(description="Refuse unless this is still the entry's version")
]
Actor = Annotated[
    str | None, PeopleOnly(), Field(description="Who does this (default: DECAPOD_ACTOR, then git's user.name)")
]
AsOf = Annotated[
    str | None,
    Cli(metavar="TIME|REF"),
    Field(description="As known then (RFC 3339), or as a commit has it"),
]
AllowSecret = Annotated[
    str | None, PeopleOnly(), Cli(metavar="REASON"), Field(description="Why what looks like a secret may be recorded")
]
Tags = Annotated[list[str], Cli(option="--tag", metavar="TAG")]


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Nothing(Request):
    """An operation without arguments."""


class Init(Request):
    pass


class Rebuild(Request):
    check: Annotated[bool, Field(description="Change nothing; prove that database and Markdown equal the fold")] = False


class Doctor(Request):
    fix: Annotated[bool, Field(description="Repair what loses nothing")] = False


class Uninstall(Request):
    everything: Annotated[
        bool, Field(description="Remove .decapod/ itself too; refused unless all of it is committed")
    ] = False


class HookNames(Request):
    hooks: Annotated[
        list[str],
        Cli(positional=True, metavar="HOOK..."),
        Field(description="pre-commit, post-merge, post-checkout or pre-push; several may be named"),
    ] = []


class RunHook(Request):
    hook: Annotated[
        Literal["pre-commit", "post-merge", "post-checkout", "pre-push"],
        Cli(positional=True, metavar="HOOK"),
        Field(description="pre-commit, post-merge, post-checkout or pre-push"),
    ]
    pushed: Annotated[
        str | None,
        Cli(metavar="TEXT", reads_file=True),
        Field(description="Of pre-push: the lines that git tells its hook on standard input (default: HEAD)"),
    ] = None


class Connect(Request):
    client: Annotated[
        Literal["claude", "cursor", "vscode", "codex", "gemini"],
        Cli(positional=True, metavar="CLIENT"),
        Field(description="claude, cursor, vscode, codex or gemini"),
    ]
    print: Annotated[bool, Field(description="Print what to add by hand and write nothing")] = False
    remove: Annotated[bool, Field(description="Take out what we wrote, and nothing else")] = False
    instructions: Annotated[
        bool, Field(description="Also the section for agents in CLAUDE.md, GEMINI.md or AGENTS.md")
    ] = False


class RunProofs(Request):
    names: Annotated[
        list[str], Cli(positional=True, metavar="NAME"), Field(description="Only these proofs (default: all)")
    ] = []
    actor: Actor = None


class Trust(Request):
    revoke: Annotated[bool, Field(description="End the trust")] = False


class AddEntry(Request):
    note: Annotated[
        str | None,
        Cli(positional=True, metavar="NOTE"),
        Field(description="Title in the first line, content below"),
    ] = None
    title: Annotated[str | None, Field(description="Short title")] = None
    text: Annotated[str | None, Cli(reads_file=True), Field(description="The content, in Markdown")] = None
    provenance: Annotated[
        list[str],
        Cli(metavar="REF"),
        Field(description="file:PATH[#L3-L9], url:, cmd:, commit:, event: or person:; repeatable"),
    ] = []
    sources: Annotated[
        list[str],
        Cli(option="--from", metavar="PATH[:LINES]"),
        Field(description="Short for file: provenance, as path:3-9; stands first"),
    ] = []
    id: Annotated[str | None, Field(description="Default: a new ULID")] = None
    merge_key: Annotated[str | None, Field(description="One active entry a key and scope")] = None
    on_conflict: Annotated[
        Literal["merge", "supersede", "reject"], Field(description="What to do when the key is held")
    ] = "merge"
    scope: Annotated[str | None, Field(description="Where the key counts (default: root)")] = None
    tags: Annotated[Tags, Field(description="Tag; repeatable")] = []
    claim_id: Annotated[str | None, Field(description="The claim this belongs to")] = None
    source: Annotated[str | None, Unlisted(), Field(description="A note on where it comes from, free in form")] = None
    folder: Annotated[
        str | None, Unlisted(), Cli(metavar="PATH"), Field(description="Folder of its file, below .decapod/knowledge/")
    ] = None
    status: Annotated[Literal["active", "deprecated", "stale"], Field(description="Status to start with")] = "active"
    ttl_policy: Annotated[TtlPolicy | None, Field(description="How long it lives (default: persistent)")] = None
    expires_ts: Annotated[str | None, Cli(metavar="TIME|30d"), Field(description="A time, or a duration from now")] = (
        None
    )
    confidence: Annotated[float | None, Field(ge=0, le=1, description="How sure its author is")] = None
    allow_secret: AllowSecret = None
    actor: Actor = None


class EditEntry(Request):
    id: Id
    title: Annotated[str | None, Field(description="New title")] = None
    text: Annotated[str | None, Cli(reads_file=True), Field(description="New content")] = None
    provenance: Annotated[list[str] | None, Cli(metavar="REF"), Field(description="New provenance; repeatable")] = None
    sources: Annotated[
        list[str], Cli(option="--from", metavar="PATH[:LINES]"), Field(description="Short for file: provenance")
    ] = []
    merge_key: Annotated[str | None, Field(description="New merge key; empty clears it")] = None
    tags: Annotated[
        list[str] | None, Cli(option="--tag", metavar="TAG"), Field(description="New tags; one empty tag clears them")
    ] = None
    claim_id: Annotated[str | None, Field(description="New claim; empty clears it")] = None
    source: Annotated[str | None, Unlisted(), Field(description="New note on where it comes from; empty clears it")] = (
        None
    )
    ttl_policy: Annotated[TtlPolicy | None, Field(description="New lifetime policy")] = None
    expires_ts: Annotated[
        str | None, Cli(metavar="TIME|30d"), Field(description="New expiry; empty gives the policy's own")
    ] = None
    confidence: Annotated[float | None, Field(ge=0, le=1, description="New confidence")] = None
    expected_version: ExpectedVersion = None
    allow_secret: AllowSecret = None
    actor: Actor = None


class GetEntry(Request):
    id: Id
    as_of: AsOf = None
    max_chars: Annotated[int | None, Field(ge=1, description="Cut it before this, at a sentence, and say so")] = None


class ListEntries(Request):
    status: Annotated[
        Literal["active", "superseded", "deprecated", "stale", "any"], Field(description="Only this status")
    ] = "active"
    tags: Annotated[Tags, Field(description="Only entries with this tag; repeatable, all must match")] = []
    scope: Annotated[str | None, Field(description="Only this scope")] = None
    merge_key: Annotated[str | None, Field(description="Only this merge key")] = None
    author: Annotated[str | None, Field(description="Only entries first written by this actor")] = None
    path_prefix: Annotated[str | None, Cli(metavar="PATH"), Field(description="Only files that begin like this")] = None
    since: Annotated[str | None, Cli(metavar="TIME"), Field(description="Only entries updated since")] = None
    diverged: Annotated[bool, Field(description="Only entries with more than one head version")] = False
    drifted: Annotated[bool, Field(description="Only entries whose cited files are not as they were cited")] = False
    as_of: AsOf = None
    limit: Annotated[int, Field(ge=1, le=10_000, description="At most this many")] = 50
    offset: Annotated[int, Field(ge=0, description="Skip this many")] = 0


class History(Request):
    id: Id
    limit: Annotated[int, Field(ge=1, le=10_000, description="At most this many, newest first")] = 50
    max_chars: Annotated[int | None, Field(ge=1, description="Cut each text here and say so")] = None


class Search(Request):
    query: Annotated[str, Cli(positional=True, metavar="QUERY"), Field(description="Words or a question")]
    as_of: AsOf = None
    window_days: Annotated[int | None, Field(ge=0, le=100_000, description="Only created in the last N days")] = None
    rank: Annotated[Literal["relevance", "recency_decay"], Field(description="How to order")] = "relevance"
    limit: Annotated[int, Field(ge=1, le=1_000, description="At most this many")] = 10
    status: Annotated[
        Literal["active", "superseded", "deprecated", "stale", "any"], Field(description="Only this status")
    ] = "active"
    tags: Annotated[Tags, Field(description="Only with this tag; repeatable, all must match")] = []
    scope: Annotated[str | None, Field(description="Only this scope")] = None
    author: Annotated[str | None, Field(description="Only by this first author")] = None
    path_prefix: Annotated[str | None, Cli(metavar="PATH"), Field(description="Only files that begin like this")] = None
    since: Annotated[str | None, Cli(metavar="TIME"), Field(description="Only updated since")] = None
    mode: Annotated[
        Literal["lexical", "semantic", "hybrid"] | None,
        Field(description="By words, meaning or both (default where installed)"),
    ] = None
    threshold: Annotated[
        float | None, Unlisted(), Field(ge=0, le=1, description="Only meanings as near as this (default: 0.15)")
    ] = None
    explain: Annotated[bool, Field(description="Show each component of the score")] = False
    content: Annotated[
        bool | None,
        Cli(option="--content/--no-content"),
        Field(description="Whole content, not just a snippet"),
    ] = None
    max_chars: Annotated[int | None, Field(ge=1, description="At most this much text in all")] = None


EdgeKinds = Annotated[
    list[str],
    Cli(option="--kind", metavar="KIND"),
    Field(description="Only link, supersedes, promotion or provenance; repeatable (default: all)"),
]


class ShowLinks(Request):
    id: Id
    direction: Annotated[
        Literal["outgoing", "incoming", "both"], Field(description="What it leads to, what leads to it, or both")
    ] = "both"
    depth: Annotated[int, Field(ge=1, le=3, description="Follow so many steps")] = 1
    kinds: EdgeKinds = []
    limit: Annotated[int, Field(ge=1, le=10_000, description="At most this many in each direction")] = 50


class BrokenLinks(Request):
    limit: Annotated[int, Field(ge=1, le=10_000, description="At most this many")] = 100


class LinkGraph(Request):
    format: Annotated[Literal["mermaid", "dot", "json"], Field(description="Mermaid, DOT for Graphviz, or JSON")] = (
        "mermaid"
    )
    kinds: EdgeKinds = []
    limit: Annotated[int, Field(ge=1, le=1_000_000, description="At most this many edges")] = 500


class EvalRetrieval(Request):
    file: Annotated[
        str, Cli(positional=True, metavar="FILE"), Field(description="JSON lines of queries; - for standard input")
    ]
    modes: Annotated[
        list[str],
        Cli(option="--mode", metavar="MODE"),
        Field(description="lexical, semantic or hybrid; repeatable (default: all there are)"),
    ] = []
    k: Annotated[int, Field(ge=1, le=1_000, description="Look at the first so many results")] = 10


class Drift(Request):
    ids: Annotated[
        list[str], Cli(positional=True, metavar="ID"), Field(description="Only these entries (default: all in use)")
    ] = []
    since: Annotated[
        str | None, Cli(metavar="REF"), Field(description="Only entries that cite a file changed since this commit")
    ] = None
    path: Annotated[str | None, Cli(metavar="GLOB"), Field(description="Only entries that cite such a file")] = None
    fix: Annotated[bool, Field(description="Anchor anew what only moved or was reformatted")] = False
    limit: Annotated[int, Field(ge=1, le=1_000_000, description="At most this many citations, the worst first")] = 1_000
    actor: Actor = None


class Reaffirm(Request):
    ids: Annotated[list[str], Cli(positional=True, metavar="ID"), Field(description="Entries that still hold")] = []
    since: Annotated[
        str | None, Cli(metavar="REF"), Field(description="All that cite a file changed since this commit")
    ] = None
    path: Annotated[str | None, Cli(metavar="GLOB"), Field(description="All that cite such a file")] = None
    reason: Annotated[str, Field(description="Why they still hold")]
    actor: Actor = None


class Why(Request):
    place: Annotated[
        str, Cli(positional=True, metavar="PATH[:LINE]"), Field(description="A file, or a line or range as path:3-9")
    ]
    limit: Annotated[int, Field(ge=1, le=1_000, description="At most this many")] = 10


class Scan(Request):
    base: Annotated[
        str | None,
        Cli(metavar="REF"),
        Field(description="Only what this branch broke or wrote since it left REF"),
    ] = None
    adopt: Annotated[bool, Field(description="Record what names files that are there, as anchored entries")] = False
    limit: Annotated[int, Field(ge=1, le=100_000, description="Show at most this many findings")] = 200


class Validate(Request):
    base: Annotated[
        str | None, Cli(metavar="REF"), Field(description="Only what this branch changes since it left REF")
    ] = None
    gates: Annotated[
        list[str], Cli(option="--gate", metavar="GATE"), Field(description="Only this gate; repeatable")
    ] = []
    path: Annotated[str | None, Cli(metavar="GLOB"), Field(description="Only findings about such files")] = None
    format: Annotated[
        Literal["text", "json", "sarif", "github"],
        Field(description="Text, JSON, SARIF 2.1.0, or annotations for GitHub"),
    ] = "text"
    strict: Annotated[bool, Field(description="Warnings fail too")] = False
    staged: Annotated[bool, Field(description="What the next commit has, not the working tree")] = False
    run_proofs: Annotated[bool, PeopleOnly(), Field(description="Run the proofs that have no good receipt")] = False
    write_baseline: Annotated[
        bool, PeopleOnly(), Field(description="Record today's findings as known: from then on new ones count")
    ] = False
    explain: Annotated[str | None, Cli(metavar="GATE"), Field(description="Say what a gate looks at, and why")] = None


class Review(Request):
    base: Annotated[str, Cli(metavar="REF"), Field(description="The branch that this one is to be merged into")]
    format: Annotated[
        Literal["text", "markdown"], Field(description="Text, or Markdown for a pull request's summary")
    ] = "text"


class StatusChange(Request):
    id: Id
    reason: Annotated[str | None, Field(description="Why")] = None
    expected_version: ExpectedVersion = None
    actor: Actor = None


class Revive(Request):
    id: Id
    expires_ts: Annotated[
        str | None, Cli(metavar="TIME|30d"), Field(description="New expiry, where the old one has passed")
    ] = None
    provenance: Annotated[
        str | None, Cli(metavar="event:ID"), Field(description="The promotion that allows it, for a procedural entry")
    ] = None
    reason: Annotated[str | None, Field(description="Why")] = None
    expected_version: ExpectedVersion = None
    actor: Actor = None


class Settle(Request):
    target: Annotated[
        str,
        Cli(positional=True, metavar="ID|KEY"),
        Field(description="A diverged entry, or a merge key with several holders"),
    ]
    keep: Annotated[str, Cli(metavar="VERSION|ID"), Field(description="The version, or for a key the entry, to keep")]
    scope: Annotated[str | None, Field(description="Scope of the merge key (default: root)")] = None
    reason: Annotated[str | None, Field(description="Why")] = None
    actor: Actor = None


class Sync(Request):
    dry_run: Annotated[bool, Field(description="Say what would be taken in and write nothing")] = False
    allow_deletions: Annotated[
        bool, PeopleOnly(), Field(description="Deprecate the entries of many files that are gone at once")
    ] = False
    actor: Actor = None


class Decay(Request):
    policy: Annotated[str, Field(description="A policy named in [decay] of config.toml")] = "default"
    as_of: Annotated[
        str | None,
        Cli(metavar="TIME"),
        Field(description="Expired by then (default: now; later than now needs --dry-run)"),
    ] = None
    dry_run: Annotated[bool, Field(description="Say what would become stale and write nothing")] = False
    actor: Actor = None


class Promote(Request):
    source_entry_id: Annotated[str, Field(description="The entry whose present version is to become a rule")]
    evidence_refs: Annotated[
        list[str],
        Cli(option="--evidence-ref", metavar="REF"),
        Field(description="What supports it, in provenance form; repeatable"),
    ]
    reason: Annotated[str, Field(description="Why it should be a rule")]
    target: Annotated[str | None, Cli(metavar="procedural/NAME"), Field(description="The only rule it is good for")] = (
        None
    )
    approved_by: Annotated[
        str | None, PeopleOnly(), Field(description="Who approved it; without it this is a proposal")
    ] = None
    actor: Actor = None


class Approve(Request):
    event: Annotated[str, Cli(positional=True, metavar="EVENT"), Field(description="The proposal's event id")]
    reason: Annotated[str | None, Field(description="Why")] = None
    actor: Actor = None


class RevokePromotion(Request):
    event: Annotated[str, Cli(positional=True, metavar="EVENT"), Field(description="The promotion's event id")]
    reason: Annotated[str, Field(description="Why")]
    actor: Actor = None


class RetrievalLog(Request):
    query: Annotated[str, Field(description="What was searched for")]
    returned_ids: Annotated[
        list[str],
        Cli(option="--returned-id", metavar="ID"),
        Field(description="An entry that was returned; repeatable"),
    ]
    used_ids: Annotated[
        list[str], Cli(option="--used-id", metavar="ID"), Field(description="An entry that was used; repeatable")
    ] = []
    outcome: Annotated[Outcome, Field(description="What came of using them")]
    source: Annotated[Literal["invocation", "manual_feedback"], Field(description="Who judged")] = "invocation"
    actor: Actor = None


class Import(Request):
    file: Annotated[
        str, Cli(positional=True, metavar="PATH"), Field(description="File or folder; - for JSON lines from a pipe")
    ]
    format: Annotated[
        Literal["jsonl", "markdown", "adr", "instructions", "basic-memory", "rust"] | None,
        Field(description="What it is, where looking at it could err"),
    ] = None
    name: Annotated[
        str | None, Field(description="What a folder outside the repository is called, where two have one name")
    ] = None
    dry_run: Annotated[bool, Field(description="Check everything and write nothing")] = False
    keep_going: Annotated[bool, Field(description="Import what is good even if the rest is bad")] = False
    allow_secret: AllowSecret = None
    actor: Actor = None


class Export(Request):
    format: Annotated[Literal["jsonl", "markdown"], Field(description="JSON lines, or a folder of Markdown")] = "jsonl"
    output: Annotated[
        str | None,
        Cli(metavar="PATH"),
        Field(description="File or folder (default: standard output, or the folder knowledge-export)"),
    ] = None
    status: Annotated[
        Literal["active", "superseded", "deprecated", "stale", "any"], Field(description="Only this status")
    ] = "any"


class Verify(Request):
    allow_gaps: Annotated[bool, Field(description="A missing parent is a warning")] = False


class Show(Request):
    ledger: Annotated[str | None, Field(description="Only this ledger")] = None
    type: Annotated[str | None, Field(description="Only this type of event")] = None
    since: Annotated[str | None, Cli(metavar="TIME"), Field(description="Only events recorded since")] = None
    entry: Annotated[str | None, Field(description="Only events about this entry")] = None
    limit: Annotated[int, Field(ge=1, le=100_000, description="At most this many, newest last")] = 50


class Restore(Request):
    dry_run: Annotated[bool, Field(description="Say what would be brought back and write nothing")] = False


class Pack(Request):
    dry_run: Annotated[bool, Field(description="Say what would be joined and write nothing")] = False


class Redact(Request):
    target: Annotated[
        str,
        Cli(positional=True, metavar="EVENT|ENTRY"),
        Field(description="The event whose text leaked, or an entry: every text of it"),
    ]
    reason: Annotated[str, Field(description="Why it goes; not the text itself")]
    dry_run: Annotated[bool, Field(description="Say what would go and write nothing")] = False
    actor: Actor = None


AgentName = Annotated[str | None, Cli(metavar="NAME"), Field(description="The agent that does this (default: you)")]
TaskId = Annotated[
    str, Cli(positional=True, metavar="TASK"), Field(description="Task id, or the unique beginning of one")
]
Aspect = Annotated[
    str, Cli(positional=True, metavar="ASPECT"), Field(description="A part of the task, in any case of letters")
]


class CreateTask(Request):
    title: Annotated[str, Cli(positional=True, metavar="TITLE"), Field(description="What is to be done, in a line")]
    description: Annotated[str | None, Cli(reads_file=True), Field(description="What there is to know about it")] = None
    tags: Annotated[Tags, Field(description="Tag; repeatable")] = []
    agent: AgentName = None
    actor: Actor = None


class ClaimTask(Request):
    task_id: TaskId
    aspect: Aspect
    ttl_minutes: Annotated[int, Field(ge=1, le=480, description="How long it is held, from now")] = 60
    agent: AgentName = None


class ReleaseTask(Request):
    task_id: TaskId
    aspect: Aspect
    agent: AgentName = None


class DecideTask(Request):
    task_id: TaskId
    reason: Annotated[str | None, Field(description="Why, or what came of it")] = None
    agent: AgentName = None
    actor: Actor = None


class TaskStatus(Request):
    task_id: Annotated[
        str | None, Cli(positional=True, metavar="TASK"), Field(description="One task (default: all open ones)")
    ] = None
    limit: Annotated[int, Field(ge=1, le=10_000, description="At most this many")] = 50


class ListTasks(Request):
    status: Annotated[Literal["open", "completed", "cancelled", "any"], Field(description="Only this status")] = "open"
    tags: Annotated[Tags, Field(description="Only tasks with this tag; repeatable, all must match")] = []
    created_by: Annotated[str | None, Cli(metavar="NAME"), Field(description="Only tasks of this agent")] = None
    limit: Annotated[int, Field(ge=1, le=10_000, description="At most this many")] = 50
    offset: Annotated[int, Field(ge=0, le=1_000_000, description="Skip this many")] = 0


class PostFinding(Request):
    task_id: TaskId
    summary: Annotated[str, Cli(positional=True, metavar="SUMMARY"), Field(description="What was found, briefly")]
    knowledge_id: Annotated[str | None, Cli(metavar="ID"), Field(description="The entry that says more")] = None
    agent: AgentName = None
    actor: Actor = None


class ListFindings(Request):
    task_id: TaskId
    since: Annotated[str | None, Cli(metavar="TIME"), Field(description="Only findings posted since")] = None
    limit: Annotated[int, Field(ge=1, le=10_000, description="At most this many, the newest")] = 50


class RegisterAgent(Request):
    agent: Annotated[
        str | None, Cli(positional=True, metavar="AGENT"), Field(description="Any name (default: you)")
    ] = None
    name: Annotated[str | None, Field(description="Display name; empty clears it")] = None
    type: Annotated[str | None, Field(description="claude-code, custom, or any word; empty clears it")] = None
    metadata: Annotated[
        str | None, Cli(metavar="JSON"), Field(description="A JSON object with anything else; empty clears it")
    ] = None
    actor: Actor = None


class AgentInfo(Request):
    agent: Annotated[str | None, Cli(positional=True, metavar="AGENT"), Field(description="Default: you")] = None


class ListAgents(Request):
    type: Annotated[str | None, Field(description="Only this type")] = None
    active_since: Annotated[str | None, Cli(metavar="TIME"), Field(description="Only those seen since")] = None
    limit: Annotated[int, Field(ge=1, le=10_000, description="At most this many")] = 50
