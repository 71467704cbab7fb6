package ui

import (
	"context"
	"errors"
	"os"
	"strings"

	"artoo/agent"
	"artoo/ui/export"
)

// project is what an agent works in, for the commands that use its files.
type project struct{ *agent.Agent }

// access is what the present session's file tools reach.
func (p project) access() fileAccess {
	a := fileAccess{env: p.Env(), dir: p.Env().Dir}
	if home, err := os.UserHomeDir(); err == nil { // without one ~ means nothing
		a.home = home
	}
	return a
}

// expand reads what the @paths of a typed message name, but for those in the
// parts of it that were pasted. Called between turns.
func (p project) expand(ctx context.Context, text string, pasted []Span) Expansion {
	return p.access().expand(ctx, text, pasted)
}

// completeFiles is a completer of @paths.
func (p project) completeFiles(text string, cursor int) completion {
	return fileNames{access: p.access(), wait: completeWait}.complete(text, cursor)
}

// exportFile writes the session to the file of that name, see export.File, and
// returns what to tell the user. Called between turns.
func (p project) exportFile(_ context.Context, name string) (told string, err error) {
	s, err := p.exported()
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(name, "~") {
		name = p.access().abs(name)
	}
	path, err := export.File(p.Env().Dir, name, s)
	var wrong *export.Error
	if errors.As(err, &wrong) {
		return "", errors.New(wrong.Error() + "; " + wrong.Hint)
	}
	if err != nil {
		return "", err
	}
	return "written to " + oneLine(path), nil
}

// exported is the present session: all of it where it is kept, else what the
// model still sees of it.
func (p project) exported() (export.Session, error) {
	c := p.Conversation()
	if c.MessageCount() == 0 {
		return export.Session{}, errors.New("nothing was said yet")
	}
	if s := c.Session(); s != nil {
		kept, err := p.Saved()
		if err != nil {
			return export.Session{}, err
		}
		e, h := export.Of(kept), s.Header()
		e.ID, e.ForkOf = h.ID, h.ForkOf
		return e, nil
	}
	s := export.Session{Dir: p.Env().Dir, Provider: p.Model().Name, Model: p.Model().Defaults.Model, Messages: c.Messages()}
	s.Totals.Usage, s.Totals.CostUSD = p.Spent()
	return s, nil
}

// initFile writes an AGENTS.md for the project from what its files say, and
// returns what to tell the user. Called between turns.
func (p project) initFile(ctx context.Context) (told string, err error) {
	notes, err := initialise(ctx, p.access())
	for i, note := range notes {
		notes[i] = oneLine(note)
	}
	return strings.Join(notes, "\n"), err
}
