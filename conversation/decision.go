package conversation

import (
	"os"
	"time"
)

// noteDecision is the kind of the note that has a Decision.
const noteDecision = "decision"

// Decision is the answer to whether a call may run, or whether the changes of a command are applied. Its texts are
// masked. Session files, exports and events have its fields.
type Decision struct {
	Time   time.Time `json:"time,omitzero"` // that of its line; zero until it is read from a file
	Call   string    `json:"call"`          // the call's id
	Agent  string    `json:"agent,omitempty"`
	Tool   string    `json:"tool"`
	Object string    `json:"object"` // the command, path or address
	Dir    string    `json:"dir"`    // the directory that the call is seen from
	Kind   string    `json:"kind"`   // the kind of the question, also where nothing was asked
	Answer string    `json:"answer"` // a verdict of the question's
	// From is typed, rule, mode, hook, program, editor or nobody. By is the name of the hook or program.
	From   string `json:"decided_by"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	Rule   string `json:"rule,omitempty"`   // the rule that decided, or that the answer gave
	Narrow string `json:"narrow,omitempty"` // the narrowest rule that would allow the call
	Shown  string `json:"shown,omitempty"`  // a hash of the question; "" where nothing was asked
}

// Decide writes a decision to the session; where none is kept, nothing happens. Any goroutine may call it.
func (c *Conversation) Decide(d Decision) error {
	return c.Note(Note{Kind: noteDecision, Decision: &d})
}

// Decisions are those in the session's file, in their order; nil for a session that has no file yet.
func (s *Session) Decisions() ([]Decision, error) { return decisionsIn(s.path) }

// Decisions are those in the session's file, in their order.
func (i Info) Decisions() ([]Decision, error) { return decisionsIn(i.Path) }

func decisionsIn(path string) (list []Decision, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, notMissing(err))
	}
	defer f.Close()
	_, _, err = eachLine(f, func(_ place, _ int, line []byte) {
		if b, own := parseBeginning(line); own && string(b.kind) != typeNote {
			return
		}
		e, err := decodeEntry(line)
		if n, ok := e.payload.(*Note); ok && err == nil && n.Decision != nil {
			n.Decision.Time = e.Time
			list = append(list, *n.Decision)
		}
	})
	return list, fileError(path, err)
}
