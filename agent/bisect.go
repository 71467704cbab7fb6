package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"artoo/tool/journal"
	repository "artoo/tool/project"
	"artoo/tool/shell"
	"artoo/tool/text"
)

// Bisection finds the step of a journal that broke a command, on layers.
type Bisection struct {
	History journal.History
	Apart   []string // No state restores these: git's data, and paths outside the project.
	Broken  int      // the index of the step, once Find has found it
	Runs    int

	trials  *Trials
	journal *journal.Journal
	cmd     exec.Cmd // bash -c and the command
	dir     string   // holds the directories of layers; commands can read it
}

// ErrSkipped says that the states where the command can be judged lie more than a step apart.
var ErrSkipped = errors.New("the command skipped every step in between")

// Bisect prepares the search. The command's own program is bash; dir is one of the Workspace's ReadDirs.
func (t *Trials) Bisect(ctx context.Context, j *journal.Journal, cmd exec.Cmd, dir string) (*Bisection, error) {
	h, err := j.History(ctx)
	if err != nil {
		return nil, err
	}
	b := &Bisection{trials: t, journal: j, cmd: cmd, dir: dir}
	for i, changes := range h.Changes {
		h.Changes[i] = slices.DeleteFunc(changes, func(c journal.Change) bool {
			apart := repository.GitData(c.Path) || filepath.IsAbs(c.Path)
			if apart && !slices.Contains(b.Apart, c.Path) {
				b.Apart = append(b.Apart, c.Path)
			}
			return apart
		})
	}
	b.History = h
	return b, nil
}

type bisectVerdict int

const (
	passes bisectVerdict = iota
	fails
	skips
)

// Find searches between the state before the first step and the one after the last. A *Failure of KindUnmet says
// that the command fails before all steps, or passes after all of them.
func (b *Bisection) Find(ctx context.Context) error {
	n := len(b.History.Steps)
	unmet := func(why string) error { return &Failure{Kind: KindUnmet, What: "bisect", Err: errors.New(why)} }
	last, err := b.at(ctx, n)
	if err != nil {
		return err
	}
	if last != fails {
		return unmet("the command must fail after the last step")
	}
	first, err := b.at(ctx, 0)
	if err != nil {
		return err
	}
	if first != passes {
		return unmet("the command must pass before the first step")
	}
	good, bad, skipped := 0, n, map[int]bool{}
	for bad-good > 1 {
		at := b.next(good, bad, skipped)
		if at < 0 {
			return unmet(fmt.Sprintf("%v: steps %d to %d", ErrSkipped, good+1, bad))
		}
		v, err := b.at(ctx, at)
		switch {
		case err != nil:
			return err
		case v == passes:
			good = at
		case v == fails:
			bad = at
		default:
			skipped[at] = true
		}
	}
	b.Broken = bad - 1
	return nil
}

// next is the state nearest to the middle that was not skipped; -1 for none.
func (b *Bisection) next(good, bad int, skipped map[int]bool) int {
	mid := good + (bad-good)/2
	for away := range bad - good {
		for _, at := range []int{mid + away, mid - away} {
			if at > good && at < bad && !skipped[at] {
				return at
			}
		}
	}
	return -1
}

// at runs the command on the state after n steps.
func (b *Bisection) at(ctx context.Context, n int) (v bisectVerdict, err error) {
	b.Runs++
	script, err := b.script(n)
	if err != nil {
		return 0, err
	}
	cmd := b.cmd
	cmd.Args = append([]string{"bash", script}, b.cmd.Args...) // The script needs no arguments: they name what it runs.
	run, err := b.trials.Run(ctx, &cmd)
	if err != nil {
		return 0, err
	}
	if err := run.Close(false); err != nil {
		return 0, err
	}
	switch e := run.Exit; {
	case e.Signal != "":
		return 0, &Failure{Kind: KindConfig, What: "bisect", Err: errors.New("the command was killed by " + e.Signal + " after " + text.Count(n, "step"))}
	case e.Code == 126, e.Code == 127:
		return 0, &Failure{Kind: KindConfig, What: "bisect", Err: fmt.Errorf("exit status %d after %s", e.Code, text.Count(n, "step")),
			Hint: strings.Join(run.Hidden, "; ")}
	case e.Code == 125:
		return skips, nil
	case e.Code == 0:
		return passes, nil
	}
	return fails, nil
}

// script writes a shell script that makes the state after n steps of the present one, and runs the command.
func (b *Bisection) script(n int) (string, error) {
	was := map[string]journal.State{}
	for _, changes := range slices.Backward(b.History.Changes[n:]) {
		for _, c := range changes {
			was[c.Path] = c.Before
		}
	}
	var paths []string
	for path := range was {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	root := b.trials.calls.session.opt.Policy.Root
	var s strings.Builder
	s.WriteString("{ set -e\n")
	for _, path := range slices.Backward(paths) {
		at := shell.Quote(filepath.Join(root, filepath.FromSlash(path)))
		if was[path].Kind == journal.Folder {
			continue
		}
		fmt.Fprintf(&s, "if [ -L %s ] || [ ! -d %s ]; then rm -f -- %s; elif [ -d %s ]; then rmdir -- %s 2>/dev/null || true; fi\n", at, at, at, at, at)
	}
	for i, path := range paths {
		state := was[path]
		to := filepath.Join(root, filepath.FromSlash(path))
		switch state.Kind {
		case journal.Folder:
			fmt.Fprintf(&s, "mkdir -p -- %s\n", shell.Quote(to))
		case journal.Link:
			fmt.Fprintf(&s, "mkdir -p -- %s; ln -s -- %s\n", shell.Quote(filepath.Dir(to)), shell.Quote(state.Target, to))
		case journal.File:
			data, err := b.journal.Content(path, state)
			if err != nil {
				return "", fmt.Errorf("%s: %w", path, err)
			}
			from := filepath.Join(b.dir, strconv.Itoa(i))
			if err := os.WriteFile(from, data, 0o600); err != nil {
				return "", err
			}
			fmt.Fprintf(&s, "mkdir -p -- %s; cp -- %s; chmod %o %s\n", shell.Quote(filepath.Dir(to)), shell.Quote(from, to),
				state.Mode.Perm(), shell.Quote(to))
		}
	}
	fmt.Fprintf(&s, "} >/dev/null || exit 126\nexec %s\n", shell.Quote(b.cmd.Args...))
	script := filepath.Join(b.dir, "script")
	return script, os.WriteFile(script, []byte(s.String()), 0o600)
}
