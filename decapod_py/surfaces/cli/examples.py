"""Help that teaches: what the program and its groups are for, and examples for `--help` and the reference page."""

from __future__ import annotations

TAGLINE = "Decapod keeps what a team and its agents know inside the git repository, and keeps it true."

GROUPS = {
    "knowledge": "Record, find and govern what is known.",
    "links": "Follow links between entries, find those that lead nowhere, draw the graph.",
    "tasks": "Share work between agents: tasks, who holds which aspect of them, and what was found.",
    "agents": "See who works here, and say more about an agent.",
    "ledger": "Check, read, restore, pack and redact the events behind it all.",
    "hooks": "Let git run the gates and catch up by itself.",
    "eval": "Hold search to account: measure what it finds.",
    "proof": "Run the commands that prove something, and see which receipts still count.",
}

GLOBAL_OPTIONS = {
    "-C DIR": "Run as if started in DIR, like git; relative paths count from there",
    "--json": "One JSON value on standard output; errors as JSON on standard error",
}

COMPLETION_HELP = "Print the completion script for your shell."
WATCH_HELP = "Take in what is done to the Markdown as it is done, until interrupted."
MCP_HELP = "Serve the operations to an agent as MCP tools, over stdio."
SCHEMA_HELP = "Print the JSON Schema of what an operation takes and gives."

