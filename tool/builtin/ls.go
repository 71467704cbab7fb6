package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/search"
	"artoo/tool/text"
)

const listEntries = 1000 // entries ls shows

type lsInput struct {
	Path string `json:"path,omitempty" jsonschema:"default: the working directory"`
}

// Ls is the tool that lists a directory.
func Ls() tool.Tool {
	return tool.New(tool.Def{
		Name: "ls",
		Kind: tool.KindRead,
		Description: "List a directory, hidden and ignored entries included, with sizes in bytes. Directories end in a slash, " +
			"links show where they lead. Not recursive: use glob.",
	}, planLs, runLs)
}

func planLs(_ context.Context, env *tool.Env, in lsInput) (tool.Access, error) {
	t, err := env.Files.Resolve(cmp.Or(in.Path, "."), false)
	if err != nil {
		return tool.Access{Kind: tool.KindRead, Verb: "list", Object: in.Path}, err
	}
	return accessTo(t, tool.KindRead, "list", t.Display), nil
}

func runLs(ctx context.Context, env *tool.Env, in lsInput, _ io.Writer) (tool.Result, error) {
	t, err := env.Files.Resolve(cmp.Or(in.Path, "."), false)
	if err != nil {
		return tool.Result{}, err
	}
	entries, more, err := t.ReadDir(search.MaxEntriesRead)
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Result{}, missing(env.Files, t, "")
	}
	if err != nil {
		return tool.Result{}, err
	}
	var b strings.Builder
	shown, all, hidden := 0, 0, 0
	for _, entry := range entries {
		if entry.Name() == ".git" {
			continue
		}
		if env.Files.HidesName(filepath.Join(t.Abs, entry.Name())) {
			hidden++
			continue
		}
		if all++; all > listEntries {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return tool.Result{}, err
		}
		if line := lsLine(t, entry); line != "" {
			b.WriteString(line)
			shown++
		}
	}
	summary := text.Counted(all, "entry", "entries")
	switch {
	case all == 0 && hidden > 0:
		return tool.Result{Text: hiddenNote(hidden), Summary: "only hidden files"}, nil
	case all == 0:
		return tool.Result{Text: t.Display + " is empty", Summary: "empty"}, nil
	case more:
		summary = fmt.Sprintf("over %d entries", search.MaxEntriesRead)
	}
	if all > listEntries {
		fmt.Fprintf(&b, "[the first %d of %s; glob finds others by name]\n", shown, strings.TrimSuffix(summary, " entries"))
	}
	b.WriteString(hiddenNote(hidden))
	return tool.Result{Text: b.String(), Summary: summary}, nil
}

// lsLine is the line of one entry, "" if it has gone.
func lsLine(t files.Place, entry fs.DirEntry) string {
	name := text.Printable(entry.Name())
	switch {
	case entry.IsDir():
		return fmt.Sprintf("%10s  %s/\n", "-", name)
	case entry.Type()&fs.ModeSymlink != 0:
		leads, err := t.Readlink(entry.Name())
		if err != nil {
			return ""
		}
		return fmt.Sprintf("%10s  %s -> %s\n", "link", name, text.Printable(leads))
	case !entry.Type().IsRegular():
		kind := strings.Fields(files.Special(entry.Type()))
		return fmt.Sprintf("%10s  %s\n", kind[len(kind)-1], name)
	}
	info, err := entry.Info()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%10d  %s\n", info.Size(), name)
}
