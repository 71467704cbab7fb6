#!/usr/bin/env bash
# Makes docs/demo.png: a real terminal (xterm, in a virtual screen) in which the
# demo is played and its three questions are answered by typing, on black and, beside
# it, on white. Needs Xvfb, xterm, xdotool and ImageMagick.
set -eu
cd "$(dirname "$0")/../.."
for tool in Xvfb xterm xdotool import convert; do
	command -v "$tool" >/dev/null || { echo "make picture: $tool is missing" >&2; exit 1; }
done
[ -x ./artoo ] || { echo "make picture: run make build first" >&2; exit 1; }
work=$(mktemp -d)
artoo=$PWD/artoo out=$PWD/docs/demo.png
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
GOCACHE=$(go env GOCACHE) # the demo's tests should not be built from nothing
export GOCACHE DISPLAY=:87 HOME=$work TMPDIR=$work TERM=xterm-256color LC_ALL=C.UTF-8
unset NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR CI
Xvfb $DISPLAY -screen 0 1280x1600x24 -nolisten tcp >/dev/null 2>&1 &
until xdotool getmouselocation >/dev/null 2>&1; do sleep 0.1; done

# play NAME BACKGROUND FOREGROUND
play() {
	: >"$work/log"
	xterm -geometry 80x84 -fa 'DejaVu Sans Mono' -fs 10 -bg "$2" -fg "$3" -b 12 +sb -lc -tn xterm-256color -l -lf "$work/log" -e "$artoo" demo &
	for question in 1 2 3; do
		shown '(n) ' "$question"
		sleep 1 # a question takes no answer until the keyboard was quiet for a moment
		xdotool type y
		sleep 0.2
		xdotool key Return
	done
	shown 'context' 1
	sleep 0.5
	import -window "$(xdotool search --class xterm | head -n 1)" "$work/$1.png"
	kill $!
	wait $! 2>/dev/null || true
}
shown() { until [ "$(grep -ac "$1" "$work/log")" -ge "$2" ]; do sleep 0.1; done; }

play black black gray85
play white white black
convert "$work/black.png" "$work/white.png" +append -strip "$out"
echo "$out"
