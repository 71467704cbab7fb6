//go:build unix

package builtin

import (
	"errors"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"artoo/tool/needs"
	"artoo/tool/shell"
	"artoo/tool/sweep"
)

// pipelines are lines of bash, and how their results end.
var pipelines = map[string]string{
	"(exit 3) | cat":                                             "[exit status 0 of cat; (exit 3): 3]",
	"cd / && env X=1 false now | tail -3":                        "[exit status 0 of tail; false now: 1]",
	"timeout 9 bash -c 'exit 2' 2>&1 |& head":                    "[exit status 0 of head; bash: 2]",
	"no-such-program x | cat":                                    "[exit status 0 of cat; no-such-program x: 127, command not found]",
	"false | (exit 4)":                                           "[exit status 4 of (exit 4); false: 1]",
	"set -e; false | true; false":                                "[exit status 1]",
	"set -eo pipefail; false | cat; echo no":                     "[exit status 1]",
	"set -e -o pipefail\nfalse | cat":                            "[exit status 1 of cat; false: 1]",
	"set -x; false | true":                                       "[exit status 0 of true; false: 1]",
	"IFS=0; false | true # a comment":                            "[exit status 0 of true; false: 1]",
	"exec >/dev/null; false | true":                              "[exit status 0 of true; false: 1]",
	"cat <<E | (cat; false) | cat\n|\nE":                         "[exit status 0 of cat; (cat; false): 1]",
	"f() { false | cat; }; f | cat":                              "[exit status 0]",
	"false | cat && false | cat":                                 "[exit status 0 of cat; false: 1]",
	"true | false && false | true":                               "[exit status 1]", // It is not certain which of the two was last.
	"false | true || (exit 5) | true":                            "[exit status 0]",
	"{ false | true || exit 7; }; true | true":                   "[exit status 0]",
	"false | false; exit 7; false | true":                        "[exit status 7]",
	"false | true; true":                                         "[exit status 0]",
	"! false | true":                                             "[exit status 1]",
	"yes | head -1":                                              "[exit status 0]",
	"true | false":                                               "[exit status 1]",
	"false | true & wait":                                        "[exit status 0]",
	"trap 'echo mine' EXIT; false | true":                        "[exit status 0]",
	"(false | true)":                                             "[exit status 0]",
	"if | x":                                                     "[exit status 2]",
	"echo 'unclosed | x":                                         "[exit status 2]",
	`echo "$0 $# $- $$" | tr -d 0-9; ulimit -n 20; false | true`: "[exit status 0 of true; false: 1]",
	"echo $? $LINENO $BASH_SUBSHELL | cat":                       "[exit status 0]",
	"printf '\\033_artoo-pipe:\\007\\033_artoo-pipe:9\\007\\033_artoo-pipe:0\\007' | cat; exec true | true": "[exit status 0]",
	"kill -9 $$ | cat; sleep 9": "[killed by signal SIGKILL]",
}

// A line's last command hides how the commands before it in its pipeline ended. A line that is asked for their statuses
// does what it does without.
func TestAnyPipelineMeansTheSameToBashAndNamesItsFailedParts(t *testing.T) {
	t.Parallel()
	needs.Program(t, "bash")
	s := commandShell{BashOptions: BashOptions{Path: shell.Find(nil)}}
	for _, line := range sweep.Of(t, 5, slices.Sorted(maps.Keys(pipelines))) {
		env := treeEnv(t, nil)
		plain := exec.Command(s.Path, s.args(line)...)
		plain.Dir = env.Dir
		var said strings.Builder
		clean := shell.NewCleaner(&said)
		plain.Stdout, plain.Stderr = clean, clean
		_ = errors.Join(plain.Run(), clean.Close()) // Many fail.
		r, err := quickShell(t).Run(t.Context(), env, []byte(command(line)), &strings.Builder{})
		if text := r.Text; err != nil || !strings.HasSuffix(text, pipelines[line]+"\n") || strings.Contains(text, "187") {
			t.Errorf("%s: %v\n%s", line, err, text)
		}
		// Both sides of a pipeline write at once: their lines come in any order.
		if !slices.Equal(slices.Sorted(strings.Lines(*r.Printed)), slices.Sorted(strings.Lines(said.String()))) {
			t.Errorf("%s: printed %q, not %q", line, *r.Printed, said.String())
		}
	}
}

// A plain sh knows the status of a pipeline's last command alone.
func TestOtherShellsReportTheLastStatus(t *testing.T) {
	t.Parallel()
	for want, line := range map[string]string{"[exit status 0]\n": "false | true", "[exit status 1]\n": "true | false"} {
		tool := Bash(BashOptions{Path: "/bin/sh"})
		if r, err := tool.Run(t.Context(), treeEnv(t, nil), []byte(command(line)), &strings.Builder{}); err != nil || !strings.HasSuffix(r.Text, want) {
			t.Errorf("%s: %v, %s", line, err, r.Text)
		}
	}
}
