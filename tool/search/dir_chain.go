package search

import (
	"os"
	"path/filepath"

	"artoo/tool/files"
)

// dirChain keeps the directories open that lead to the last one that was asked for:
// the next one is most often beside it or just below, and takes one call of the
// system to open, where the whole way took two for each part of it. No link is
// followed on the way. One is used by one goroutine; close it at the end.
type dirChain struct {
	at   files.Place // where names begin
	path []string
	open []openDir
}

// dir is the directory rel, relative to where the chain begins ("" for that itself).
// It is open until another one is asked for.
func (c *dirChain) dir(rel string) (openDir, error) {
	if len(c.open) == 0 {
		top, err := openTop(c.at)
		if err != nil {
			return top, err
		}
		c.path, c.open = append(c.path, ""), append(c.open, top)
	}
	want := files.Split(rel)
	same := 1
	for same <= len(want) && same < len(c.path) && want[same-1] == c.path[same] {
		same++
	}
	c.leave(same)
	for _, name := range want[same-1:] {
		below, err := c.open[len(c.open)-1].below(name)
		if err != nil {
			return below, err
		}
		c.path, c.open = append(c.path, name), append(c.open, below)
	}
	return c.open[len(c.open)-1], nil
}

// leave closes all but the first n directories.
func (c *dirChain) leave(n int) {
	for _, dir := range c.open[n:] {
		dir.close()
	}
	c.path, c.open = c.path[:n], c.open[:n]
}

func (c *dirChain) close() { c.leave(0) }

// entries opens a directory for reading what is in it; rel as for dir. Whoever asks
// closes it.
func (c *dirChain) entries(rel string) (*os.File, error) {
	abs := filepath.Join(c.at.Abs, rel)
	if rel == "" {
		top, err := c.dir("")
		if err != nil {
			return nil, err
		}
		return top.entries(".", abs)
	}
	parent, err := c.dir(filepath.Dir(rel))
	if err != nil {
		return nil, err
	}
	return parent.entries(filepath.Base(rel), abs)
}
