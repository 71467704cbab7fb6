package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

const (
	listEntries = 1000 // entries ls shows
	// maxEntriesRead bounds what is read of a directory, so that the ones
	// shown can be sorted.
	maxEntriesRead = 20000
)

type lsInput struct {
	Path string `json:"path,omitempty" jsonschema:"directory, the working directory if left out"`
}

// Ls is the tool that lists a directory.
func Ls() Tool {
	return New(Def{
		Name: "ls",
		Kind: KindRead,
		Description: "List a directory, hidden and ignored entries included, with sizes in bytes. Directories end in a slash, " +
			"links show where they lead. It does not go into directories below: glob does.",
	}, planLs, runLs)
}

func (in lsInput) path() string {
	return cmp.Or(in.Path, ".")
}

func planLs(_ context.Context, env *Env, in lsInput) (Access, error) {
	t, err := env.Files.resolve(in.path(), false)
	if err != nil {
		return Access{Kind: KindRead, Verb: "list", Object: in.Path}, err
	}
	return t.access(KindRead, "list", t.Display), nil
}

func runLs(ctx context.Context, env *Env, in lsInput, _ io.Writer) (Result, error) {
	t, err := env.Files.resolve(in.path(), false)
	if err != nil {
		return Result{}, err
	}
	entries, more, err := t.readDir(maxEntriesRead)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, env.Files.missing(t, "")
	}
	if err != nil {
		return Result{}, err
	}
	var b strings.Builder
	shown, all := 0, 0
	for _, entry := range entries {
		if entry.Name() == ".git" {
			continue
		}
		if all++; all > listEntries {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return Result{}, err
		}
		if line := t.entry(entry); line != "" {
			b.WriteString(line)
			shown++
		}
	}
	summary := fmt.Sprintf("%d entries", all)
	switch {
	case all == 0:
		return Result{Text: t.Display + " is empty", Summary: "empty"}, nil
	case all == 1:
		summary = "1 entry"
	case more:
		summary = fmt.Sprintf("over %d entries", maxEntriesRead)
	}
	if all > listEntries {
		fmt.Fprintf(&b, "[the first %d of %s; glob finds others by name]\n", shown, strings.TrimSuffix(summary, " entries"))
	}
	return Result{Text: b.String(), Summary: summary}, nil
}

// entry is the line of one entry, "" if it has gone.
func (t target) entry(entry fs.DirEntry) string {
	name := quoteName(entry.Name())
	switch {
	case entry.IsDir():
		return fmt.Sprintf("%10s  %s/\n", "-", name)
	case entry.Type()&fs.ModeSymlink != 0:
		leads, err := t.grant.root.Readlink(filepath.Join(t.rel, entry.Name()))
		if err != nil {
			return ""
		}
		return fmt.Sprintf("%10s  %s -> %s\n", "link", name, quoteName(leads))
	case !entry.Type().IsRegular():
		kind := strings.Fields(special(entry.Type()))
		return fmt.Sprintf("%10s  %s\n", kind[len(kind)-1], name)
	}
	info, err := entry.Info()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%10d  %s\n", info.Size(), name)
}

// quoteName quotes a name that holds control characters, so that each line is
// one entry.
func quoteName(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return strings.ToValidUTF8(name, "�")
}