# By the words typed after `decapod`; the empty name is the program itself.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "decapod init",
        'decapod knowledge add "Retries stop at 3" --from src/client.py:3-9',
        'decapod knowledge search "how often do we retry?"',
        "decapod status",
    ),
    "knowledge": (
        'decapod knowledge add "Retries stop at 3" --from src/client.py:3-9',
        'decapod knowledge search "how often do we retry?" --explain',
        "decapod knowledge history 01JZ8",
    ),
    "tasks": (
        "decapod tasks create 'Make retries configurable'",
        "decapod tasks claim 01JZC docs --agent writer",
        "decapod tasks status",
    ),
    "tasks create": ("decapod tasks create 'Make retries configurable' --tag http --description-file plan.md",),
    "tasks claim": (
        "decapod tasks claim 01JZC docs",
        "decapod tasks claim 01JZC 'error handling' --agent worker-2 --ttl-minutes 120",
    ),
    "tasks renew": ("decapod tasks renew 01JZC docs --ttl-minutes 30",),
    "tasks release": ("decapod tasks release 01JZC docs",),
    "tasks complete": ("decapod tasks complete 01JZC --reason 'Merged'",),
    "tasks status": ("decapod tasks status", "decapod tasks status 01JZC --json"),
    "tasks list": ("decapod tasks list --status any --tag http",),
    "tasks post-finding": (
        "decapod tasks post-finding 01JZC 'The client never closes its socket' --knowledge-id 01JZ8",
    ),
    "tasks findings": ("decapod tasks findings 01JZC --since 2026-03-01",),
    "agents": ("decapod agents list --active-since 2026-03-01", "decapod agents info worker-2"),
    "agents register": (
        "decapod agents register worker-2 --name 'The second worker' --type custom --metadata '{\"model\": \"m1\"}'",
    ),
    "ledger": ("decapod ledger verify", "decapod ledger show --entry 01JZ8 --limit 10"),
    "init": ("decapod init", "decapod -C path/to/repository init"),
    "knowledge add": (
        'decapod knowledge add "Retries stop at 3" --from src/client.py:3-9 --tag http',
        "decapod knowledge add --title 'Deploys freeze on Friday' --text-file note.md --provenance person:ana",
        "git log -1 --format=%B | decapod knowledge add --title 'Why XML went' --text - --provenance commit:4f2a9c1",
        "decapod knowledge add 'Timeout is 30 s' --from conf.toml:4 --merge-key http.timeout --on-conflict supersede",
    ),
    "knowledge search": (
        'decapod knowledge search "how often do we retry?"',
        "decapod knowledge search '\"exact phrase\" prefix*' --tag http --limit 3",
        "decapod knowledge search retries --as-of 2026-03-01 --json",
        "decapod knowledge search retries --rank recency_decay --explain",
        "decapod knowledge search 'what keeps the site up' --mode semantic --author ana --since 2026-03-01",
    ),
    "knowledge get": (
        "decapod knowledge get 01JZ8",
        "decapod knowledge get .decapod/knowledge/retries-stop-at-3-f4ff04.md --max-chars 500",
        "decapod knowledge get 01JZ8 --as-of 2026-03-01",
    ),
    "knowledge edit": (
        "decapod knowledge edit 01JZ8 --title 'Retries stop at 5' --from src/client.py:3-9",
        "decapod knowledge edit 01JZ8 --tag http --tag retry",
        "decapod knowledge edit 01JZ8 --text-file note.md --expected-version 01JZ9A8RVB5Q0M3N7T2K4XWDEF",
    ),
    "knowledge decay": (
        "decapod knowledge decay --dry-run",
        "decapod knowledge decay --as-of 2027-01-01 --dry-run",
        "decapod knowledge decay",
    ),
    "knowledge promote": (
        "decapod knowledge promote --source-entry-id 01JZ8 --evidence-ref commit:4f2a9c1 --reason 'held for a year'",
        "decapod knowledge approve 01JZ9 --actor ana",
        "decapod knowledge add --id procedural/retries --provenance event:01JZ9",
    ),
    "knowledge settle": ("decapod knowledge settle 01JZ8 --keep 01JZA",),
    "knowledge retrieval-log": (
        "decapod knowledge retrieval-log --query retries --returned-id 01JZ8 --used-id 01JZ8 --outcome helped",
    ),
    "knowledge import": (
        "decapod knowledge import docs/adr --dry-run",
        "decapod knowledge import CLAUDE.md",
        "decapod knowledge import ../work/notes --name work-notes",
        "decapod knowledge import entries.jsonl --keep-going",
    ),
    "knowledge export": (
        "decapod knowledge export > entries.jsonl",
        "decapod knowledge export --format markdown --output handbook/",
    ),
    "links": ("decapod links show 01JZ8", "decapod links broken", "decapod links graph > graph.mmd"),
    "links show": (
        "decapod links show 01JZ8",
        "decapod links show 01JZ8 --direction incoming --depth 2 --kind link",
    ),
    "links broken": ("decapod links broken", "decapod links broken --json"),
    "links graph": (
        "decapod links graph --kind link --kind supersedes",
        "decapod links graph --format dot | dot -Tsvg > graph.svg",
    ),
    "tags": ("decapod tags", "decapod knowledge list --tag http"),
    "stats": ("decapod stats", "decapod stats --json"),
    "eval": ("decapod eval retrieval queries.jsonl",),
    "eval retrieval": (
        "decapod eval retrieval queries.jsonl",
        "decapod eval retrieval queries.jsonl --mode lexical --k 5 --json",
    ),
    "ledger redact": (
        "decapod ledger redact 01JZ8 --reason 'holds a token' --dry-run",
        "decapod ledger redact 01JZ8 --reason 'holds a token'",
    ),
    "ledger verify": ("decapod ledger verify", "decapod ledger verify --allow-gaps"),
    "scan": ("decapod scan", "decapod -C path/to/repository scan", "decapod scan --base origin/main"),
    "rebuild": ("decapod rebuild --check",),
    "hooks": ("decapod hooks install", "decapod hooks status"),
    "hooks install": ("decapod hooks install", "decapod hooks install pre-commit pre-push"),
    "hooks uninstall": ("decapod hooks uninstall",),
    "hooks run": ("decapod hooks run pre-commit", "DECAPOD_HOOK_TIMEOUT=60 git commit"),
    "connect": (
        "decapod connect claude --instructions",
        "decapod connect vscode --print",
        "decapod connect cursor --remove",
    ),
    "proof": ("decapod trust", "decapod proof run", "decapod proof list"),
    "proof run": ("decapod proof run", "decapod proof run tests lint"),
    "trust": ("decapod trust", "decapod trust --revoke"),
    "doctor": ("decapod doctor", "decapod doctor --fix"),
    "schema": ("decapod schema knowledge.add",),
    "mcp": ("decapod mcp", "decapod mcp --toolset all --actor agent:reviewer", "decapod mcp --toolset lithos"),
    "completion": ('eval "$(decapod completion bash)"', "decapod completion fish | source"),
}
