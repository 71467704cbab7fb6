package confine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"artoo/tool"
	"artoo/tool/sandbox"
)

// maxShown is the size in bytes of the largest file whose text is shown; those
// above are named by their size.
const maxShown = 1 << 20

// changes are what a command did on a layer.
type changes struct {
	confiner *Confiner
	line     string // the command, for the journal
	found    *sandbox.Changes
	gone     bool
}

func (c *changes) List() []sandbox.Change { return c.found.Entries }

// Discard throws the layer away; further calls do nothing.
func (c *changes) Discard() error {
	if c.gone {
		return nil
	}
	c.gone = true
	if c.confiner.layer == c {
		c.confiner.layer = nil
	}
	return c.found.Discard()
}

// maxDiff is how many bytes the diffs of all files take together; the files after
// that are named by their size.
const maxDiff = 4 << 20

// Diff implements agent.Changes.
func (c *changes) Diff(some []sandbox.Change) string {
	var b strings.Builder
	left := 0
	for _, change := range some {
		if tool.GitData(c.name(change.Path)) || change.Special {
			continue
		}
		if b.Len() > maxDiff {
			if change.Mode.IsRegular() && change.Kind != sandbox.Mode {
				left++
				fmt.Fprintf(&b, "%s: %s, %d bytes, text left out\n", c.name(change.Path), change.Kind,
					cmp.Or(change.Size, change.Before.Size))
			}
			continue
		}
		text, err := c.diff(change)
		if err != nil {
			text = fmt.Sprintf("%s cannot be shown: %v\n", c.name(change.Path), err)
		}
		b.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(&b, "the text of %d more files is left out: the diff would be too long\n", left)
	}
	return b.String()
}

// Git implements agent.Changes.
func (c *changes) Git(ctx context.Context) []string {
	var list []tool.GitChange
	byName := map[string]sandbox.Change{}
	for _, change := range c.found.Entries {
		if name := c.name(change.Path); tool.GitData(name) && change.Mode.IsRegular() {
			list = append(list, tool.GitChange{Path: name, Gone: change.Kind == sandbox.Deleted})
			byName[name] = change
		}
	}
	return tool.GitChanges(ctx, c.confiner.config.Root, list, nil, func(name string) (io.ReadCloser, error) {
		return c.found.Open(byName[name])
	})
}

// name is a path as it is shown: relative to the project where it is in it.
func (c *changes) name(path string) string {
	if rel, err := filepath.Rel(c.confiner.config.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// diff is the change of one file as a unified diff.
func (c *changes) diff(change sandbox.Change) (string, error) {
	if change.Kind == sandbox.Mode || !change.Mode.IsRegular() { // of what is gone, the mode that it had
		return "", nil // what happened is told by name
	}
	var before, after []byte
	var err error
	if change.Before.Mode.IsRegular() && change.Before.Mode != 0 {
		if change.Before.Size > maxShown || change.Size > maxShown {
			return fmt.Sprintf("%s: %d bytes, before %d\n", c.name(change.Path), change.Size, change.Before.Size), nil
		}
		if before, err = os.ReadFile(change.Path); err != nil {
			return "", err
		}
	}
	if change.Kind != sandbox.Deleted {
		if change.Size > maxShown {
			return fmt.Sprintf("%s: %d bytes, new\n", c.name(change.Path), change.Size), nil
		}
		if after, err = c.content(change); err != nil {
			return "", err
		}
	}
	return tool.DiffFiles(c.name(change.Path), before, after,
		change.Before.Mode != 0, change.Kind != sandbox.Deleted)
}

// content is what a file holds on the layer.
func (c *changes) content(change sandbox.Change) ([]byte, error) {
	file, err := c.found.Open(change)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxShown+1))
}

// Apply implements agent.Changes.
func (c *changes) Apply(ctx context.Context, some []sandbox.Change) (lost []string, err error) {
	if c.gone {
		return nil, errors.New("they were thrown away")
	}
	if c.confiner.config.Apply == nil {
		return nil, errors.New("there is no journal to apply them through")
	}
	return c.confiner.config.Apply(ctx, c.line, some, c.found.Open)
}
