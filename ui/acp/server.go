// Package acp lets an editor talk to artoo by the Agent Client Protocol, version 1: JSON-RPC, a line a
// message. The wire and its messages are artoo's own; docs/acp.md lists the supported parts.
package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"

	"artoo/agent"
	"artoo/conversation"
)

// Host opens the sessions of an editor. Any goroutine calls it.
type Host interface {
	// Open begins a session, or goes on with one. The error is ErrNotFound for one that is not
	// there; other errors are classified by agent.Classify.
	Open(ctx context.Context, start Start) (Opened, error)
	// Store keeps the sessions.
	Store() conversation.Store
	// Ready reports why no model can be asked, nil where one can.
	Ready() error
}

// Start says which session is opened.
type Start struct {
	Dir     string   // absolute
	ID      string   // the session to go on with; "" begins one
	Added   []string // further directories, absolute, that files may be read and written in
	Servers []Server
	Editor  Editor
}

// Opened is an open session.
type Opened struct {
	Agent   *agent.Agent
	Program Program
}

// Program is the part of a session that no agent knows. The methods are called between turns, by
// one goroutine at a time; Send is a turn.
type Program interface {
	Models
	// Commands lists the user's and artoo's own slash commands, and the prompts of MCP servers that run.
	Commands(ctx context.Context) []Command
	// Send carries out a slash command, or sends the message to the model.
	Send(ctx context.Context, m agent.Message, cb agent.Callbacks) (*agent.Response, error)
	// Close ends the session.
	Close()
}

// Models are the models that can answer.
type Models interface {
	Models() []string // PROVIDER/MODEL, the present one among them
	SwitchModel(name string) error
	// Notes are shown to the user before the first message; they are untrusted.
	Notes() []string
}

// ErrNotFound is the error for a session that is not there.
var ErrNotFound = errors.New("no such ID")

// Options configure Serve.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Log     func(text string) // gets the errors that no message can carry; any goroutine calls it
	Host    Host
	Version string
}

// The times within which turns end.
const (
	// killAfter is the time a cancelled turn has before its processes are killed.
	killAfter = 300 * time.Millisecond
	// endAfter is how long sessions may take to end once the editor is gone.
	endAfter = 1500 * time.Millisecond
)

// mostQueued bounds the requests of one session that wait.
const mostQueued = 64

// listed is how many sessions one answer lists.
const listed = 100

// server is the agent's side of one connection.
type server struct {
	Options
	wire   *wire
	client clientCapabilities // set by initialize, before any session

	mu       sync.Mutex // guards all below
	sessions map[string]*session
	lanes    map[string]*lane // requests in their order, by session
	running  map[string]*request
	done     sync.WaitGroup // counts lanes
	ending   bool
}

// lane has the requests of a session that wait for those before them.
type lane struct{ jobs []func() }

// request is one that is not answered yet.
type request struct {
	session string
	cancel  context.CancelCauseFunc
}

// errCancelled ends a turn that the editor cancelled.
var errCancelled = errors.New("cancelled by the editor")

// Serve serves one editor until it leaves or ctx ends, and ends its sessions.
func Serve(ctx context.Context, opt Options) {
	s := &server{Options: opt, wire: newWire(opt.In, opt.Out, opt.Log), sessions: map[string]*session{},
		lanes: map[string]*lane{}, running: map[string]*request{}}
	go s.wire.read(s.handle)
	select {
	case <-ctx.Done():
	case <-s.wire.gone:
	}
	s.end()
}

// end cancels all turns and closes all sessions, in bounded time.
func (s *server) end() {
	s.mu.Lock()
	s.ending = true
	for _, r := range s.running {
		r.cancel(errGone)
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.done.Wait() // Some close their session.
		s.mu.Lock()
		open := slices.Collect(maps.Values(s.sessions))
		s.mu.Unlock()
		var closing sync.WaitGroup
		for _, one := range open {
			closing.Go(func() { s.guard(one.opened.Program.Close) })
		}
		closing.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(endAfter):
	}
}

