package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"artoo/tool/extension"
	"artoo/tool/shell"
)

const (
	startLimit = 30 * time.Second
	probeWait  = 3 * time.Second
	slowStart  = 3 * time.Second // after which the user reads which server is waited for
)

// restarts are the pauses before a server that ended or failed is started again.
func restarts() []time.Duration {
	return []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
}

// server is one server of a run.
type server struct {
	extension.Server
	m    *Manager
	keep *keeper

	signing sync.Mutex  // held during a login
	asking  atomic.Bool // a login waits for the user

	secret     sync.Mutex        // guards logged, ignoreKept and outputs
	logged     *login            // nil where none was read or there is none
	ignoreKept bool              // A login is under way: the kept one is not read.
	outputs    map[string]string // of the commands for secrets, by command; nil before the first

	mu       sync.Mutex // guards the fields from link to last
	link     *link      // nil while it does not run
	starting *start     // nil while no start is under way
	state    State
	err      error
	failures int             // in a row
	said     map[string]bool // the kinds that were reported
	last     time.Time       // when it failed last
	log      atomic.Pointer[serverLog]
}

func newServer(m *Manager, s extension.Server) *server {
	return &server{Server: s, m: m, keep: newKeeper(m.config, s), state: NeverStarted}
}

// start is a start that is under way; link and err count when done is closed. The server's mu guards waiting and skip.
type start struct {
	done    chan struct{}
	link    *link
	err     error
	waiting int           // so many calls wait for it
	skip    chan struct{} // closed when the user does not want to wait for it
}

// skip has nothing wait for a start that is under way, and reports whether something did.
func (s *server) skip() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting == nil || s.starting.waiting == 0 || isClosed(s.starting.skip) {
		return false
	}
	close(s.starting.skip)
	return true
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// link is a connection to a server.
type link struct {
	session *sdk.ClientSession // set, or nil for good, when opened is closed
	opened  chan struct{}
	proc    *process      // nil for HTTP
	done    chan struct{} // closed when the connection has ended
	old     bool          // the transport of 2024-11-05
	calls   calls
	stale   atomic.Bool // the server said that its tools are other ones

	listing gate      // passed while the tools are listed
	asked   time.Time // when they were listed last
	listed  time.Time // when that succeeded last
}

// gate lets one pass at a time, and those that wait give up with their context. It has room for one.
type gate chan struct{}

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g gate) leave() { <-g }

func (l *link) lost() bool { return isClosed(l.done) }

// end closes the connection and waits until its process is gone.
func (l *link) end() {
	if l.proc != nil {
		l.proc.stop()
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = l.session.Close() // the server is left, whatever it says to that
	}()
	within(closed, patience)
}

func (s *server) info() Info {
	o := s.outline()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := Info{Server: s.Server, State: s.state, Err: s.err, Known: -1}
	if !o.Listed.IsZero() {
		i.Known = len(o.offered)
	}
	return i
}

func (s *server) forgive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = 0
	if s.starting != nil && isClosed(s.starting.skip) {
		s.starting.skip = make(chan struct{})
	}
}

