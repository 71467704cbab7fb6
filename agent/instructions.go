package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/tool/atomicfile"
	"artoo/tool/edit"
	"artoo/tool/files"
)

// instructionsLimit bounds all instruction files together, in bytes, as other agents do.
const instructionsLimit = 32 << 10

// instructionsOf reads the instruction files that hold for dir: the user's own (in configDir, ""
// for none), then those from root down to dir; "" for root reads no project's files. In each
// directory the first of AGENTS.md, AGENT.md, CLAUDE.md counts. cut says that 32 KB were passed.
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
	for _, name := range []string{"AGENTS.md", "AGENT.md", "CLAUDE.md"} {
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

// instructionsChanged is the note for the model on what differs between two reads; "" for nothing.
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

func (w *Workspace) instructions() ([]instruction, bool, error) {
	root, dir := w.Project.Root, w.Project.Dir
	if w.NoProject {
		root, dir = "", ""
	}
	list, cut, err := instructionsOf(w.ConfigDir, root, dir)
	for i := range list {
		list[i].Text = w.masked(list[i].Text)
	}
	return list, cut, err
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
				// The last part may be a file, and what cannot be read says nothing.
				if err != nil || given[at] || strings.TrimSpace(text) == "" {
					continue
				}
				given[at] = true
				left -= len(text)
				text = w.masked(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")))
				fmt.Fprintf(&b, "\n(Instructions from %s hold for what is in its directory:\n%s)", at, text)
			}
		}
		return b.String()
	}
}

// Memory is a line that the user would have in the instructions of later sessions.
type Memory struct {
	Path          string // Path of the instruction file, absolute.
	Diff          string // Diff is unsanitised.
	before, after []byte // before is nil where there is no file
}

// PlanMemory plans adding a line to the nearest instruction file: that of the working directory
// or above it, else a new AGENTS.md in the project root, else the user's own. It changes nothing.
func (a *Agent) PlanMemory(text string) (Memory, error) {
	w := a.session.opt.Workspace
	if w == nil {
		return Memory{}, errors.New("there is no project whose instructions could be added to")
	}
	path, err := w.nearestInstructions()
	if err != nil {
		return Memory{}, err
	}
	m := Memory{Path: path}
	if m.before, err = os.ReadFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if !utf8.Valid(m.before) {
		return m, fmt.Errorf("%s is no text in UTF-8", path)
	}
	if m.after = withLine(m.before, text); len(m.after) > instructionsLimit {
		return m, fmt.Errorf("%s would have more than the %d KB that are read of instructions", path, instructionsLimit>>10)
	}
	name := path
	if rel, err := filepath.Rel(w.Project.Root, path); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	m.Diff, err = edit.DiffFiles(name, m.before, m.after, m.before != nil, true)
	return m, err
}

// nearestInstructions is the file that a line is added to; a link is followed.
func (w *Workspace) nearestInstructions() (string, error) {
	base, dirs := w.Project.Root, downTo(w.Project.Root, w.Project.Dir)
	if w.NoProject {
		if base, dirs = w.ConfigDir, []string{"."}; base == "" {
			return "", errors.New("the project's instructions are not read, and there is no directory for the user's own")
		}
	}
	for _, dir := range slices.Backward(dirs) {
		_, path, err := firstInstruction(base, dir, 1)
		if err != nil {
			return "", err
		}
		if path != "" {
			return filepath.EvalSymlinks(path)
		}
	}
	path := filepath.Join(base, "AGENTS.md")
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s leads elsewhere, or is no file", path)
	}
	return path, nil
}

func withLine(before []byte, text string) []byte {
	end := "\n"
	if bytes.Contains(before, []byte("\r\n")) {
		end = "\r\n"
	}
	kept := bytes.TrimRight(before, " \t\r\n")
	after := bytes.Clone(kept)
	if len(kept) > 0 {
		after = append(after, end...)
		last := strings.TrimSpace(string(kept[bytes.LastIndexByte(kept, '\n')+1:]))
		if !strings.HasPrefix(last, "- ") && !strings.HasPrefix(last, "* ") {
			after = append(after, end...)
		}
	}
	return append(after, "- "+strings.Join(strings.Fields(text), " ")+end...)
}

// Remember does what was planned. Undo knows it as a change of the next turn, which also tells
// the model.
func (a *Agent) Remember(m Memory) error {
	now, err := os.ReadFile(m.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, m.before) {
		return fmt.Errorf("%s was changed meanwhile: nothing is written", m.Path)
	}
	if a.keeper.journal == nil {
		return a.writeMemory(m)
	}
	step := a.keeper.journal.Begin(a.session.turnNumber()+1, "remember "+filepath.Base(m.Path))
	if _, err := step.Before(m.Path); err != nil {
		_, ended := step.End()
		return errors.Join(err, ended)
	}
	err = a.writeMemory(m)
	_, ended := step.End()
	return errors.Join(err, ended)
}

func (a *Agent) writeMemory(m Memory) error {
	if w := a.session.opt.Workspace; !w.NoProject {
		planned := files.StateWith(m.before) // looked at once more, right before the file is replaced
		_, err := a.session.opt.Env.Files.WriteFileAtomic(m.Path, m.after, &planned)
		return err
	}
	return atomicfile.Write(m.Path, m.after, 0o600)
}
