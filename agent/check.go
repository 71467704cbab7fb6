package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/shell"
)

// Check is a command of the user's that looks at files after a tool changed them.
type Check struct {
	// Glob is of paths below the project's root, with slashes; one without a slash is
	// of names in any directory.
	Glob string
	// Command is a shell line. The files' paths take the place of {} in it, or follow it.
	Command string
}

const (
	checkLimit  = 30 * time.Second // of one check
	maxChecked  = 20               // files of one call that are checked
	maxFindings = 2000             // bytes of what a check says, for the model
)

// check runs the user's checks over what a call has written. Each runs on a layer that
// is thrown away: it changes nothing, whatever the project's own files make it do. What
// fails is told to the model; the call itself has succeeded.
func (t *turn) check(ctx context.Context, p *pending, result *tool.Result) {
	if p.tool.Kind != tool.KindWrite || len(t.opt.Checks) == 0 || t.opt.Env.Files == nil {
		return
	}
	for _, c := range t.opt.Checks {
		files := t.checked(c.Glob, p.call.Access.Paths)
		if len(files) == 0 {
			continue
		}
		if t.opt.Sandbox == nil || !t.opt.Policy.Confinement.Layer {
			t.unchecked.Do(func() {
				t.notice(NoticeWarning, "the commands of [check] do not run: they need a layer, which is not to be had here")
			})
			return
		}
		failed, err := t.runCheck(ctx, c, files)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			result.Text += fmt.Sprintf("\n[check %s did not run: %v]", c.Command, err)
		case failed != "":
			result.Text += fmt.Sprintf("\n[check %s: %s]", c.Command, failed)
			result.Summary += ", " + c.Command + " found something"
		}
	}
}

// checked are the files among paths that a glob means and that are there, relative
// to the project's root.
func (t *turn) checked(glob string, paths []string) (files []string) {
	root := t.opt.Policy.Root
	for _, file := range paths {
		rel, err := filepath.Rel(root, file)
		if err != nil || !filepath.IsLocal(rel) || len(files) == maxChecked {
			continue
		}
		name := filepath.ToSlash(rel)
		if !strings.Contains(glob, "/") {
			name = path.Base(name)
		}
		if ok, err := doublestar.Match(glob, name); err != nil || !ok {
			continue
		}
		if _, err := t.opt.Env.Files.Stat(file); err == nil && !slices.Contains(files, rel) {
			files = append(files, rel)
		}
	}
	return files
}

// runCheck runs a check in the project's root. It returns what it found, "" when it
// ended well and said nothing. The error says that it could not be run.
func (t *turn) runCheck(ctx context.Context, c Check, files []string) (findings string, err error) {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = "./" + filepath.ToSlash(file) // no name is an option
	}
	line := c.Command + " " + shell.Quote(names...)
	if strings.Contains(c.Command, "{}") {
		line = strings.ReplaceAll(c.Command, "{}", shell.Quote(names...))
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = t.opt.Policy.Root, slices.Clone(t.env.Environ)
	var confined Confined
	run := shell.Command{Cmd: cmd, Limit: checkLimit, Waits: shell.DefaultWaits(), Live: io.Discard, Kill: t.env.Kill,
		Start: func(cmd *exec.Cmd) (shell.Started, error) {
			hidden, err := t.hidden(cmd, false)
			if err != nil {
				return nil, err
			}
			started, err := t.opt.Sandbox.Start(cmd, Line{Place: permission.PlaceDiscarded, Exec: true, Hidden: hidden})
			confined = started
			return started, err
		}}
	end, err := run.Run(ctx)
	if err != nil {
		return "", err
	}
	changes, err := confined.Changes(ctx)
	if err == nil {
		err = changes.Discard(true)
	}
	if err != nil {
		return "", errors.Join(errors.New("its layer could not be thrown away"), err)
	}
	said := strings.TrimSpace(string(end.Output))
	if len(said) > maxFindings {
		said = preview(said, maxFindings) + "\n(and more)"
	}
	switch {
	case end.Stop == shell.StopTimeout:
		return fmt.Sprintf("ended after %s\n%s", checkLimit, said), nil
	case end.Exit.Code != 0 || end.Exit.Signal != "":
		return fmt.Sprintf("%s\n%s", exitWords(end.Exit), said), nil
	}
	return said, nil
}

func exitWords(e shell.Exit) string {
	if e.Signal != "" {
		return "ended by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
