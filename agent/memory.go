package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"artoo/agent/instructions"
	"artoo/tool/atomicfile"
	"artoo/tool/diff"
	"artoo/tool/edit"
	"artoo/tool/files"
)

// Memory is a line that the user would have in the instructions of later sessions.
type Memory struct {
	Path          string // Path of the instruction file, absolute.
	Diff          string // Diff is unsanitised.
	private       bool   // the file is the project's memory, which undo leaves alone
	before, after []byte // before is nil where there is no file
}

// Memories are the lines that later sessions begin with: the project's memory, and the instruction files.
type Memories struct{ a *Agent }

// Memories are those of the agent's project. Between turns the front end may use them, during a turn only the turn itself.
func (a *Agent) Memories() Memories { return Memories{a} }

// PlanInstruction plans adding a line to the nearest instruction file: that of the working directory
// or above it, else a new AGENTS.md in the project root, else the user's own. It changes nothing.
func (ms Memories) PlanInstruction(text string) (Memory, error) {
	w := ms.a.session.opt.Workspace
	if w == nil {
		return Memory{}, errors.New("there is no project here, so no AGENTS.md to add to")
	}
	path, err := w.nearestInstructions(ms.a.session.opt.Env.Files)
	if err != nil {
		return Memory{}, err
	}
	m := Memory{Path: path}
	if m.before, err = os.ReadFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if !utf8.Valid(m.before) {
		return m, fmt.Errorf("%s is not text in UTF-8", path)
	}
	if m.after, err = withLine(m.before, text); err != nil {
		return m, fmt.Errorf("%s %w", path, err)
	}
	if len(m.after) > instructions.Limit {
		return m, fmt.Errorf("%s would exceed the %d KB of instructions that artoo reads", path, instructions.Limit>>10)
	}
	name := path
	if rel, err := filepath.Rel(w.Project.Root, path); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	m.Diff = edit.DiffFiles(name, m.before, m.after, m.before != nil, true)
	return m, nil
}

// nearestInstructions is the file that a line is added to; a link is followed.
func (w *Workspace) nearestInstructions(seen *files.Files) (string, error) {
	base, places := w.Project.Root, w.instructionPlaces(seen)
	if w.NoProject {
		if base = w.ConfigDir; base == "" {
			return "", errors.New("the project's instructions are off, and there is no config directory for your own")
		}
	} else {
		places.Config = ""
	}
	if path := instructions.Nearest(places); path != "" {
		return filepath.EvalSymlinks(path)
	}
	path := filepath.Join(base, "AGENTS.md")
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s is no file, or a link that artoo does not follow", path)
	}
	return path, nil
}

// withLine adds a line to a text, whose line ends are kept.
func withLine(before []byte, text string) ([]byte, error) {
	file, err := files.Decode(before)
	if err != nil {
		return nil, err
	}
	after := strings.TrimRight(file.Body, " \t\r\n")
	if after != "" {
		last := strings.TrimSpace(after[strings.LastIndexByte(after, '\n')+1:])
		if after += "\n"; !strings.HasPrefix(last, "- ") && !strings.HasPrefix(last, "* ") {
			after += "\n"
		}
	}
	after += "- " + strings.Join(strings.Fields(text), " ") + "\n"
	return file.Apply(diff.Lines(file.Body, after)).Encode()
}

func (ms Memories) write(m Memory) error {
	if w := ms.a.session.opt.Workspace; !w.NoProject {
		planned := files.StateWith(m.before) // looked at once more, right before the file is replaced
		_, err := ms.a.session.opt.Env.Files.WriteFileAtomic(m.Path, m.after, &planned)
		return err
	}
	return atomicfile.Write(m.Path, m.after, 0o600)
}
