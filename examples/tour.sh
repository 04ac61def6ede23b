#!/usr/bin/env bash
# The life of an entry, from a note to a rule, in a scratch repository that is removed at the end.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export HOME=$scratch DECAPOD_ACTOR=ada

bold='' plain=''
if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }
show() {
    printf '$'
    for word in "$@"; do case $word in *' '*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac; done
    printf '\n'
    "$@"
}
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

say "A repository with some code, and a place for what is known about it."
git init --quiet --initial-branch main
git config user.name Ada
git config user.email ada@example.com
mkdir src
printf 'def fetch(url):\n    for attempt in range(3):\n        if ok(url):\n            return\n    raise GaveUp(url)\n' > src/client.py
show decapod init
git add . && git commit --quiet -m "Begin"

say "Something worth knowing, with where it comes from."
show decapod knowledge add "Retries stop after three attempts" --from src/client.py:2-5 --tag network --merge-key retries
show decapod knowledge add --title "Deploys are frozen on Fridays" --text "Nothing goes out after noon." \
    --provenance person:Grace --ttl-policy decay --expires-ts 30d

say "A question in plain English finds it."
show decapod knowledge search "how many attempts before we stop retrying?"

say "The same key again: the entry is merged into, and the old version stays in its history."
show decapod knowledge add --title "Retries stop after three attempts" --merge-key retries --from src/client.py:2-5 \
    --text "Three attempts, then GaveUp is raised. Callers must not retry again."
id=$(decapod knowledge search retries --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["results"][0]["id"])')
show decapod knowledge history "$id"

say "A rule is promoted, not written: somebody else has to approve it."
show decapod knowledge promote --source-entry-id "$id" --evidence-ref file:src/client.py#L2-L5 \
    --reason "Two outages came from retrying twice" --json | tee promotion.json
promotion=$(tail -n 1 promotion.json | field event_id)
show decapod knowledge add --id procedural/retries --provenance "event:$promotion" 2>&1 || echo "(refused, as it should be)"
show decapod knowledge approve "$promotion" --actor grace
show decapod knowledge add --id procedural/retries --provenance "event:$promotion"

say "Say what helped, and it ranks higher next time."
show decapod knowledge retrieval-log --query retries --returned-id "$id" --used-id "$id" --outcome helped

say "What expires becomes stale; a dry run only says what would."
show decapod knowledge decay --dry-run --as-of 2099-01-01

say "Everything is in git, and proves itself: delete the database, and the same digest comes back."
git add .decapod && git commit --quiet -m "What we know"
before=$(decapod status --json | field digest)
rm -rf .decapod/local
after=$(decapod status --json | field digest)
echo "before $before"
echo "after  $after"
test "$before" = "$after"
show decapod ledger verify
show decapod rebuild --check
