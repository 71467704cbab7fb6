package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"artoo/tool"
	"artoo/tool/atomicfile"
	"artoo/tool/edit"
)

// Text returns the project's memory and the path of its file, "" where memory is off.
func (ms Memories) Text() (text, path string, err error) {
	w := ms.a.session.opt.Workspace
	if w == nil || w.Memory == "" {
		return "", "", nil
	}
	data, err := w.readMemory()
	return string(data), w.Memory, err
}

// Replace replaces the project's memory, which must be as before still. The model gets it
// with the next message.
func (ms Memories) Replace(before, after string) error {
	now, path, err := ms.Text()
	switch {
	case err != nil:
		return err
	case path == "":
		return errors.New("memory is off")
	case now != before:
		return fmt.Errorf("%s was changed meanwhile: nothing is written", path)
	}
	return atomicfile.Write(path, []byte(after), 0o600)
}

// Plan plans adding a line to the project's memory. It changes nothing. The path of the
// plan is "" where memory is off.
func (ms Memories) Plan(line string) (Memory, error) {
	before, path, err := ms.Text()
	if err != nil || path == "" {
		return Memory{}, err
	}
	m := Memory{Path: path, private: true, before: []byte(before)}
	if !utf8.ValidString(before) {
		return m, fmt.Errorf("%s is not text in UTF-8", path)
	}
	if m.after, err = withLine(m.before, line); err != nil {
		return m, fmt.Errorf("%s %w", path, err)
	}
	if len(m.after) > MemoryLimit {
		return m, fmt.Errorf("memory would have more than the %d KB that are sent: shorten it with /memory edit", MemoryLimit>>10)
	}
	m.Diff = edit.DiffFiles("memory", m.before, m.after, before != "", true)
	return m, nil
}

// RememberTool is the name of the tool with which the model asks to add to memory.
const RememberTool = "remember"

type rememberInput struct {
	Line string `json:"line" jsonschema:"one short fact"`
}

func rememberTool() tool.Tool {
	return tool.New(tool.Def{Name: RememberTool, Kind: tool.KindNone, Optional: true,
		Description: "Ask the user to keep a line about this project for later sessions. " +
			"For lasting facts and wishes of the user that no file holds; never for secrets."},
		func(_ context.Context, _ *tool.Env, in rememberInput) (tool.Access, error) {
			line := strings.Join(strings.Fields(in.Line), " ")
			if line == "" {
				return tool.Access{}, errors.New("remember: line is empty")
			}
			return tool.Access{Kind: tool.KindNone, Verb: "remember", Object: line}, nil
		}, nil)
}

// notAdded is the error of a line about which no one answered.
type notAdded struct{ error }

func (t *turn) runRemember(ctx context.Context, d decided) (made produced, err error) {
	in, err := tool.Decode[rememberInput](*d.tool, d.call.Input)
	if err != nil {
		return made, err
	}
	m, err := t.agent.Memories().Plan(in.Line)
	if err != nil {
		return made, fmt.Errorf("remember: %w", err)
	}
	if m.Path == "" {
		return made, errors.New("remember: memory is off")
	}
	answer, err := t.calls.askMore(ctx, d, Question{Kind: QuestionMemory})
	made.program = answer.By
	switch {
	case ctx.Err() != nil:
		return made, context.Cause(ctx)
	case errors.Is(err, ErrNobody):
		return made, notAdded{err}
	case err != nil:
		return made, err
	case answer.Verdict == StopTurn:
		return stopped("The user stopped the turn. The line was not added.", "not added"), nil
	case answer.Verdict != Yes:
		made.Text, made.Summary = "The user did not add the line"+because(answer.Reason)+".", "not added"+because(answer.Reason)
		return made, nil
	}
	if m, err = t.agent.Memories().Plan(in.Line); err == nil { // The user may have changed the file meanwhile.
		err = t.agent.Memories().Add(m)
	}
	if err != nil {
		return made, fmt.Errorf("remember: %w", err)
	}
	made.Text, made.Summary = "The line was added.", "added"
	return made, nil
}

// Add makes the planned change. Undo knows it as a change of the next turn, which also
// informs the model.
func (ms Memories) Add(m Memory) error {
	if m.private {
		return ms.Replace(string(m.before), string(m.after))
	}
	now, err := os.ReadFile(m.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, m.before) {
		return fmt.Errorf("%s was changed meanwhile: nothing is written", m.Path)
	}
	if ms.a.keeper.journal == nil {
		return ms.write(m)
	}
	step := ms.a.keeper.journal.Begin(ms.a.session.turnNumber()+1, "remember "+filepath.Base(m.Path))
	if _, err = step.Before(m.Path); err == nil {
		err = ms.write(m)
	}
	_, ended := step.End()
	ms.a.keeper.approved.add(m.Path)
	return errors.Join(err, ended)
}
