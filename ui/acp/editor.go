package acp

import (
	"context"
	"sync"
	"time"

	"artoo/agent"
)

// Editor carries requests of the host to the editor during a turn. Any goroutine calls it.
type Editor interface {
	// Approve asks whether a server or another program of a third party may run: with yes from now
	// on. detail is shown whole, untrusted.
	Approve(title, detail string) (bool, error)
	// Read is the text of a file as the editor has it; ok is false where it has none, or is not to
	// be asked.
	Read(path string) (text string, ok bool)
	// Write has the editor write a file.
	Write(path, text string) error
}

// editor asks the client during a turn; it implements Editor.
type editor struct {
	session *session
	mu      sync.Mutex
	ctx     context.Context // the turn's; nil between turns
}

// during begins a turn; the func ends it.
func (e *editor) during(ctx context.Context) (end func()) {
	set := func(ctx context.Context) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.ctx = ctx
	}
	set(ctx)
	return func() { var none context.Context; set(none) }
}

// turn is the context of the turn; agent.ErrNobody between turns.
func (e *editor) turn() (context.Context, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx == nil {
		return nil, agent.ErrNobody
	}
	return e.ctx, nil
}

// Approve implements Editor.
func (e *editor) Approve(title, detail string) (bool, error) {
	ctx, err := e.turn()
	if err != nil {
		return false, err
	}
	if len(detail) > mostText {
		return false, nil
	}
	call := toolCall{ID: "approve " + title, Title: oneLine(title), ToolKind: "execute", Status: "pending", Content: []callContent{textContent(detail)}}
	id, err := e.session.permission(ctx, call, []option{{"yes", "yes, from now on", "allow_always"}, {"no", "no", "reject_once"}})
	return id == "yes", err
}

// fileTimeout bounds how long the editor may take for a file.
const fileTimeout = 5 * time.Second

// Read implements Editor.
func (e *editor) Read(path string) (string, bool) {
	ctx, err := e.turn()
	if err != nil || !e.session.client.FS.Read {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	var out fileResponse
	err = e.session.server.wire.call(ctx, "fs/read_text_file", fileRequest{SessionID: e.session.id, Path: path}, &out)
	return out.Content, err == nil
}

// Write implements Editor.
func (e *editor) Write(path, text string) error {
	ctx, err := e.turn()
	if err != nil || !e.session.client.FS.Write {
		return agent.ErrNobody
	}
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	return e.session.server.wire.call(ctx, "fs/write_text_file", fileRequest{e.session.id, path, &text}, &empty{})
}
