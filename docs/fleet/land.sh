#!/bin/sh
# land.sh BRANCH: pushes what each finished task changed as a branch of its repository, once.
n=0
while read -r repo; do
  n=$((n + 1))
  [ "$(cat "out/$n/exit" 2>/dev/null)" = 0 ] && [ -s "out/$n/changes.patch" ] || continue
  [ -z "$(git ls-remote "$repo" "refs/heads/$1")" ] || continue # landed already
  work=$(mktemp -d)
  git clone -q "$repo" "$work" && git -C "$work" apply --index "$PWD/out/$n/changes.patch" &&
    git -C "$work" commit -q -F "$PWD/task.md" && git -C "$work" push -q origin "HEAD:refs/heads/$1" || echo "task $n: not landed" >&2
  rm -rf "$work"
done <repos.txt
