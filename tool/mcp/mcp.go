// Package mcp is the client of MCP servers: it starts them when they are first used, keeps their
// catalogues, calls their tools and ends them with everything that they started. It decides nothing
// about permissions and shows nothing.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/environ"
	"artoo/tool/extension"
	"artoo/tool/shell"
)

// Config configures the servers of a Manager.
type Config struct {
	Servers []extension.Server
	// State is artoo's own directory, in which catalogues, pinned definitions and logs are kept; ""
	// keeps them in memory.
	State   string
	Root    string       // the project's root, absolute: the only root that servers are given
	Own     environ.Vars // artoo's own variables, by which programs are looked up
	Environ []string     // the form of os.Environ; servers get only a part of it
	Version string       // artoo's, for the servers' own logs
	// Start starts a server's process, confined or not; nil starts it on this machine as it is. An *Error
	// of it counts as it is.
	Start func(cmd *exec.Cmd, s extension.Server) (shell.Started, error)
	// Approved is asked before a server is started or connected to; an error says why it is not. nil approves
	// all. It is called on any goroutine.
	Approved func(extension.Extension) error
	// HTTP makes the requests, with the user's proxies and certificates; its Timeout must be 0. nil
	// is http.DefaultClient.
	HTTP *http.Client
	// Tokens keeps logins; nil keeps none.
	Tokens Tokens
	// Login asks the user to log in, and returns the address that the browser was sent to in the end;
	// nil, as in every run, makes a server that wants a login fail.
	Login func(ctx context.Context, server, address string) (redirected string, err error)
	// Redirect is the address of Login's own listener, such as http://127.0.0.1:1234/callback.
	Redirect string
	// Metadata is the packager's client metadata document, an https address; "" for none.
	Metadata string
	// Notice reports something once; it is called on any goroutine. nil drops it.
	Notice func(text string)
}

// State is the state of a server in this run.
type State string

// The states of a server.
const (
	NeverStarted State = "never started"
	Starting     State = "starting"
	Running      State = "running"
	Failed       State = "failed"
	NeedsLogin   State = "needs login"
)

// Info is a server and its state.
type Info struct {
	extension.Server
	State State
	Err   error // why it failed; nil otherwise
	Known int   // tools in the kept catalogue, -1 without one
}

// Tool is a tool of a server.
type Tool struct {
	Server      string
	Name        string // the server's own
	Full        string // mcp__SERVER__TOOL, at most 64 characters
	Title       string
	Description string
	Input       json.RawMessage // a JSON Schema whose root is an object, always the same bytes
	Output      json.RawMessage // nil for none
	Claims      string          // the server's own words about the tool, which decide nothing
	Reads       bool            // the user lists it as one that only reads
	Direct      bool            // the user wants it as a function
	Changed     bool            // its definition is not the one that was seen first or accepted
	// Definition is a digest of the definition: Call runs the tool while it has this one.
	Definition string
}

// Content is one part of a result.
type Content struct {
	Kind ContentKind
	Text string // a text's
	MIME string
	Data []byte // an image's, a sound's or a blob's
	URI  string // a link's or a resource's
	Name string // a link's; may be ""
}

// ContentKind is the kind of a part.
type ContentKind string

// The kinds of content.
const (
	Text  ContentKind = "text"
	Image ContentKind = "image"
	Audio ContentKind = "audio"
	Link  ContentKind = "link"
	Blob  ContentKind = "blob"
)

// Result is the server's answer to a call.
type Result struct {
	Content    []Content
	Structured json.RawMessage // nil for none
	IsError    bool            // the tool says that it failed
	Notices    []string        // The user reads these: a result that its schema does not allow, for one.
}

// Progress is how far a call is. Total is 0 where the server does not know.
type Progress struct {
	Done, Total float64
	Message     string
}

// CallOptions are how a call deals with the user.
type CallOptions struct {
	// Progress gets the server's reports, one after the other, on any goroutine; of reports that
	// come faster than it takes them the last one counts. nil drops them.
	Progress func(Progress)
	// Task gets the server's ID of the task that the call became, before it is waited for; an error ends the call. nil
	// drops it.
	Task func(id string) error
	// Ask puts a server's request to the user; nil cancels each.
	Ask func(ctx context.Context, r Request) (Answer, error)
}

// Manager is all servers of a run. Its methods may be called on any goroutine.
type Manager struct {
	config  Config
	mu      sync.Mutex
	servers []*server       // guarded by mu
	leftOut map[string]bool // names of servers that Add reported; guarded by mu
	closing context.Context // done when Close began
	close   context.CancelFunc
	running sync.WaitGroup // the goroutines of servers
}

// New makes a manager. It starts nothing, opens nothing and reads nothing.
func New(c Config) *Manager {
	m := &Manager{config: c, leftOut: map[string]bool{}}
	m.closing, m.close = context.WithCancel(context.Background())
	m.Add(c.Servers...)
	return m
}

// Add adds servers; of those with the name of another one the first counts. A server whose tools could
// have the full names of another one's is left out with a notice. It starts nothing.
func (m *Manager) Add(servers ...extension.Server) {
	var said []string
	m.mu.Lock()
	for _, s := range servers {
		i := slices.IndexFunc(m.servers, func(old *server) bool { return mixed(old.Name, s.Name) })
		switch {
		case i < 0:
			m.servers = append(m.servers, newServer(m, s))
		case m.servers[i].Name != s.Name && !m.leftOut[s.Name]:
			m.leftOut[s.Name] = true
			said = append(said, fmt.Sprintf("server %s (%s) is left out: its tools' full names could be those of %s (%s)",
				s.Name, s.Place, m.servers[i].Name, m.servers[i].Place))
		}
	}
	m.mu.Unlock()
	for _, text := range said {
		m.notice(text)
	}
}

