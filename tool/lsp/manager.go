// Package lsp asks language servers about the project's files: their problems after an edit, where a name
// is defined and used, the symbols of a file. A server is started when the first file of its kind is asked
// about; one that is late, dies or floods blocks no caller. It knows nothing of tools or models.
package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/environ"
	"artoo/tool/shell"
)

// Config holds the dependencies of a Manager.
type Config struct {
	Root    string // absolute and link-free
	Servers []Server
	Own     environ.Vars // artoo's own variables, by which servers are looked up
	Environ []string
	// Start starts a server's process, whose streams are files.
	Start shell.Start
	// Patience is how long an edit waits for a ready server's findings; 0 means 1.5 s.
	Patience time.Duration
}

// Manager starts servers as files are asked about, and keeps them until Close, for any goroutine.
type Manager struct {
	cfg Config

	mu      sync.Mutex
	clients map[string]*client
	edits   map[string]*edit
	closed  bool
}

// edit is a change of a file whose problems are not reported yet.
type edit struct {
	client  *client
	version int
	before  []Problem
	known   bool // before is
}

// New makes a Manager. Nothing is started.
func New(cfg Config) *Manager {
	if cfg.Patience == 0 {
		cfg.Patience = 1500 * time.Millisecond
	}
	return &Manager{cfg: cfg, clients: map[string]*client{}, edits: map[string]*edit{}}
}

// client is the server of a file, started if need be; nil where there is none.
func (m *Manager) client(path string) *client {
	server, ok := For(m.cfg.Servers, path)
	if !ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.clients[server.Name]
	if c == nil && !m.closed {
		c = start(m.cfg, server)
		m.clients[server.Name] = c
	}
	return c
}

// Found are the problems of a file that an edit brought.
type Found struct {
	Server   string
	Path     string
	Problems []Problem
	// Old says that the problems before the edit are not known: these are all errors there.
	Old bool
}

// Before reports the file's content before an edit to its server. It does not wait.
func (m *Manager) Before(path, text string) {
	if c := m.client(path); c != nil {
		c.sync(path, text)
	}
}

// After reports the file's content after an edit to its server, and returns the problems that were not
// there before; nil for nothing, and where the server does not say so in time: then Late does.
func (m *Manager) After(ctx context.Context, path, text string) *Found {
	c := m.client(path)
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Patience)
	defer cancel()
	e := &edit{client: c}
	if version, ok := c.opened(path); ok && c.isReady() {
		half, stop := context.WithTimeout(ctx, m.cfg.Patience/2)
		e.before, e.known = c.found(half, path, version)
		stop()
	}
	e.version = c.sync(path, text)
	m.mu.Lock()
	if old := m.edits[path]; old != nil && !e.known {
		e.before, e.known = old.before, old.known
	}
	m.edits[path] = e
	m.mu.Unlock()
	if !c.isReady() {
		return nil
	}
	return m.report(ctx, path, e)
}

