#!/bin/bash
# The step of action.yml: open threads as annotations on their lines. What it is asked for comes in the environment,
# so that nothing of a repository is ever a part of a command.
set -euo pipefail

program=${POSTIL:-}
if [ -z "$program" ]; then
    if command -v postil >/dev/null; then
        program=postil
    else
        cargo install --quiet --locked --path "$POSTIL_SOURCES" --root "${RUNNER_TEMP:-/tmp}/postil"
        program=${RUNNER_TEMP:-/tmp}/postil/bin/postil
    fi
fi

arguments=(check --json)
[ -z "${POSTIL_STATUS:-}" ] || arguments+=(--status "$POSTIL_STATUS")
arguments+=(--)
while IFS= read -r path; do
    [ -z "$path" ] || arguments+=("$path")
done <<<"${POSTIL_PATHS:-}"

found=$(mktemp)
trap 'rm -f "$found"' EXIT
status=0
"$program" "${arguments[@]}" >"$found" || status=$?
# 1 is: there are threads. Anything else is a failure of its own, which the program has told.
[ "$status" -le 1 ] || exit "$status"

# `%` first: it is what the others are escaped with.
jq -r '
    def clean: gsub("%"; "%25") | gsub("\r"; "%0D") | gsub("\n"; "%0A");
    def property: clean | gsub(":"; "%3A") | gsub(","; "%2C");
    .threads[] | select(.start_line) |
    (if .status == "pending" then "warning" else "notice" end) as $kind |
    (if .status == "pending" then "awaiting an agent" else "awaiting its author" end) as $title |
    "::\($kind) file=\(.file | property),line=\(.start_line),title=\("thread \(.id[0:8]): \($title)" | property)::" +
    ([.thread[] | select(.text != "") | "\(.role | ascii_upcase): \(.text)"] | join("\n") | clean)
' "$found"
count=$(jq '[.threads[] | select(.start_line)] | length' "$found")
[ -z "${GITHUB_OUTPUT:-}" ] || echo "threads=$count" >>"$GITHUB_OUTPUT"
if [ "$count" -gt 0 ]; then
    echo "$count open threads"
    [ "${POSTIL_FAIL:-true}" != true ] || exit 1
fi
