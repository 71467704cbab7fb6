package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"artoo/tool/text"
)

// instructionsLimit bounds all instruction files together, in bytes, as other agents do.
const instructionsLimit = 32 << 10

// instructionsOf reads the instruction files that hold for dir: the user's own (in configDir, ""
// for none), then those from root down to dir; "" for root reads no project's files. In each
// directory the first of AGENTS.md, AGENT.md, CLAUDE.md counts. cut reports that 32 KB were passed.
// A project's file that leads out of the project, or to anything but Markdown, is not read: a
// repository must not choose which of the user's files go to a provider.
func instructionsOf(configDir, root, dir string) (list []instruction, cut bool, err error) {
	left := instructionsLimit
	read := func(base, rel string) error {
		text, path, err := firstInstruction(base, rel, left+1)
		if err != nil || strings.TrimSpace(text) == "" {
			return err
		}
		if len(text) > left {
			text, cut = strings.ToValidUTF8(text[:left], ""), true
		}
		left -= len(text)
		if strings.TrimSpace(text) == "" {
			return nil
		}
		list = append(list, instruction{Path: path, Text: strings.ToValidUTF8(text, "\uFFFD")})
		return nil
	}
	if configDir != "" {
		if err := read(configDir, "."); err != nil {
			return nil, false, err
		}
	}
	for _, rel := range downTo(root, dir) {
		if err := read(root, rel); err != nil {
			return nil, false, err
		}
	}
	return list, cut, nil
}

// instructionNames are the names of instruction files; the first that is there counts.
func instructionNames() []string { return []string{"AGENTS.md", "AGENT.md", "CLAUDE.md"} }

// firstInstruction reads the first instruction file of base/rel, up to n bytes.
func firstInstruction(base, rel string, n int) (text, path string, err error) {
	root, err := os.OpenRoot(base)
	if errors.Is(err, os.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("instructions: %w", err)
	}
	defer root.Close()
	for _, name := range instructionNames() {
		at := filepath.Join(rel, name)
		info, err := root.Stat(at)
		if err != nil || !info.Mode().IsRegular() {
			continue // missing, a directory, or a link that leads out
		}
		// A link to something else than Markdown is as likely one to a secret.
		real, err := filepath.EvalSymlinks(filepath.Join(base, at))
		if err != nil || !strings.EqualFold(filepath.Ext(real), ".md") {
			continue
		}
		f, err := root.Open(at)
		if err != nil {
			return "", "", fmt.Errorf("instructions: %w", err)
		}
		data, err := io.ReadAll(io.LimitReader(f, int64(n)))
		f.Close()
		if err != nil {
			return "", "", fmt.Errorf("instructions: %w", err)
		}
		return string(data), filepath.Join(base, at), nil
	}
	return "", "", nil
}

// downTo lists the directories from root down to dir, relative to root.
func downTo(root, dir string) []string {
	dirs := []string{"."}
	rel, err := filepath.Rel(root, dir)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return dirs
	}
	at := ""
	for _, part := range strings.Split(rel, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		dirs = append(dirs, at)
	}
	return dirs
}

// instructionsChanged is the note for the model on the differences between two reads; "" for none.
func instructionsChanged(before, after []instruction) string {
	old := map[string]string{}
	for _, i := range before {
		old[i.Path] = i.Text
	}
	var b strings.Builder
	for _, i := range after {
		if text, ok := old[i.Path]; !ok || text != i.Text {
			fmt.Fprintf(&b, "(The instructions in %s have changed. They now read:\n%s)\n", i.Path,
				strings.TrimSpace(i.Text))
		}
		delete(old, i.Path)
	}
	for _, i := range before {
		if _, gone := old[i.Path]; gone {
			fmt.Fprintf(&b, "(The instructions file %s is gone; it no longer holds.)\n", i.Path)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// instructions are those of the files and of memory. left are notices on omitted parts.
func (w *Workspace) instructions() (list []instruction, left []string, err error) {
	root, dir := w.Project.Root, w.Project.Dir
	if w.NoProject {
		root, dir = "", ""
	}
	list, cut, err := instructionsOf(w.ConfigDir, root, dir)
	if err != nil {
		return nil, nil, err
	}
	if cut {
		left = append(left, "the instruction files are longer than 32 KB together; the rest was left out")
	}
	remembered, cut, err := w.remembered()
	if err != nil {
		return nil, nil, err
	}
	if cut {
		left = append(left, "only the first 4 KB of this project's memory are sent; /memory edit shortens it")
	}
	if remembered.Text != "" {
		list = append(list, remembered)
	}
	for i := range list {
		list[i].Text = w.masked(list[i].Text)
	}
	return list, left, nil
}

// guide gives the instructions of a subdirectory when a file there is touched for the first time.
func (w *Workspace) guide(known []instruction) func(touched []string) string {
	if w.NoProject {
		return nil
	}
	given := map[string]bool{}
	for _, i := range known {
		given[i.Path] = true
	}
	left := instructionsLimit
	return func(touched []string) string {
		var b strings.Builder
		for _, path := range touched {
			rel, err := filepath.Rel(w.Project.Root, path)
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			for _, dir := range downTo(w.Project.Root, path) {
				text, at, err := firstInstruction(w.Project.Root, dir, left)
				// The last part may be a file, and one that cannot be read says nothing.
				if err != nil || given[at] || strings.TrimSpace(text) == "" {
					continue
				}
				given[at] = true
				left -= len(text)
				text = w.masked(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")))
				fmt.Fprintf(&b, "\n(Instructions from %s hold for files in its directory:\n%s)", at, text)
			}
		}
		return b.String()
	}
}

// instruction is one instructions file.
type instruction struct{ Path, Text string }

// MemoryLimit bounds the part of a project's memory that is sent, in bytes.
const MemoryLimit = 4 << 10

// rememberedIs stands before the lines of memory for the model.
const rememberedIs = "Lines that the user keeps about this project:\n"

// remembered is the project's memory as it is sent: whole lines, MemoryLimit at most. The text is
// "" where there are none; cut reports that some were left out. Of a first line that is too long,
// the beginning is sent.
func (w *Workspace) remembered() (lines instruction, cut bool, err error) {
	data, err := w.readMemory()
	if err != nil {
		return instruction{}, false, err
	}
	kept := strings.TrimSpace(string(data))
	if cut = len(kept) > MemoryLimit; cut {
		end := strings.LastIndexByte(kept[:MemoryLimit+1], '\n')
		kept = text.Cut(kept, cmp.Or(max(end, 0), MemoryLimit))
	}
	if kept = strings.ToValidUTF8(kept, "\uFFFD"); kept != "" {
		kept = rememberedIs + kept
	}
	return instruction{Path: w.Memory, Text: kept}, cut, nil
}

func (w *Workspace) readMemory() ([]byte, error) {
	if w.Memory == "" {
		return nil, nil
	}
	data, err := os.ReadFile(w.Memory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	return data, nil
}