// ready is the connection to the server, which is started where it does not run. It waits for a
// start until ctx is done or the user skips it; the start itself goes on.
func (s *server) ready(ctx context.Context) (*link, error) {
	s.mu.Lock()
	if s.link != nil {
		if l := s.link; !l.lost() {
			defer s.mu.Unlock()
			return l, nil
		}
		s.lose(s.link)
	}
	if s.m.closing.Err() != nil {
		s.mu.Unlock()
		return nil, s.fail(KindProvider, "artoo ends", nil)
	}
	st := s.starting
	if st == nil {
		pauses := restarts()
		if s.failures > len(pauses) {
			defer s.mu.Unlock()
			return nil, &Error{Server: s.Name, Kind: KindProvider, Err: s.err,
				Why:  fmt.Sprintf("failed %d times in a row", s.failures),
				Hint: "/mcp " + s.Name + " starts it again"}
		}
		var pause time.Duration
		if s.failures > 0 {
			pause = time.Until(s.last.Add(pauses[s.failures-1]))
		}
		st = &start{done: make(chan struct{}), skip: make(chan struct{})}
		s.starting, s.state = st, Starting
		s.m.running.Go(func() { s.begin(st, pause) })
	}
	skip := st.skip
	st.waiting++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		st.waiting--
	}()
	slow := time.NewTimer(slowStart)
	defer slow.Stop()
	for {
		select {
		case <-st.done:
			return st.link, st.err
		case <-slow.C:
			if !s.asking.Load() {
				s.m.notice("server " + s.Name + " is starting")
			}
		case <-skip:
			return nil, &Error{Server: s.Name, Kind: KindTimeout, Why: "did not run yet, and the user skipped its start",
				Hint: "/mcp " + s.Name + " waits for it"}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// begin starts the server after a pause.
func (s *server) begin(st *start, pause time.Duration) {
	defer close(st.done)
	if pause > 0 {
		within(s.m.closing.Done(), pause)
	}
	ctx, cancel := context.WithCancelCause(s.m.closing)
	defer cancel(nil)
	err := s.approved()          // The user may take time for it.
	if s.m.config.Login == nil { // a login takes as long as the user does
		timer := time.AfterFunc(startLimit, func() { cancel(errSlow) })
		defer timer.Stop()
	}
	err = cmp.Or(err, context.Cause(ctx)) // artoo may have ended meanwhile
	var l *link
	if err == nil {
		l, err = s.open(ctx)
	}
	if err == nil {
		if err = s.renew(ctx, l); err != nil {
			l.end()
		}
	}
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		err = s.fail(KindTimeout, "did not start", errSlow)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting = nil
	if err != nil {
		st.err = s.classify(err)
		s.failed(st.err)
		return
	}
	st.link, s.link, s.state, s.err = l, l, Running, nil
	s.m.running.Go(func() { s.watch(l) })
}

var errSlow = fmt.Errorf("no answer within %s", startLimit)

// failed notes a failure; mu is held.
func (s *server) failed(err error) {
	s.state, s.err, s.last = Failed, err, time.Now()
	s.failures++
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == KindAuth {
		s.state, s.failures = NeedsLogin, 0 // it waits for the user, not for itself
	}
}

// watch waits for the end of a connection.
func (s *server) watch(l *link) {
	select {
	case <-l.done:
	case <-s.m.closing.Done():
		l.end()
		return
	}
	s.ended(l)
}

// ended cleans up after a connection that ended by itself.
func (s *server) ended(l *link) {
	l.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose(l)
}

// lose notes that a connection has ended by itself, once; mu is held.
func (s *server) lose(l *link) {
	if s.link == l {
		s.link = nil
		s.failed(s.fail(KindProvider, "ended", nil))
	}
}

// noticeOnce reports something that a server could bring about again and again, by its kind only once.
func (s *server) noticeOnce(kind, text string) {
	s.mu.Lock()
	said := s.said[kind]
	if s.said == nil {
		s.said = map[string]bool{}
	}
	s.said[kind] = true
	s.mu.Unlock()
	if !said {
		s.m.notice("server " + s.Name + ": " + text)
	}
}

// drop ends a connection that is of no use any more, without counting a failure.
func (s *server) drop(l *link) {
	s.mu.Lock()
	if s.link == l {
		s.link, s.state = nil, NeverStarted
	}
	s.mu.Unlock()
	l.end()
}

// open connects to the server, in the way that is kept or else found out.
func (s *server) open(ctx context.Context) (*link, error) {
	if s.URL != "" {
		return s.openHTTP(ctx)
	}
	kept := s.catalogue().Protocol
	l, err := s.openProcess(ctx, kept)
	if err != nil && kept != "" && ctx.Err() == nil { // it may have been replaced by another version
		l, err = s.openProcess(ctx, "")
	}
	return l, err
}

// openProcess starts the process. version is the protocol's, "" to find it out.
func (s *server) openProcess(ctx context.Context, version string) (*link, error) {
	p, err := s.process()
	if err != nil {
		return nil, err
	}
	asked := version == ""
	if asked {
		if version, err = p.probe(ctx, s.m.config.Version, probeWait); err != nil && ctx.Err() == nil {
			p.stop() // some servers end at a question that they do not know
			if p, err = s.process(); err != nil {
				return nil, err
			}
			version = legacy
		}
		if err != nil {
			p.stop()
			return nil, err
		}
	}
	l, err := s.connect(ctx, p, version)
	if err != nil {
		p.stop()
		return nil, err
	}
	l.proc = p
	return l, nil
}

// approved reports why the server may not be used.
func (s *server) approved() error {
	if s.m.config.Approved == nil {
		return nil
	}
	if err := s.m.config.Approved(s.Extension()); err != nil {
		return s.fail(KindConfig, "", err)
	}
	return nil
}

// process starts the server's process.
func (s *server) process() (*process, error) {
	env, err := environOf(s.m.config.Environ, s.PassEnv, s.Env, s.expand)
	if err != nil {
		return nil, s.fail(KindConfig, "", err)
	}
	words := make([]string, len(s.Command))
	for i, word := range s.Command {
		if words[i], err = s.expand(word); err != nil {
			return nil, s.fail(KindConfig, "command", err)
		}
	}
	dir, err := s.expand(s.Dir)
	if err != nil {
		return nil, s.fail(KindConfig, "cwd", err)
	}
	cmd := s.m.config.Own.Command(context.Background(), words[0], words[1:]...)
	cmd.Env, cmd.Dir = env, cmp.Or(dir, s.m.config.Root)
	log := openLog(s.keep.logs(), s.keep.name)
	s.log.Store(log)
	p, err := startProcess(cmd, func(cmd *exec.Cmd) (shell.Started, error) {
		if s.m.config.Start == nil {
			return shell.StartHere(cmd)
		}
		return s.m.config.Start(cmd, s.Server)
	}, log)
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, e
	}
	if err != nil {
		return nil, &Error{Server: s.Name, Kind: KindConfig, Why: "cannot be started", Err: err, Hint: "check its command"}
	}
	return p, nil
}

// connect makes a session. version is the protocol's, "" for the newest.
func (s *server) connect(ctx context.Context, t sdk.Transport, version string) (*link, error) {
	l := &link{opened: make(chan struct{}), done: make(chan struct{}), listing: make(gate, 1)}
	defer close(l.opened) // a server may report a change before it is connected
	caps := &sdk.ClientCapabilities{
		Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}},
	}
	if version != legacy {
		caps.AddExtension(tasksExtension, nil)
	}
	declareRoots(caps)
	client := sdk.NewClient(&sdk.Implementation{Name: "artoo", Version: s.m.config.Version}, &sdk.ClientOptions{
		Capabilities:                caps,
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true}, // it asks again within milliseconds
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { l.calls.progress(r.Params) },
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { s.changed(l) },
	})
	client.AddReceivingMiddleware(s.elicitations(l))
	client.AddSendingMiddleware(takeOut)
	if s.m.config.Root != "" {
		addRoot(client, s.m.config.Root)
	}
	if err := addTaskMethods(client); err != nil {
		return nil, err
	}
	session, err := client.Connect(ctx, t, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, err
	}
	l.session = session
	go func() {
		defer close(l.done)
		_ = l.session.Wait() // why it ended is in the log, or in the errors of its calls
	}()
	return l, nil
}

// fail is an error of the server, with the last line that it wrote to stderr.
func (s *server) fail(kind, why string, err error) *Error {
	e := &Error{Server: s.Name, Kind: kind, Why: why, Err: err}
	switch kind { // The hints for models would name their settings.
	case KindNetwork:
		e.Hint = "check the network, HTTPS_PROXY and the server's address"
	case KindTimeout:
		e.Hint = "again, or -v to see the request and the reply"
	}
	if log := s.log.Load(); log != nil {
		e.Last = cut(log.lastLine(), 300)
	}
	return e
}

// classify makes an *Error of any.
func (s *server) classify(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	kind := KindProvider
	if isNetwork(err) {
		kind = KindNetwork
	}
	return s.fail(kind, "", err)
}

// httpClient is the client that HTTP servers are asked with.
func (m *Manager) httpClient() *http.Client {
	if m.config.HTTP != nil {
		return m.config.HTTP
	}
	return http.DefaultClient
}
