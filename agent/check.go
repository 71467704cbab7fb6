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

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/lsp"
	"artoo/tool/shell"
	"artoo/tool/text"
)

const (
	checkLimit  = 30 * time.Second
	maxChecked  = 20   // files of one call that are checked
	maxFindings = 2000 // bytes of a check's findings, for the model
)

// check runs the user's checks over the files that a call has written, each on a layer that is thrown
// away. A failed check is reported to the model; the call itself has succeeded.
func (c *calls) check(ctx context.Context, r *ran) {
	if r.tool.Kind != tool.KindWrite || len(c.session.opt.Checks) == 0 || c.session.opt.Env.Files == nil {
		return
	}
	for _, check := range c.session.opt.Checks {
		files := c.checked(check.Glob, r.call.Access.Paths)
		if len(files) == 0 {
			continue
		}
		if c.session.opt.Sandbox == nil || !c.session.opt.Policy.Confinement.Layer {
			c.unchecked.Do(func() {
				c.cb.notice(NoticeWarning, "[check] is off: its commands need layers, which this machine lacks")
			})
			return
		}
		failed, err := c.runCheck(ctx, check, files)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.Text += fmt.Sprintf("\n[check %s did not run: %v]", check.Command, err)
		case failed != "":
			r.Text += fmt.Sprintf("\n[check %s: %s]", check.Command, failed)
			r.Summary += ", " + check.Command + " found something"
		}
	}
}

// checked are the existing files among paths that a glob matches, relative to the project's root.
func (c *calls) checked(glob string, paths []string) (files []string) {
	root := c.session.opt.Policy.Root
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
		if _, err := c.session.opt.Env.Files.Stat(file); err == nil && !slices.Contains(files, rel) {
			files = append(files, rel)
		}
	}
	return files
}

// runCheck returns the findings of a check, "" for none. The error means that it could not be run.
func (c *calls) runCheck(ctx context.Context, check Check, files []string) (findings string, err error) {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = "./" + filepath.ToSlash(file) // no name is an option
	}
	line := check.Command + " " + shell.Quote(names...)
	if strings.Contains(check.Command, "{}") {
		line = strings.ReplaceAll(check.Command, "{}", shell.Quote(names...))
	}
	cmd := c.session.own().Command(context.Background(), "sh", "-c", line)
	cmd.Dir, cmd.Env = c.session.opt.Policy.Root, slices.Clone(c.env.Environ)
	var confined confine.Confined
	run := shell.Command{Cmd: cmd, Limit: checkLimit, Waits: shell.DefaultWaits(), Live: io.Discard, Kill: c.env.Kill,
		Start: func(cmd *exec.Cmd) (shell.Started, error) {
			started, err := c.session.opt.Sandbox.Start(cmd, confine.Line{Place: permission.PlaceDiscarded, Exec: true})
			confined = started
			return started, err
		}}
	end, err := run.Run(ctx)
	if err != nil {
		return "", err
	}
	ok := end.Exit == shell.Exit{} && end.Stop == shell.StopNone
	hidden := c.session.hiddenFrom(confined, cmd.Dir, line, string(end.Output), !ok)
	changes, err := confined.Changes(ctx)
	if err == nil {
		err = changes.Discard(true)
	}
	if err != nil {
		return "", errors.Join(errors.New("its layer could not be removed"), err)
	}
	said := strings.TrimSpace(string(end.Output))
	if len(said) > maxFindings {
		said = text.Clip(said, maxFindings) + "\n(and more)"
	}
	if !ok && len(hidden) > 0 {
		said = strings.TrimPrefix(said+"\nconfined: "+strings.Join(hidden, "; "), "\n")
	}
	switch {
	case end.Stop == shell.StopTimeout:
		return fmt.Sprintf("ended after %s\n%s", checkLimit, said), nil
	case !ok:
		return fmt.Sprintf("%s\n%s", exitWords(end), said), nil
	}
	return said, nil
}

const (
	maxProblems = 10
	maxLooked   = 5 // files of one call that language servers look at
)

// showServers gives the language servers the files as they are before a call writes them: errors that they have already
// are not reported.
func (c *calls) showServers(p planned) {
	if c.session.opt.Env.LSP == nil || p.tool.Kind != tool.KindWrite {
		return
	}
	for _, path := range p.call.Access.Paths[:min(len(p.call.Access.Paths), maxLooked)] {
		if text, err := c.session.opt.Env.Files.Source(path); err == nil { // a new file holds nothing
			c.session.opt.Env.LSP.Before(path, text)
		}
	}
}

// askServers adds to a call's result the problems that language servers have found since.
func (c *calls) askServers(ctx context.Context, r *ran) {
	if c.session.opt.Env.LSP == nil {
		return
	}
	found := c.session.opt.Env.LSP.Late()
	if r.tool.Kind == tool.KindWrite && !r.IsError {
		for _, path := range r.call.Access.Paths[:min(len(r.call.Access.Paths), maxLooked)] {
			text, err := c.session.opt.Env.Files.Source(path)
			if err != nil { // deleted
				continue
			}
			if f := c.session.opt.Env.LSP.After(ctx, path, text); f != nil {
				found = append(found, *f)
			}
		}
	}
	for _, f := range found {
		r.Text += c.problemText(f)
	}
}

func (c *calls) problemText(f lsp.Found) string {
	name := f.Path
	if place, err := c.session.opt.Env.Files.Resolve(f.Path, false); err == nil {
		name = place.Display
	}
	what := "new problems in"
	if f.Old {
		what = "errors, perhaps old ones, in"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n[%s: %s %s:\n", f.Server, what, name)
	for _, p := range f.Problems[:min(len(f.Problems), maxProblems)] {
		fmt.Fprintf(&b, "%s\n", text.Clip(p.String(), 400))
	}
	if more := len(f.Problems) - maxProblems; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n") + "]"
}
