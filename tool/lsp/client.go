package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/shell"
)

// startLimit is how long a server may take to report its abilities.
const startLimit = 30 * time.Second

// client is a running server.
type client struct {
	server  Server
	root    string
	process shell.Started
	conn    *conn
	pipes   []*os.File
	life    context.Context
	stop    context.CancelFunc
	closed  sync.Once
	ready   chan struct{} // closed when it can be asked, or never will
	err     error         // why it cannot; once ready is closed
	utf8    bool          // it counts columns in bytes, not in UTF-16 units

	mu        sync.Mutex
	shaken    bool // it may be sent files
	documents map[string]*document
	published chan struct{} // closed and made again with each publication
	runs      int
	loading   map[string]bool
	settling  bool // it says so of itself
}

// document is a file as the server knows it.
type document struct {
	text     string
	version  int
	problems []Problem
	of       int // the version that problems are of; -1 before there are any
	checked  int // the version that a check of the whole project began with; -1 before one
}

const (
	// flycheck begins the names of rust-analyzer's runs of cargo check. The end of one is all that it
	// says of an edit which broke nothing.
	flycheck = "rust-analyzer/flycheck/"
	// checkGrace is for findings that a run publishes right after its end, and for the next run after a
	// cut-off one.
	checkGrace = 200 * time.Millisecond
)

// start starts a server. It returns at once; requests wait until it is ready.
func start(cfg Config, server Server) *client {
	c := &client{server: server, root: cfg.Root, ready: make(chan struct{}), documents: map[string]*document{},
		published: make(chan struct{}), loading: map[string]bool{}}
	c.life, c.stop = context.WithCancel(context.Background())
	go func() {
		defer close(c.ready)
		defer func() {
			if crash := recover(); crash != nil { // the server is not to be had
				c.err = fmt.Errorf("its start crashed: %v", crash)
			}
			if c.err != nil {
				c.err = fmt.Errorf("%s: %w", server.Name, c.err)
				c.close()
			}
		}()
		c.err = c.begin(cfg)
	}()
	return c
}

// begin starts the process and shakes hands.
func (c *client) begin(cfg Config) error {
	path, err := cfg.Own.LookPath(c.server.Command[0])
	if err != nil {
		return fmt.Errorf("is not on PATH (directories that commands may write do not count)")
	}
	cmd := exec.Command(path, c.server.Command[1:]...)
	cmd.Dir, cmd.Env = cfg.Root, slices.Clone(cfg.Environ)
	fromHere, toServer, err := os.Pipe()
	if err != nil {
		return err
	}
	fromServer, toHere, err := os.Pipe()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	c.pipes = []*os.File{toServer, fromServer}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = fromHere, toHere, null
	c.process, err = cfg.Start(cmd)
	fromHere.Close()
	toHere.Close()
	null.Close()
	if err != nil {
		return err
	}
	c.conn = newConn(toServer, fromServer, c.notified, c.asked)
	ctx, cancel := context.WithTimeoutCause(c.life, startLimit, fmt.Errorf("is not ready after %s", startLimit))
	defer cancel()
	return c.initialize(ctx)
}

func (c *client) initialize(ctx context.Context) error {
	var said struct {
		Capabilities struct {
			PositionEncoding string `json:"positionEncoding"`
		} `json:"capabilities"`
	}
	err := c.conn.call(ctx, "initialize", map[string]any{
		"processId": nil, "rootUri": uriOf(c.root), "rootPath": c.root,
		"clientInfo":       map[string]any{"name": "artoo"},
		"workspaceFolders": []any{map[string]any{"uri": uriOf(c.root), "name": filepath.Base(c.root)}},
		"capabilities": map[string]any{
			"general":      map[string]any{"positionEncodings": []string{"utf-8", "utf-16"}},
			"workspace":    map[string]any{"configuration": true, "workspaceFolders": true},
			"window":       map[string]any{"workDoneProgress": true},
			"experimental": map[string]any{"serverStatusNotification": true},
			"textDocument": map[string]any{
				"synchronization":    map[string]any{"didSave": true},
				"publishDiagnostics": map[string]any{"versionSupport": true},
				"definition":         map[string]any{}, "references": map[string]any{},
				"hover":          map[string]any{"contentFormat": []string{"plaintext", "markdown"}},
				"documentSymbol": map[string]any{"hierarchicalDocumentSymbolSupport": true},
			},
		},
	}, &said)
	if err != nil {
		return err
	}
	c.utf8 = said.Capabilities.PositionEncoding == "utf-8"
	c.conn.notify("initialized", map[string]any{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shaken = true
	for path, d := range c.documents {
		c.open(path, d)
	}
	return nil
}

// isReady reports whether the server can be asked.
func (c *client) isReady() bool {
	select {
	case <-c.ready:
		return c.err == nil
	default:
		return false
	}
}

// opened is the version by which the server knows a file; false where it does not.
func (c *client) opened(path string) (version int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.documents[path]; d != nil {
		return d.version, true
	}
	return 0, false
}

func (c *client) open(path string, d *document) {
	c.conn.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uriOf(path), "languageId": language(path), "version": d.version, "text": d.text}})
}

