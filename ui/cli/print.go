package cli

import (
	"fmt"
	"time"

	"artoo/provider"
	"artoo/ui/sanitize"
)

// Session is a kept session. Its JSON is what `artoo sessions --json` prints, a
// line each.
type Session struct {
	ID       string    `json:"id"`
	Path     string    `json:"path"`
	CWD      string    `json:"cwd"`     // "" when the file's first line cannot be read
	Started  time.Time `json:"started"` // zero when the file's first line cannot be read
	Updated  time.Time `json:"updated"`
	First    string    `json:"first"` // the first words of the user
	Messages int       `json:"messages"`
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	ForkOf   string    `json:"fork_of,omitempty"`
}

func (p *program) printSessions(list []Session, asJSON bool) error {
	for _, s := range list {
		line := fmt.Sprintf("%s  %s  %4d  %s  %s", s.ID, s.Updated.Format("2006-01-02 15:04"), s.Messages,
			sanitize.Text(s.CWD, sanitize.Line), sanitize.Text(s.First, sanitize.Line))
		if asJSON {
			data, err := provider.Marshal(s)
			if err != nil {
				return err
			}
			line = string(data)
		}
		if _, err := fmt.Fprintln(p.deps.Out, line); err != nil {
			return err
		}
	}
	return nil
}
