#!/bin/sh
# task.sh REPOSITORY OUT: one task, on a fresh clone. OUT/exit is written last.
out=$2
[ "$(cat "$out/exit" 2>/dev/null)" != 0 ] || exit 0 # done by an earlier try
mkdir -p "$out" && rm -f "$out/exit" && work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
git clone -q "$1" "$work" || exit 4
(cd "$work" && exec artoo -p -o json --approval auto --max-cost 1 --max-time 20m) <task.md >"$out/result.json" 2>"$out/log" &
trap 'kill -TERM $!' TERM
wait $!; code=$?
while kill -0 $! 2>/dev/null; do wait $!; code=$?; done # a signal ends the first wait early
git -C "$work" add -A && git -C "$work" diff --cached --binary >"$out/changes.patch" || exit 1
echo $code >"$out/exit"
exit $code