// asked answers requests of servers: they get no settings, and all that they register for counts.
func (c *client) asked(method string, params json.RawMessage) (any, bool) {
	switch method {
	case "workspace/configuration":
		var in struct{ Items []any }
		if json.Unmarshal(params, &in) != nil {
			return nil, false
		}
		return make([]any, len(in.Items)), true
	case "workspace/workspaceFolders":
		return []any{map[string]any{"uri": uriOf(c.root), "name": filepath.Base(c.root)}}, true
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create",
		"window/showMessageRequest":
		return nil, true
	case "workspace/applyEdit": // only approved calls change files
		return map[string]any{"applied": false}, true
	}
	return nil, false
}

// notified takes in the server's findings.
func (c *client) notified(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		c.publish(params)
	case "$/progress":
		c.progress(params)
	case "experimental/serverStatus":
		var in struct{ Quiescent bool }
		if json.Unmarshal(params, &in) == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.settling = !in.Quiescent
		}
	}
}

// loads reports whether the server has not yet seen all of the project.
func (c *client) loads() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settling || len(c.loading) > 0
}

// progress takes the end of a check for word of its files, and other work for that of a server
// that loads.
func (c *client) progress(params json.RawMessage) {
	var in struct {
		Token any // a string or a number
		Value struct{ Kind string }
	}
	if json.Unmarshal(params, &in) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	token := fmt.Sprint(in.Token)
	if !strings.HasPrefix(token, flycheck) {
		switch in.Value.Kind {
		case "begin":
			c.loading[token] = true
		case "end":
			delete(c.loading, token)
		}
		return
	}
	switch in.Value.Kind {
	case "begin":
		c.runs++
		for _, d := range c.documents {
			d.checked = d.version
		}
	case "end":
		ended := c.runs
		time.AfterFunc(checkGrace, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.runs != ended {
				return // it was cut off
			}
			for _, d := range c.documents {
				d.of = max(d.of, d.checked)
			}
			c.wake()
		})
	}
}

// wake wakes those that wait for word of a file. The lock is held.
func (c *client) wake() {
	close(c.published)
	c.published = make(chan struct{})
}

func (c *client) publish(params json.RawMessage) {
	var in struct {
		URI         string
		Version     *int
		Diagnostics []diagnostic
	}
	if json.Unmarshal(params, &in) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.documents[pathOf(in.URI)]
	if d == nil {
		return // a file without a request
	}
	d.of = d.version
	if in.Version != nil {
		d.of = *in.Version
	}
	d.problems = problems(pathOf(in.URI), d.text, in.Diagnostics)
	c.wake()
}

// sync reports a file's present content to the server, and returns the version by which it knows it.
func (c *client) sync(path, text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.documents[path]
	switch {
	case d == nil:
		d = &document{text: text, version: 1, of: -1, checked: -1}
		c.documents[path] = d
		if c.shaken {
			c.open(path, d)
		}
	case d.text != text && !c.shaken:
		d.text = text
	case d.text != text:
		d.text = text
		d.version++
		c.conn.notify("textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": uriOf(path), "version": d.version},
			"contentChanges": []any{map[string]any{"text": text}}})
		c.conn.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": uriOf(path)}})
	}
	return d.version
}

// found waits for the problems of a version of a file; known says that they came.
func (c *client) found(ctx context.Context, path string, version int) (list []Problem, known bool) {
	for {
		c.mu.Lock()
		d, published := c.documents[path], c.published
		if d != nil && d.of >= version {
			list = slices.Clone(d.problems)
			c.mu.Unlock()
			return list, true
		}
		c.mu.Unlock()
		select {
		case <-published:
		case <-c.conn.life.Done():
			return nil, false
		case <-ctx.Done():
			return nil, false
		}
	}
}

// wait waits until the server can be asked.
func (c *client) wait(ctx context.Context) error {
	select {
	case <-c.ready:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close ends the server without asking it. Starting it must have ended.
func (c *client) close() {
	c.closed.Do(func() {
		c.stop()
		if c.conn != nil {
			c.conn.end(errGone)
		}
		for _, f := range c.pipes {
			f.Close()
		}
		if c.process != nil {
			c.process.KillAll()
			<-c.process.Done()
			c.process.Release()
		}
	})
}

func uriOf(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// pathOf is the file of a URI, "" where it names none.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return filepath.FromSlash(u.Path)
}
