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
	a := fileAccess{env: d.Agent.Env, dir: d.Dir}
	if home, err := os.UserHomeDir(); err == nil { // without one ~ means nothing
		a.home = home
	}
	return a
}

// Expand reads what the @paths of a typed message name. Called between turns.
func (d *Desk) Expand(ctx context.Context, text string) Expansion {
	return d.access().expand(ctx, text)
}

// FileNames proposes what may follow an @ that prefix follows as it was typed, as
// it is to be typed, within 50 ms; directories end in a slash. Called between
// turns.
func (d *Desk) FileNames(prefix string) []string {
	text := "@" + prefix
	c := fileNames{access: d.access(), wait: completeWait}.complete(text, len(text))
	var names []string
	for _, k := range c.candidates {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(k.text, "@"), " "))
	}
	return names
}

// ExportFile writes the session to the file of that name, see export.File, and
// returns what to tell the person. Called between turns.
func (d *Desk) ExportFile(_ context.Context, name string) (told string, err error) {
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
	c := d.Agent.Conversation
	if c.MessageCount() == 0 {
		return export.Session{}, errors.New("nothing was said yet")
	}
	if s := c.Session(); s != nil {
		kept, err := d.Store.Read(s.ID())
		if err != nil {
			return export.Session{}, err
		}
		return export.Of(kept), nil
	}
	s := export.Session{Dir: d.Dir, Provider: d.Agent.ProviderName, Model: d.Agent.Defaults.Model, Messages: c.Messages()}
	s.Totals.Usage, s.Totals.CostUSD = d.Agent.Spent()
	return s, nil
}

// InitFile writes an AGENTS.md for the project from what its files say, and
// returns what to tell the person. Called between turns.
func (d *Desk) InitFile(ctx context.Context) (told string, err error) {
	notes, err := initialise(ctx, d.access())
	for i, note := range notes {
		notes[i] = oneLine(note)
	}
	return strings.Join(notes, "\n"), err
}