// guard runs f. A crash is logged and becomes the error.
func (s *server) guard(f func()) error {
	caught := panics.Try(f)
	if caught == nil {
		return nil
	}
	s.Log(caught.String())
	return errors.New("artoo crashed in this request; its log has the trace")
}

// handle takes a request or notification, on the goroutine that reads: it must not wait.
func (s *server) handle(m message) {
	switch m.Method {
	case "initialize":
		s.initialize(m)
		return
	case "session/cancel":
		var in sessionRequest
		if json.Unmarshal(m.Params, &in) == nil {
			s.cancel(func(r *request) bool { return r.session == in.SessionID })
		}
		return
	case "$/cancel_request":
		var in cancelRequest
		if json.Unmarshal(m.Params, &in) == nil {
			s.mu.Lock()
			r := s.running[string(in.RequestID)]
			s.mu.Unlock()
			if r != nil {
				s.cancel(func(o *request) bool { return o == r })
			}
		}
		return
	}
	if m.ID == nil {
		return // Unknown notifications are ignored.
	}
	run := map[string]func(*server, context.Context, sessionRequest) (any, error){
		"session/new": (*server).create, "session/load": (*server).load, "session/resume": (*server).resume,
		"session/list": (*server).list, "session/close": (*server).close, "session/delete": (*server).remove,
		"session/prompt": (*server).prompt, "session/set_mode": (*server).setMode,
		"session/set_config_option": (*server).setOption, "authenticate": (*server).authenticate,
	}[m.Method]
	if run == nil {
		s.wire.fail(m.ID, &Error{Code: codeMethod, Message: "unknown method " + strconv.Quote(m.Method)})
		return
	}
	var in sessionRequest
	if err := json.Unmarshal(m.Params, &in); err != nil || len(m.Params) == 0 {
		s.wire.fail(m.ID, invalid("the parameters of "+m.Method+" do not match the schema"))
		return
	}
	switch m.Method {
	case "session/new", "session/list", "authenticate":
		in.SessionID = "" // No other request waits for them.
	case "session/close", "session/delete":
		s.cancel(func(r *request) bool { return r.session == in.SessionID })
	}
	s.enqueue(m, in, run)
}

func invalid(text string) *Error { return &Error{Code: codeParams, Message: text} }

