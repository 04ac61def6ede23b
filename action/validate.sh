#!/bin/sh
# The gates as CI runs them: annotations on standard output, SARIF in a file, a review in the step summary.
#
#   DECAPOD_BASE     what to compare with; by default the base of the pull request, or the commit before the push
#   DECAPOD_BEFORE   the commit before the push, as the forge names it
#   DECAPOD_ARGS     further words for `decapod validate`
#   DECAPOD_SARIF    the file to write SARIF into; none, no SARIF
#
# The exit code is that of `decapod validate`.
set -eu

is_commit() { git rev-parse --quiet --verify "$1^{commit}" >/dev/null 2>&1; }

base=${DECAPOD_BASE:-}
if [ -z "$base" ] && [ -n "${GITHUB_BASE_REF:-}" ]; then
    base=origin/$GITHUB_BASE_REF
fi
# A forge says 000... for a branch that is new, and a commit that is gone after a forced push.
if [ -z "$base" ] && [ -n "${DECAPOD_BEFORE:-}" ] && is_commit "$DECAPOD_BEFORE"; then
    base=$DECAPOD_BEFORE
fi
# In a shallow clone HEAD^ is missing, too; the command then says what to do. Only a first commit has no base.
if [ -z "$base" ] && { is_commit HEAD^ || [ "$(git rev-parse --is-shallow-repository)" = true ]; }; then
    base=HEAD^
fi

set -f # the words of DECAPOD_ARGS are split, and a GLOB among them is for decapod
# shellcheck disable=SC2086
set -- ${base:+--base "$base"} ${DECAPOD_ARGS:-}
set +f

code=0
decapod validate "$@" --format github || code=$?
if [ "$code" -eq 2 ]; then # misused: a report would only say so again
    exit "$code"
fi

if [ -n "${DECAPOD_SARIF:-}" ]; then
    decapod validate "$@" --format sarif >"$DECAPOD_SARIF" || true
    if [ -n "${GITHUB_OUTPUT:-}" ] && [ -s "$DECAPOD_SARIF" ]; then
        echo "sarif=$DECAPOD_SARIF" >>"$GITHUB_OUTPUT"
    fi
fi

if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -n "$base" ]; then
    if summary=$(decapod review --base "$base" --format markdown 2>/dev/null); then
        printf '%s\n' "$summary" >>"$GITHUB_STEP_SUMMARY"
    fi
fi
exit "$code"
