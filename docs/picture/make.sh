#!/usr/bin/env bash
# Makes docs/demo.png: a real terminal (xterm, in a virtual screen) in which the
# demo is played and its questions are answered by typing, on black and, beside
# it, on white. With a commit it makes docs/before-after.png instead: the demo of that
# commit, and beside it today's, on black.
# Needs Xvfb, xterm, xdotool and ImageMagick.
set -eu
cd "$(dirname "$0")/../.."
for tool in Xvfb xterm xdotool import convert; do
	command -v "$tool" >/dev/null || { echo "make picture: $tool is missing" >&2; exit 1; }
done
[ -x ./artoo ] || { echo "make picture: run make build first" >&2; exit 1; }
work=$(mktemp -d)
artoo=$PWD/artoo before=${1:-}
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
if [ "$before" ]; then
	mkdir "$work/source"
	git archive "$before" | tar -x -C "$work/source"
	(cd "$work/source" && go build -trimpath -buildvcs=false -o "$work/before" .)
fi
export DISPLAY=:87 HOME=$work TMPDIR=$work TERM=xterm-256color LC_ALL=C.UTF-8
unset GOCACHE NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR CI
Xvfb $DISPLAY -screen 0 1280x1600x24 -nolisten tcp >/dev/null 2>&1 &
until xdotool getmouselocation >/dev/null 2>&1; do sleep 0.1; done

# The demo's tests should not be built from nothing.
mkdir "$work/warm"
printf 'package warm\n\nimport "testing"\n\nfunc TestWarm(*testing.T) {}\n' >"$work/warm/warm_test.go"
(cd "$work/warm" && go mod init example.org/warm && go test .) >/dev/null 2>&1

# play NAME PROGRAM BACKGROUND FOREGROUND
play() {
	: >"$work/log"
	xterm -geometry 80x90 -fa 'DejaVu Sans Mono' -fs 10 -bg "$3" -fg "$4" -b 12 +sb -lc -tn xterm-256color -l -lf "$work/log" -e "$2" demo &
	local answered=0
	until [ "$(shown 'context')" -gt 0 ]; do
		sleep 0.2
		[ "$(shown '(n) ')" -gt "$answered" ] || continue
		answered=$((answered + 1))
		sleep 1 # a question takes no answer until the keyboard was quiet for a moment
		xdotool type y
		sleep 0.2
		xdotool key Return
	done
	sleep 0.5
	import -window "$(xdotool search --class xterm | head -n 1)" "$work/$1.png"
	kill $!
	wait $! 2>/dev/null || true
}
shown() { grep -ac "$1" "$work/log" || true; }

# join OUT PICTURE… puts pictures side by side; 64 colours are all that letters need.
join() {
	local out=$1
	shift
	convert "$@" +append -strip -colors 64 "PNG8:$out"
}

play black "$artoo" black gray85
if [ "$before" ]; then
	play black-before "$work/before" black gray85
	join docs/before-after.png "$work/black-before.png" "$work/black.png"
	exit
fi
play white "$artoo" white black
join docs/demo.png "$work/black.png" "$work/white.png"
