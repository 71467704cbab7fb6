package ui

import (
	"context"
	"errors"
	"os"
	"strings"

	"artoo/ui/export"
)

// access is what the present session's file tools reach.
func (d *Desk) access() fileAccess {
	a := fileAccess{env: d.Agent.Env(), dir: d.Dir}
	if home, err := os.UserHomeDir(); err == nil { // without one ~ means nothing
		a.home = home
	}
	return a
}

// expand reads what the @paths of a typed message name, but for those in the
// parts of it that were pasted. Called between turns.
func (d *Desk) expand(ctx context.Context, text string, pasted []Span) Expansion {
	return d.access().expand(ctx, text, pasted)
}

// completeFiles is a completer of @paths.
func (d *Desk) completeFiles(text string, cursor int) completion {
	return fileNames{access: d.access(), wait: completeWait}.complete(text, cursor)
}

// exportFile writes the session to the file of that name, see export.File, and
// returns what to tell the person. Called between turns.
func (d *Desk) exportFile(_ context.Context, name string) (told string, err error) {
	s, err := d.exported()
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(name, "~") {
		name = d.access().abs(name)
	}
	path, err := export.File(d.Dir, name, s)
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
func (d *Desk) exported() (export.Session, error) {
	c := d.Agent.Conversation()
	if c.MessageCount() == 0 {
		return export.Session{}, errors.New("nothing was said yet")
	}
	if s := c.Session(); s != nil {
		kept, err := d.Store.Read(source(s))
		if err != nil {
			return export.Session{}, err
		}
		e, h := export.Of(kept), s.Header()
		e.ID, e.ForkOf = h.ID, h.ForkOf
		return e, nil
	}
	s := export.Session{Dir: d.Dir, Provider: d.Agent.Model().Name, Model: d.Agent.Model().Defaults.Model, Messages: c.Messages()}
	s.Totals.Usage, s.Totals.CostUSD = d.Agent.Spent()
	return s, nil
}

// initFile writes an AGENTS.md for the project from what its files say, and
// returns what to tell the person. Called between turns.
func (d *Desk) initFile(ctx context.Context) (told string, err error) {
	notes, err := initialise(ctx, d.access())
	for i, note := range notes {
		notes[i] = oneLine(note)
	}
	return strings.Join(notes, "\n"), err
}