// Late returns the problems of edited files of which After could say nothing. It does not wait.
func (m *Manager) Late() (all []Found) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	m.mu.Lock()
	edits := map[string]*edit{}
	for path, e := range m.edits {
		edits[path] = e
	}
	m.mu.Unlock()
	for path, e := range edits {
		if e.client.isReady() {
			if found := m.report(done, path, e); found != nil {
				all = append(all, *found)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Found) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// report returns the problems that an edit brought, once.
func (m *Manager) report(ctx context.Context, path string, e *edit) *Found {
	now, known := e.client.found(ctx, path, e.version)
	if !known {
		return nil
	}
	m.mu.Lock()
	if m.edits[path] == e {
		delete(m.edits, path)
	}
	m.mu.Unlock()
	var news []Problem
	for _, p := range now {
		old := e.known && slices.ContainsFunc(e.before, p.same)
		if !old && (e.known || p.Severity == "error") {
			news = append(news, p)
		}
	}
	if news == nil {
		return nil
	}
	return &Found{Server: e.client.server.Name, Path: path, Problems: news, Old: !e.known}
}

// Problems are all that is wrong with a file that holds text.
func (m *Manager) Problems(ctx context.Context, path, text string) ([]Problem, error) {
	c, err := m.asked(ctx, path)
	if err != nil {
		return nil, err
	}
	list, known := c.found(ctx, path, c.sync(path, text))
	if !known {
		return nil, fmt.Errorf("%s has not reported on it yet", c.server.Name)
	}
	return list, nil
}

// asked is the server of a file, ready to be asked.
func (m *Manager) asked(ctx context.Context, path string) (*client, error) {
	c := m.client(path)
	if c == nil {
		return nil, fmt.Errorf("there is no language server for files such as %s", path)
	}
	return c, c.wait(ctx)
}

// Loads reports whether the server of a file says that it has not yet seen all of the
// project: a symbol that it does not find may exist. It does not wait.
func (m *Manager) Loads(path string) bool {
	server, ok := For(m.cfg.Servers, path)
	m.mu.Lock()
	c := m.clients[server.Name]
	m.mu.Unlock()
	return ok && c != nil && c.loads()
}

// Place is a line of a file.
type Place struct {
	Path string // absolute; it may be outside the project
	Line int    // counts from 1
}

// Places are where the name at a byte of a line, both from 0, is defined (what is "definition"), or
// used, its definition included ("references").
func (m *Manager) Places(ctx context.Context, what, path, text string, line, at int) (places []Place, err error) {
	var raw json.RawMessage
	if err := m.at(ctx, "textDocument/"+what, path, text, line, at, &raw); err != nil {
		return nil, err
	}
	var list []location
	if json.Unmarshal(raw, &list) != nil {
		var one location
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, err
		}
		list = []location{one}
	}
	for _, l := range list {
		uri, start := l.URI, l.Range.Start
		if l.TargetURI != "" {
			uri, start = l.TargetURI, l.TargetSelectionRange.Start
		}
		if path := pathOf(uri); path != "" {
			places = append(places, Place{path, start.Line + 1})
		}
	}
	return places, nil
}

// Hover is the server's description of the name there, untrusted; "" for none.
func (m *Manager) Hover(ctx context.Context, path, text string, line, at int) (string, error) {
	var hover struct{ Contents json.RawMessage }
	if err := m.at(ctx, "textDocument/hover", path, text, line, at, &hover); err != nil {
		return "", err
	}
	return strings.TrimSpace(hoverText(hover.Contents)), nil
}

// hoverText reads a text, an object with one, or a list of either.
func hoverText(raw json.RawMessage) string {
	var text string
	var object struct{ Value string }
	var list []json.RawMessage
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &object) == nil:
		return object.Value
	case json.Unmarshal(raw, &list) == nil:
		var parts []string
		for _, part := range list {
			parts = append(parts, hoverText(part))
		}
		return strings.Join(parts, "\n")
	}
	return ""
}

// at asks about a place of a file.
func (m *Manager) at(ctx context.Context, method, path, text string, line, at int, result any) error {
	c, err := m.asked(ctx, path)
	if err != nil {
		return err
	}
	c.sync(path, text)
	lines := strings.Split(text, "\n")
	if line < 0 || line >= len(lines) || at < 0 || at > len(lines[line]) {
		return fmt.Errorf("there is no line %d", line+1)
	}
	params := map[string]any{
		"textDocument": map[string]any{"uri": uriOf(path)},
		"position":     position{line, column(lines[line], at, c.utf8)},
	}
	if method == "textDocument/references" {
		params["context"] = map[string]any{"includeDeclaration": true}
	}
	return c.conn.call(ctx, method, params, result)
}

// Symbol is a name that a file defines.
type Symbol struct {
	Name, Kind string
	Line       int // counts from 1
	Depth      int // how many others it is in
}

// String is a symbol in one line.
func (s Symbol) String() string {
	return fmt.Sprintf("%4d  %s%s %s", s.Line, strings.Repeat("  ", s.Depth), s.Kind, s.Name)
}

// Symbols are the names that a file defines, in its order.
func (m *Manager) Symbols(ctx context.Context, path, text string) ([]Symbol, error) {
	c, err := m.asked(ctx, path)
	if err != nil {
		return nil, err
	}
	c.sync(path, text)
	var list []symbol
	err = c.conn.call(ctx, "textDocument/documentSymbol",
		map[string]any{"textDocument": map[string]any{"uri": uriOf(path)}}, &list)
	return flat(list, 0), err
}

// symbol is a DocumentSymbol, or a SymbolInformation, which has a location.
type symbol struct {
	Name           string
	Kind           int
	SelectionRange span
	Location       *location
	Children       []symbol
}

func flat(list []symbol, depth int) (out []Symbol) {
	for _, s := range list {
		start := s.SelectionRange.Start
		if s.Location != nil {
			start = s.Location.Range.Start
		}
		out = append(out, Symbol{s.Name, kindOf(s.Kind), start.Line + 1, depth})
		out = append(out, flat(s.Children, depth+1)...)
	}
	return out
}

// kindOf is the protocol's SymbolKind in words.
func kindOf(n int) string {
	kinds := strings.Fields("file module namespace package class method property field constructor enum interface " +
		"function variable constant string number boolean array object key null member struct event operator type")
	if n < 1 || n > len(kinds) {
		return ""
	}
	return kinds[n-1]
}

// Close ends all servers.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	clients := m.clients
	m.clients = map[string]*client{}
	m.mu.Unlock()
	for _, c := range clients {
		c.stop()
		<-c.ready
		c.close()
	}
}
