package agent

import (
	"encoding/json"
	"slices"
	"time"

	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
)

// Resumed is what the user should see again when a session goes on.
type Resumed struct {
	ID      string
	When    time.Time // of its last entry
	Model   string    // that answers now
	Before  string    // the model that was asked last, "" when it is Model
	Mode    permission.Mode
	User    string   // the last message; "" when there is none
	Answer  string   // the last reply, as far as it came
	Cut     bool     // it broke off
	Changed []string // files that changed since
}

// Resumed is what the user should see again of the present session, nil where it is
// a new one.
func (a *Agent) Resumed() *Resumed {
	s := a.conv.Session()
	if s == nil || !s.Resumed() {
		return nil
	}
	return a.resumed(s)
}

func (a *Agent) resumed(s *conversation.Session) *Resumed {
	r := &Resumed{ID: s.ID(), When: s.Updated(), Model: a.model.String(), Mode: a.opt.Policy.Mode}
	messages := a.conv.Messages()
	for _, m := range messages {
		if m.Provider != "" && m.Model != "" {
			r.Before = m.Provider + "/" + m.Model
		}
		switch {
		case m.Own():
		case m.Role == provider.RoleUser:
			r.User, r.Answer, r.Cut = typedText(m), "", true // until an answer to it is there
		case m.Role == provider.RoleAssistant && m.Text() != "":
			r.Answer, r.Cut = m.Text(), m.Partial || len(m.Calls()) > 0
		}
	}
	if r.Before == r.Model {
		r.Before = ""
	}
	r.Changed = a.changed(messages, s.Updated())
	return r
}

// typedText is a message as the user wrote it: without notes and what went
// along with it.
func typedText(m provider.Message) string {
	for _, p := range m.Parts {
		if t, ok := p.(provider.Text); ok && t.Note == "" {
			return t.Text
		}
	}
	return ""
}

// changed are the files that the calls of a history read or wrote and that are
// not now as they were when the session was last used: written since, or gone.
func (a *Agent) changed(messages []provider.Message, since time.Time) []string {
	files := a.opt.Env.Files
	if files == nil || since.IsZero() {
		return nil
	}
	var names []string
	for _, path := range a.touched(messages) {
		place, err := files.Resolve(path, false)
		if err != nil || place.Outside || place.Denied || slices.Contains(names, place.Display) {
			continue
		}
		info, err := files.Stat(place.Abs)
		// The session's times are whole milliseconds.
		if err != nil || !info.IsDir() && info.ModTime().Truncate(time.Millisecond).After(since) {
			names = append(names, place.Display)
		}
	}
	slices.Sort(names)
	return names
}

// touched are the paths of the calls that read or wrote a file and did not fail.
func (a *Agent) touched(messages []provider.Message) (paths []string) {
	onFiles := map[string]bool{"read": true}
	for _, t := range a.opt.Tools {
		onFiles[t.Name] = onFiles[t.Name] || t.Kind == tool.KindWrite
	}
	called := map[string][]string{} // paths by call
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.ToolCall:
				var input struct{ Path, Input string }
				if onFiles[p.Name] && json.Unmarshal(p.Input, &input) == nil {
					called[p.ID] = append(tool.PatchPaths(input.Input), input.Path)
				}
			case provider.ToolResult:
				if !p.IsError {
					paths = append(paths, called[p.CallID]...)
				}
			}
		}
	}
	return paths
}