// mixed reports whether the tools of two servers of these names could have the same full name.
func mixed(a, b string) bool {
	a, b = prefix(a), prefix(b)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// all are the servers there are now.
func (m *Manager) all() []*server {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.servers)
}

// notice reports something to the user.
func (m *Manager) notice(text string) {
	if m.config.Notice != nil {
		m.config.Notice(text)
	}
}

func (m *Manager) find(name string) (*server, error) {
	for _, s := range m.all() {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, &Error{Server: name, Kind: KindUsage, Why: "no such server", Hint: "artoo mcp list"}
}

// Servers lists all servers in the order of the settings.
func (m *Manager) Servers() []Info {
	servers := m.all()
	list := make([]Info, 0, len(servers))
	for _, s := range servers {
		list = append(list, s.info())
	}
	return list
}

// Outline describes a tool without its definition.
type Outline struct {
	Name  string `json:"name"`  // the server's own
	Full  string `json:"-"`     // as Tool's
	Bytes int    `json:"bytes"` // At least so many are needed to describe the tool to a model.
}

// Outlines are Tools without their definitions, which take long to read.
func (m *Manager) Outlines(server string) (tools []Outline, known bool) {
	s, err := m.find(server)
	if err != nil {
		return nil, false
	}
	o := s.outline()
	return slices.Clone(o.offered), !o.Listed.IsZero()
}

// offer finds the tools that the server's globs offer.
func (o *outline) offer(s *server) {
	o.offered = nil
	names := map[string]bool{}
	for _, t := range o.Usable {
		t.Full = FullName(s.Name, t.Name)
		if offered(s.Server.Tools, t.Name) && !names[t.Full] {
			names[t.Full] = true
			o.offered = append(o.offered, t)
		}
	}
}

// Dropped are the tools and parts of tools of a server that are not offered, each with its reason, by the
// kept catalogue.
func (m *Manager) Dropped(server string) []string {
	s, err := m.find(server)
	if err != nil {
		return nil
	}
	return s.catalogue().dropped
}

// Tools are a server's tools by the kept catalogue, as its globs offer them; known is false where
// there is no catalogue. It starts nothing.
func (m *Manager) Tools(server string) (tools []Tool, known bool) {
	s, err := m.find(server)
	if err != nil {
		return nil, false
	}
	c := s.catalogue()
	return slices.Clone(c.tools), c.Listed != time.Time{}
}

// Tool finds a tool by its full name in the kept catalogues. It starts nothing.
func (m *Manager) Tool(full string) (Tool, bool) {
	for _, s := range m.all() {
		if !s.mayHave(full) {
			continue
		}
		if t, ok := s.catalogue().find(full); ok {
			return t, true
		}
	}
	return Tool{}, false
}

// ResourceName is the name of the tool of every server that reads its resources, unless it has one of that name.
const ResourceName = "resource"

// ResourceTool is the tool of a server that reads its resources, as the server's globs have it. ok is false
// for another name and where they do not offer it.
func (m *Manager) ResourceTool(full string) (t Tool, ok bool) {
	for _, s := range m.all() {
		if full == FullName(s.Name, ResourceName) && offered(s.Server.Tools, ResourceName) {
			return Tool{Server: s.Name, Name: ResourceName, Full: full, Reads: matchesAny(s.Read, ResourceName)}, true
		}
	}
	return Tool{}, false
}

// Address is a server's address, or its command line.
func Address(s extension.Server) string {
	if s.URL != "" {
		return s.URL
	}
	return shell.Quote(s.Command...)
}

// List starts the server if need be, renews its catalogue unless the server said that it is still
// fresh, and returns its tools.
func (m *Manager) List(ctx context.Context, server string) ([]Tool, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, err
	}
	return s.list(ctx)
}

// Call calls a tool as it was when the call was decided on: one that is defined in another way by
// now is not called. An error says that there is no result: the server could not be started, ended,
// was silent for too long or refused the call.
func (m *Manager) Call(ctx context.Context, t Tool, args json.RawMessage, o CallOptions) (Result, error) {
	s, err := m.find(t.Server)
	if err != nil {
		return Result{}, err
	}
	return s.call(ctx, t, args, o)
}

// Skip ends the waiting for all servers that start, with an error for those that wait; a start goes on, and is not waited
// for until Restart. It reports whether anything waited.
func (m *Manager) Skip() (waited bool) {
	for _, s := range m.all() {
		waited = s.skip() || waited
	}
	return waited
}

// Restart lets a server that failed start again at once when it is next used, and one that was skipped be waited for.
func (m *Manager) Restart(server string) error {
	s, err := m.find(server)
	if err == nil {
		s.forgive()
	}
	return err
}

// End ends a server, which starts again when it is next used, and waits for that.
func (m *Manager) End(server string) error {
	s, err := m.find(server)
	if err != nil {
		return err
	}
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l != nil {
		s.drop(l)
	}
	return nil
}

// Close ends all servers with everything that they started, within about four seconds, and waits
// for their goroutines. Calls that run end with an error.
func (m *Manager) Close() error {
	m.close()
	m.running.Wait()
	return nil
}
