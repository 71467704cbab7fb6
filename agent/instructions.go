package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"artoo/agent/instructions"
	"artoo/tool/files"
	"artoo/tool/text"
)

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

// instructionPlaces are the places of the instruction files; seen are the project's files as the model may read them.
func (w *Workspace) instructionPlaces(seen *files.Files) instructions.Places {
	p := instructions.Places{Config: w.ConfigDir, Home: w.Home}
	if !w.NoProject {
		p.Root, p.Dir, p.Files, p.Rules = w.Project.Root, w.Project.Dir, seen, w.Rules
	}
	return p
}

// Instructions are all instruction files that are there, those that are not used too.
func (w *Workspace) Instructions(seen *files.Files) []instructions.File {
	return instructions.Read(w.instructionPlaces(seen))
}

// instructions are those of the files and of memory, with those that are not used. cut says what was left out of memory.
func (w *Workspace) instructions(seen *files.Files) (list []instruction, cut string, err error) {
	list = w.Instructions(seen)
	remembered, isCut, err := w.remembered()
	if err != nil {
		return nil, "", err
	}
	if isCut {
		cut = "only the first 4 KB of this project's memory are sent; /memory edit shortens it"
	}
	if remembered.Used || remembered.Wrong() {
		list = append(list, remembered)
	}
	for i := range list {
		list[i].Text = w.masked(list[i].Text)
	}
	return list, cut, nil
}

// inForce are the files that the model is given.
func inForce(list []instruction) []instruction {
	return slices.DeleteFunc(slices.Clone(list), func(i instruction) bool { return !i.Used })
}

// report has imported files guarded as those that import them, and notifies the user once of files that their author most
// likely believes to be in force.
func (s *session) report(list []instruction) {
	if s.parent != nil {
		return
	}
	var imported []string
	for _, i := range list {
		if i.By != "" && i.Why != instructions.NoFile { // one that is missing or empty will be obeyed as it is written
			imported = append(imported, i.Path)
		}
	}
	s.opt.Policy.World.Guard.Imported(imported)
	var wrong []string
	for _, i := range list {
		if i.Wrong() {
			wrong = append(wrong, i.Name+" ("+i.Said+")")
		}
	}
	if wrong != nil {
		s.notifyOnce("instructions: " + text.UpTo(5, wrong) + "; /context and artoo doctor list all files")
	}
}

// guide gives the instructions of a subdirectory when a file there is touched for the first time.
// What was found goes to report.
func (w *Workspace) guide(seen *files.Files, known []instruction, report func([]instruction)) func(touched []string) string {
	if w.NoProject {
		return nil
	}
	nested := instructions.NewNested(w.instructionPlaces(seen), known)
	return func(touched []string) string {
		var b strings.Builder
		for _, path := range touched {
			found := nested.Touch(path)
			for _, f := range inForce(found) {
				fmt.Fprintf(&b, "\n(Instructions from %s hold for %s:\n%s)", f.Path, f.Scope(), w.masked(strings.TrimSpace(f.Text)))
			}
			report(found)
		}
		return b.String()
	}
}

// instruction is one instructions file.
type instruction = instructions.File

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
	kept, err := files.TextOf(data)
	if err != nil {
		return instruction{Path: w.Memory, Name: "memory", Why: instructions.Binary, Said: "not used: " + err.Error(), Try: "/memory edit"}, false, nil
	}
	kept = strings.TrimSpace(kept)
	if cut = len(kept) > MemoryLimit; cut {
		end := strings.LastIndexByte(kept[:MemoryLimit+1], '\n')
		kept = text.Cut(kept, cmp.Or(max(end, 0), MemoryLimit))
	}
	if kept = strings.ToValidUTF8(kept, "\uFFFD"); kept != "" {
		kept = rememberedIs + kept
	}
	return instruction{Path: w.Memory, Name: "memory", Used: kept != "", Why: instructions.Used, Text: kept, Sent: len(kept),
		Said: "used, " + text.Bytes(int64(len(kept)))}, cut, nil
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
