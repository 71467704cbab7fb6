package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
)

// deniedFiles gives each denied file to all tools that work on files, and answers
// every question by yes.
func (t *tester) deniedFiles(p *play) error {
	for _, name := range p.denied {
		path := filepath.Join(p.Project, filepath.FromSlash(name))
		before, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		o, err := p.turn(t.ctx, "go on", true, p.model.call("read", map[string]any{"path": name}), p.model.call("read", map[string]any{"path": path}),
			p.model.call("grep", map[string]any{"pattern": "canary", "path": name}),
			p.model.call("edit", map[string]any{"path": name, "old_string": "PASSWORD", "new_string": "x"}),
			p.model.call("write", map[string]any{"path": name, "content": "x"}))
		if err != nil {
			return err
		}
		for i, r := range o.results {
			if r.Status == agent.CallOK {
				return fmt.Errorf("%s: call %d of it was run: %s", name, i+1, r.Text)
			}
		}
		if err := p.hidden(o); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			return errors.Join(fmt.Errorf("%s was changed", name), err)
		}
	}
	_, o, err := p.one(t.ctx, true, "grep", map[string]any{"pattern": "canary", "path": "."})
	if err != nil {
		return err
	}
	return p.hidden(o)
}

func (t *tester) ownCredentials(p *play) error {
	path := filepath.Join(p.Home, ".local", "share", "artoo", "credentials.toml")
	link := filepath.Join(p.Project, "mine.toml")
	if err := os.Link(path, link); err != nil {
		return err
	}
	o, err := p.turn(t.ctx, "go on", true, p.model.call("read", map[string]any{"path": path}),
		p.model.call("read", map[string]any{"path": "mine.toml"}))
	if err != nil {
		return err
	}
	return errors.Join(p.hidden(o), os.Remove(link))
}

func (t *tester) openFiles(p *play) error {
	for _, name := range p.open {
		text, _, err := p.one(t.ctx, false, "read", map[string]any{"path": name})
		if err != nil || !strings.Contains(text, "open to read") {
			return errors.Join(fmt.Errorf("%s: %s", name, text), err)
		}
	}
	return nil
}

func (t *tester) testKeys(p *play) error {
	if !p.git {
		return untested("there is no git")
	}
	text, o, err := p.one(t.ctx, false, "read", map[string]any{"path": "testdata/tracked.pem"})
	if err != nil {
		return err
	}
	if o.results[0].Status != agent.CallOK || !strings.Contains(text, markStart) {
		return fmt.Errorf("it is not read: %s", text)
	}
	// A page that begins within the key does not show that it is one.
	o, err = p.turn(t.ctx, "go on", false, p.model.call("bash", map[string]any{"command": "sed -n 2,3p testdata/tracked.pem; head -c 60 testdata/tracked.pem"}),
		p.model.call("bash", map[string]any{"command": "cut -c1-20 testdata/tracked.pem"}), p.model.call("bash", map[string]any{"command": "git show HEAD:testdata/tracked.pem | tail -n +3"}),
		p.model.call("read", map[string]any{"path": "testdata/tracked.pem", "offset": 2}),
		p.model.call("grep", map[string]any{"pattern": p.keyBody[:8], "path": "testdata"}))
	if err != nil {
		return err
	}
	return p.hidden(o)
}

// readingList runs lines that only read, with a no to every question.
func (t *tester) readingList(p *play) error {
	var lines []string
	for i, name := range p.denied { // each in one of the ways to read a file
		lines = append(lines, []string{"cat ", "head -1 ", "grep -n . ", "sort < "}[i%4]+"'"+name+"'")
	}
	lines = append(lines, "grep -r canary .", "cat .e*", "cat *.env", "find . -name '.env*' -exec cat {} +",
		"cat 'linked'; cat pointer", "head -1 linked pointer", "diff .env main.go",
		"cat $(echo .env)", "sed -n p .env", "cut -c1- .env",
		"cat ./sub/../.env", "cat "+p.Project+"/.env",
		"cat ~/.local/share/artoo/credentials.toml", "rg canary", "tail -n 5 linked pointer", "xxd .env", "od -c .env")
	return t.unasked(p, lines)
}

// readingGit runs the commands of git that only read.
func (t *tester) readingGit(p *play) error {
	if !p.git {
		return untested("there is no git")
	}
	lines := []string{
		"git show HEAD:.env", "git show HEAD", "git log -p", "git diff HEAD~0 -- .env", "git grep canary",
		"git grep canary HEAD",
		"git cat-file -p HEAD:.env", "git blame .env", "git diff --no-index /dev/null .env", "git log -p -- .env",
		"git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD", "git archive HEAD", "git stash show -p",
	}
	if err := t.unasked(p, lines); err != nil || p.agent.SetMode(permission.ModeAuto) != nil { // which not every place has
		return err
	}
	return t.unasked(p, lines)
}

// unasked runs each line with a no to its question: a line that runs unasked must not
// reveal a secret.
func (t *tester) unasked(p *play, lines []string) error {
	for _, line := range lines {
		o, err := p.turn(t.ctx, "go on", false, p.model.call("bash", map[string]any{"command": line}))
		if err != nil {
			return err
		}
		if err := p.hidden(o); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return nil
}

// confinedPlay has a command look for the denied files where the kernel holds it.
func (t *tester) confinedPlay(layer bool) func() error {
	return func() error {
		if t.confined == nil {
			return untested("nothing confines commands here")
		}
		line := "cat main.go; find . -type f -exec cat {} +; cat ~/.local/share/artoo/*"
		if layer && t.planted.git {
			line += "; git stash; git add -A; git diff HEAD; git log -p --all"
		}
		output, err := t.confined(t.ctx, line, layer)
		if err != nil {
			return err
		}
		if !strings.Contains(output, "package main") {
			return fmt.Errorf("the command did not read the project: %s", output)
		}
		if strings.Contains(output, t.planted.canary) {
			return errors.New("a denied file is read")
		}
		return nil
	}
}

var _ provider.Provider = (*script)(nil)
