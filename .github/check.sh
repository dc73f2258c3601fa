#!/bin/bash
# The step of action.yml: open threads as annotations on their lines. What it is asked for comes in the environment,
# so that nothing of a repository is ever a part of a command.
set -euo pipefail

# `%` first: it is what the others are escaped with.
clean='def clean: gsub("%"; "%25") | gsub("\r"; "%0D") | gsub("\n"; "%0A");
    def property: clean | gsub(":"; "%3A") | gsub(","; "%2C");
    def slashes: if env.RUNNER_OS == "Windows" then gsub("\\\\"; "/") else . end;'

give_up() {
    echo "::error title=postil::$1"
    exit 2
}

command -v jq >/dev/null || give_up "jq is missing on this runner: install it in a step before"
if [ "${RUNNER_OS:-}" = Windows ]; then
    # There it ends its lines as Windows does.
    jq() { command jq "$@" | tr -d '\r'; }
fi
program=${POSTIL:-}
if [ -z "$program" ]; then
    if command -v postil >/dev/null; then
        program=postil
    else
        command -v cargo >/dev/null ||
            give_up "postil is not on the PATH, and there is no cargo to build it: install one of them in a step before"
        # In the sources' own folder: rustup takes the toolchain that the current one names, and the repository that is
        # checked is not to name a program of its own.
        (cd -- "$POSTIL_SOURCES" && cargo install --quiet --locked --path . --root "${RUNNER_TEMP:-/tmp}/postil")
        program=${RUNNER_TEMP:-/tmp}/postil/bin/postil
    fi
fi
command -v "$program" >/dev/null || give_up "there is no program at the path that the input 'postil' gives"

arguments=(check --json)
[ -z "${POSTIL_STATUS:-}" ] || arguments+=(--status "$POSTIL_STATUS")
arguments+=(--)
while IFS= read -r path; do
    [ -z "$path" ] || arguments+=("$path")
done <<<"${POSTIL_PATHS:-}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
found=$folder/found
status=0
"$program" "${arguments[@]}" >"$found" 2>"$folder/said" || status=$?
if [ -s "$folder/said" ]; then
    # It may name what a fork has written: nothing in it is a command to the runner.
    token=postil-${folder##*[./]}
    echo "::stop-commands::$token"
    cat "$folder/said"
    echo "::$token::"
fi
# 1 is also: there are threads. A jq before 1.7 is content with an empty file, so it counts what is in it.
if ! jq -es 'length == 1 and (.[0] | has("threads"))' "$found" >/dev/null 2>&1; then
    error=$(jq -r "$clean"' select(.error) | .error | clean' "$found" 2>/dev/null) || error=
    echo "::error title=postil::${error:-postil did not run, or not to its end (status $status): the log says more}"
    exit "$((status > 1 ? status : 2))"
fi

# Those that wait for an agent first: a code host shows the first few of a step.
jq -r "$clean"'
    [.threads[] | select(.start_line)] | sort_by(.status != "pending") | .[] |
    (if .status == "pending" then "warning" else "notice" end) as $kind |
    (if .status == "pending" then "awaiting an agent" else "awaiting its author" end) as $title |
    "::\($kind) file=\(.file | slashes | property),line=\(.start_line),title=\("thread \(.id[0:8]): \($title)" | property)::" +
    ([.thread[] | select(.text != "") | "\(.role | ascii_upcase): \(.text)"] | join("\n") | clean)
' "$found"
jq -r "$clean"'
    .threads[] | select(.parse_error) |
    "::notice file=\(.file | slashes | property),title=postil passed a file over::it cannot be parsed: its threads are not known"
' "$found"
jq -r "$clean"' .skipped[]? | "::notice title=postil passed a file over::\(clean)"' "$found"
count=$(jq '[.threads[] | select(.start_line)] | length' "$found")
[ -z "${GITHUB_OUTPUT:-}" ] || echo "threads=$count" >>"$GITHUB_OUTPUT"
if [ "$count" -gt 0 ]; then
    if [ "$count" -eq 1 ]; then echo "1 open thread"; else echo "$count open threads"; fi
elif [ "$status" -ne 0 ]; then
    echo "a file could not be read or parsed: its threads are not known"
fi
[ "$status" -eq 0 ] || [ "${POSTIL_FAIL:-true}" = false ] || exit 1