// enqueue runs a request once those of its session before it are done.
func (s *server) enqueue(m message, in sessionRequest, run func(*server, context.Context, sessionRequest) (any, error)) {
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &request{session: cmp.Or(in.SessionID, "\x00"+string(m.ID)), cancel: cancel}
	job := func() {
		var result any
		var err error
		if crash := s.guard(func() { result, err = run(s, ctx, in) }); crash != nil {
			result, err = nil, crash
		}
		s.mu.Lock()
		if s.running[string(m.ID)] == r {
			delete(s.running, string(m.ID))
		}
		s.mu.Unlock()
		cancel(nil)
		s.wire.answer(m.ID, result, err)
		if opened, ok := result.(sessionResponse); ok && err == nil {
			if one := s.sessionOf(cmp.Or(in.SessionID, opened.SessionID)); one != nil {
				one.offer(context.WithoutCancel(ctx)) // The answer had no room for it.
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ending:
		return
	case m.Method == "session/set_mode" || m.Method == "session/set_config_option" && in.ConfigID == optionMode:
		if one := s.sessions[in.SessionID]; one != nil && one.whileItRuns(job) {
			return
		}
	}
	l := s.lanes[r.session]
	if one := s.sessions[in.SessionID]; one != nil && l == nil && m.Method == "session/prompt" {
		one.begin()
	}
	if l != nil && len(l.jobs) >= mostQueued {
		go s.wire.fail(m.ID, &Error{Code: codeInternal, Message: "too many requests are pending in this session"})
		return
	}
	s.running[string(m.ID)] = r
	if l != nil {
		l.jobs = append(l.jobs, job)
		return
	}
	l = &lane{jobs: []func(){job}}
	s.lanes[r.session] = l
	s.done.Go(func() { s.work(r.session, l) })
}

// work runs the jobs of a lane until there are none.
func (s *server) work(name string, l *lane) {
	for {
		s.mu.Lock()
		if len(l.jobs) == 0 {
			delete(s.lanes, name)
			s.mu.Unlock()
			return
		}
		job := l.jobs[0]
		l.jobs = l.jobs[1:]
		s.mu.Unlock()
		job()
	}
}

// cancel ends the requests that are meant.
func (s *server) cancel(meant func(*request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.running {
		if meant(r) {
			r.cancel(errCancelled)
		}
	}
}

func (s *server) initialize(m message) {
	var in initializeRequest
	if err := json.Unmarshal(m.Params, &in); err != nil {
		s.wire.fail(m.ID, invalid("the parameters of initialize do not match the schema"))
		return
	}
	s.mu.Lock()
	s.client = in.Capabilities
	s.mu.Unlock()
	out := initializeResponse{ProtocolVersion: protocolVersion, Info: implementation{"artoo", "artoo", s.Version}}
	out.Capabilities.LoadSession = true
	out.Capabilities.Prompt.Image, out.Capabilities.Prompt.Embedded = true, true
	out.Capabilities.MCP.HTTP, out.Capabilities.MCP.SSE = true, true
	login := authMethod{ID: loginMethod, Name: "artoo login", Description: "Run artoo login in a terminal: it stores an API key."}
	if in.Capabilities.Auth.Terminal {
		login.Type, login.Args = "terminal", []string{"login"}
	}
	out.AuthMethods = []authMethod{login}
	s.wire.answer(m.ID, out, nil)
}

// loginMethod is the id of the only way to log in.
const loginMethod = "login"

func (s *server) authenticate(context.Context, sessionRequest) (any, error) {
	if err := s.Host.Ready(); err != nil {
		return nil, failure(err)
	}
	return empty{}, nil
}

// failure is an error as the client gets it.
func failure(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	f := agent.Classify(err)
	code := codeInternal
	switch {
	case errors.Is(err, ErrNotFound):
		code = codeNotFound
	case f.Kind == agent.KindAuth:
		code = codeAuth
	case f.Kind == agent.KindUsage:
		code = codeParams
	}
	text := f.Error()
	if f.Hint != "" {
		text += "\ntry: " + f.Hint
	}
	data, _ := json.Marshal(map[string]string{"kind": string(f.Kind)}) // It cannot fail.
	return &Error{Code: code, Message: text, Data: data}
}

func (s *server) create(ctx context.Context, in sessionRequest) (any, error) {
	one, err := s.open(ctx, in)
	if err != nil {
		return nil, err
	}
	out := one.state()
	out.SessionID = one.id
	return out, nil
}

// open opens a session, and takes it in.
func (s *server) open(ctx context.Context, in sessionRequest) (*session, error) {
	for _, dir := range append([]string{in.CWD}, in.Directories...) {
		if !filepath.IsAbs(dir) {
			return nil, invalid("cwd and additionalDirectories must be absolute paths")
		}
	}
	s.mu.Lock()
	one := &session{server: s, client: s.client}
	s.mu.Unlock()
	one.editor.session = one
	start := Start{Dir: filepath.Clean(in.CWD), ID: in.SessionID, Added: in.Directories, Servers: in.Servers, Editor: &one.editor}
	opened, err := s.Host.Open(ctx, start)
	if err != nil {
		return nil, failure(err)
	}
	one.opened, one.agent, one.id = opened, opened.Agent, opened.Agent.SessionID()
	one.titled = in.SessionID != ""
	s.mu.Lock()
	taken := s.ending || s.sessions[one.id] != nil
	if !taken {
		s.sessions[one.id] = one
	}
	s.mu.Unlock()
	if taken {
		opened.Program.Close()
		return nil, errGone
	}
	return one, nil
}

func (s *server) sessionOf(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// find is an open session.
func (s *server) find(id string) (*session, error) {
	if one := s.sessionOf(id); one != nil {
		return one, nil
	}
	return nil, &Error{Code: codeNotFound, Message: "no open session " + strconv.Quote(id) + "; session/load opens it"}
}

func (s *server) load(ctx context.Context, in sessionRequest) (any, error) {
	one, err := s.reopen(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := one.replay(); err != nil {
		return nil, failure(err)
	}
	return one.state(), nil
}

func (s *server) resume(ctx context.Context, in sessionRequest) (any, error) {
	one, err := s.reopen(ctx, in)
	if err != nil {
		return nil, err
	}
	return one.state(), nil
}

// reopen opens a session that is kept, or returns the one that is open.
func (s *server) reopen(ctx context.Context, in sessionRequest) (*session, error) {
	if in.SessionID == "" {
		return nil, invalid("sessionId is missing")
	}
	if one := s.sessionOf(in.SessionID); one != nil {
		return one, nil
	}
	return s.open(ctx, in)
}

func (s *server) list(_ context.Context, in sessionRequest) (any, error) {
	infos, err := s.Host.Store().List()
	if err != nil {
		return nil, failure(err)
	}
	infos = slices.DeleteFunc(infos, func(i conversation.Info) bool {
		return i.Headless || i.CWD == "" || in.CWD != "" && filepath.Clean(i.CWD) != filepath.Clean(in.CWD)
	})
	from, err := 0, error(nil)
	if in.Cursor != "" {
		if from, err = strconv.Atoi(in.Cursor); err != nil || from < 0 {
			return nil, invalid("the cursor is not one of artoo's")
		}
	}
	from = min(from, len(infos))
	to := min(from+listed, len(infos))
	out := listResponse{Sessions: []sessionInfo{}}
	for _, i := range infos[from:to] {
		out.Sessions = append(out.Sessions, sessionInfo{i.ID, i.CWD, oneLine(cmp.Or(i.Name, i.First)), i.Updated.UTC().Format(time.RFC3339)})
	}
	if to < len(infos) {
		out.Next = strconv.Itoa(to)
	}
	return out, nil
}

func (s *server) close(_ context.Context, in sessionRequest) (any, error) {
	if _, err := s.find(in.SessionID); err != nil {
		return nil, err
	}
	s.drop(in.SessionID)
	return empty{}, nil
}

// drop closes a session, if it is open.
func (s *server) drop(id string) {
	s.mu.Lock()
	one := s.sessions[id]
	delete(s.sessions, id)
	s.mu.Unlock()
	if one != nil {
		one.opened.Program.Close()
	}
}

// remove deletes a session. It succeeds where there is none.
func (s *server) remove(_ context.Context, in sessionRequest) (any, error) {
	s.drop(in.SessionID)
	store := s.Host.Store()
	infos, err := store.List()
	if err != nil {
		return nil, failure(err)
	}
	if !slices.ContainsFunc(infos, func(i conversation.Info) bool { return i.ID == in.SessionID }) {
		return empty{}, nil
	}
	if _, err := store.Remove(in.SessionID); err != nil {
		return nil, failure(err)
	}
	return empty{}, nil
}

func (s *server) prompt(ctx context.Context, in sessionRequest) (any, error) {
	one, err := s.find(in.SessionID)
	if err != nil {
		return nil, err
	}
	return one.prompt(ctx, in.Prompt)
}

func (s *server) setMode(_ context.Context, in sessionRequest) (any, error) {
	one, err := s.find(in.SessionID)
	if err != nil {
		return nil, err
	}
	if err := one.setMode(in.ModeID); err != nil {
		return nil, err
	}
	return empty{}, nil
}

func (s *server) setOption(_ context.Context, in sessionRequest) (any, error) {
	one, err := s.find(in.SessionID)
	if err != nil {
		return nil, err
	}
	var value string
	if err := json.Unmarshal(in.Value, &value); err != nil {
		return nil, invalid(fmt.Sprintf("the value of %q is not text", in.ConfigID))
	}
	if err := one.setOption(in.ConfigID, value); err != nil {
		return nil, err
	}
	return configResponse{one.options()}, nil
}
