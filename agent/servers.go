package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"artoo/agent/confine"
	"artoo/conversation"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/extension"
	"artoo/tool/mcp"
	"artoo/tool/shell"
)

// firstRequest is how many bytes a session's first request may have, whatever is configured.
// besides is the share of model, options and a short message.
const (
	firstRequest = 10_240
	besides      = 600
)

// AddServers adds MCP servers to an agent that ForProject made, and leaves out those that it has.
// SettingsChanged, with tools of which one is mcp_call, gives them to the model.
func (a *Agent) AddServers(servers []extension.Server) {
	if len(servers) > 0 && a.servers != nil {
		a.servers.Add(servers...)
		a.session.opt.Env.MCP = a.servers
	}
}

// openServers puts the tools of MCP servers, as the session has them to its end, behind the others.
func (s *session) openServers() {
	m := s.opt.Env.MCP
	if m == nil || s.parent != nil { // A sub-agent has those of its parent.
		return
	}
	s.setServerTools(nil)
	taken := sync.OnceValue(func() int { // It needs the schemas of all tools, which a start without a message does not.
		taken := len(tool.Quoted(s.system))
		for _, spec := range s.specs() {
			taken += builtin.SpecBytes(spec.Name, spec.Description, spec.Schema)
		}
		return taken
	})
	const most = firstRequest - besides
	tools, direct := builtin.MCP(m, most, taken)
	over := direct > 0 && direct > max(most-taken(), 0)
	s.setServerTools(tools)
	if over {
		s.notify(fmt.Sprintf("direct tools of MCP servers take %d bytes of each request", direct))
	}
	s.catalogues = map[string][]string{}
	for _, server := range m.Servers() {
		s.catalogues[server.Name] = toolNamesOf(m, server.Name)
	}
	s.opt.Env.KeepFile, s.opt.Env.KeepTask = s.keepFile, s.keepTask
}

// setServerTools has these stand for MCP servers, behind the other tools.
func (s *session) setServerTools(tools []tool.Tool) {
	others := slices.DeleteFunc(slices.Clone(s.opt.Tools), func(t tool.Tool) bool { return ofServers(t.Name) })
	s.opt.Tools = append(others, tools...)
}

// serverTools are those that stand for MCP servers.
func (s *session) serverTools() []tool.Tool {
	return slices.DeleteFunc(slices.Clone(s.opt.Tools), func(t tool.Tool) bool { return !ofServers(t.Name) })
}

// serverCall makes of a call of mcp_call the one of the server's tool that it means, which alone
// rules, questions and front ends see.
func (c *calls) serverCall(p *pending) {
	m := c.session.opt.Env.MCP
	if m == nil {
		return
	}
	if p.tool == nil { // The session may have begun with these, before the tools became functions.
		p.tool = tool.Find(builtin.MCPTools(), p.call.Name)
	}
	byName := p.tool == nil && strings.HasPrefix(p.call.Name, "mcp__")
	if p.call.Raw != "" || !byName && (p.tool == nil || p.tool.Name != builtin.CallTool) {
		return
	}
	found, input := tool.Tool{}, p.call.Input
	var err error
	if byName { // The tool is not offered as a function, but the name is unambiguous.
		found, err = builtin.ToolNamed(m, p.call.Name)
	} else {
		found, input, err = builtin.ServerCall(m, *p.tool, input)
	}
	if err != nil { // The call keeps its name: the other one is the model's, and may be that of any tool.
		p.fail(firstLine(err.Error()), err.Error())
		return
	}
	p.tool, p.call.Name, p.call.Access.Verb, p.call.Input = &found, found.Name, found.Name, input
}

// forms puts a server's requests to the user during a call; nil where no one can answer.
func (c *calls) forms(p *pending) func(context.Context, mcp.Request) (mcp.Answer, error) {
	if w := c.session.opt.Workspace; w != nil && w.Headless {
		return nil
	}
	return func(ctx context.Context, r mcp.Request) (mcp.Answer, error) {
		a, err := c.cb.Ask(ctx, Question{Kind: QuestionForm, Call: p.call, Dir: c.session.opt.Env.Dir, Form: &r, Number: 1, Of: 1})
		switch {
		case context.Cause(ctx) != nil:
			return mcp.Answer{}, context.Cause(ctx)
		case errors.Is(err, ErrNobody):
			c.cb.notice(NoticeWarning, fmt.Sprintf("the MCP server %s asks for an answer, and no one can answer: cancelled", r.Server))
			return mcp.Answer{Action: mcp.Cancel}, nil
		case err != nil:
			return mcp.Answer{Action: mcp.Cancel}, nil
		case a.Verdict == StopTurn:
			p.run.endTurn(ErrStopped)
			return mcp.Answer{Action: mcp.Cancel}, nil
		}
		return a.Form, nil
	}
}

// afterServer reports the extras that a server's call brought besides its result.
func (c *calls) afterServer(p *pending) {
	m := c.session.opt.Env.MCP
	if m == nil || p.tool == nil || p.tool.Kind != tool.KindServer && p.tool.Name != builtin.FindTool {
		return
	}
	for _, server := range m.Servers() {
		if server.State != mcp.Running || slices.Contains(c.session.compared, server.Name) {
			continue
		}
		c.session.compared = append(c.session.compared, server.Name)
		for _, r := range c.session.opt.Policy.Unmatched(server.Name, toolNamesOf(m, server.Name)) {
			c.cb.notice(NoticeWarning, fmt.Sprintf("rule %s (%s): the MCP server %s has no such tool", r, r.Origin, server.Name))
		}
	}
}

// keepFile keeps a tool's data among the session's outputs.
func (s *session) keepFile(name, extension string, data []byte) (string, error) {
	dir := s.outputDir()
	if dir == "" {
		return "", errors.New("this session keeps no outputs")
	}
	path := filepath.Join(dir, name+"-"+rand.Text()[:6]+extension)
	return path, os.WriteFile(path, data, 0o600)
}

// keepTask notes in the session which task of a server a call became: the server may go on with it after artoo was killed.
func (s *session) keepTask(tool, id string) error {
	return s.conv.Note(conversation.Note{Kind: "task", Text: tool + " " + id})
}

// Servers are the MCP servers with the tokens that each takes of every request; nil without any.
func (a *Agent) Servers() []ServerInfo {
	m := a.session.opt.Env.MCP
	if m == nil {
		return nil
	}
	var list []ServerInfo
	for _, s := range m.Servers() {
		info := ServerInfo{Info: s}
		for _, spec := range a.session.specs() {
			if server, ok := serverOf(m, spec.Name); ok && server == s.Name {
				info.Functions++
				info.Tokens += a.session.conv.ToolTokens(spec)
			}
		}
		list = append(list, info)
	}
	return list
}

// ServerInfo is an MCP server as the present session has it.
type ServerInfo struct {
	mcp.Info
	Functions int // so many of its tools are functions
	Tokens    int // They take so many tokens of each request.
}

func serverOf(m *mcp.Manager, full string) (server string, ok bool) {
	if !strings.HasPrefix(full, "mcp__") {
		return "", false
	}
	t, ok := m.Tool(full)
	return t.Server, ok
}

// endServers ends all MCP servers, while there is a journal for their files.
func (a *Agent) endServers() error {
	if a.servers == nil {
		return nil
	}
	return errors.Join(a.servers.Close(), a.keeper.servers.wait())
}

// StartServers starts those MCP servers without which no run begins. The error is of the first
// one that cannot be used.
func (a *Agent) StartServers(ctx context.Context) error {
	m := a.session.opt.Env.MCP
	if m == nil {
		return nil
	}
	for _, s := range m.Servers() {
		if !s.Required {
			continue
		}
		if _, err := m.List(ctx, s.Name); err != nil {
			kind, hint := KindNetwork, ""
			if e, ok := errors.AsType[*mcp.Error](err); ok {
				if hint = e.Hint; e.Kind == mcp.KindAuth {
					kind = KindAuth
				}
			}
			return &Failure{Kind: kind, What: "required", Err: err, Hint: hint}
		}
	}
	return nil
}

// watchFor has the files that servers make moved into the keeper's journal. It is called once, before the first server
// starts.
func (s *confinedServers) watchFor(k *keeper) {
	policy := *k.session.opt.Policy
	s.made = &madeGuarded{session: k.session, keeper: k, journal: k.journal, policy: policy, writes: []string{policy.Root}, idle: true}
	k.servers = s
}

// start starts a server. It is called on any goroutine.
func (s *confinedServers) start(cmd *exec.Cmd, server extension.Server) (shell.Started, error) {
	if s.confiner == nil {
		return nil, &mcp.Error{Server: server.Name, Kind: mcp.KindConfig, Why: "it is to run confined, and nothing confines it here",
			Hint: "artoo doctor says why"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) == 0 && !s.layered {
		if err := s.made.begin(); err != nil {
			return nil, err
		}
	}
	confined, err := s.confiner.StartMCP(cmd, s.layered)
	if err != nil && len(s.running) == 0 && !s.layered {
		s.made.rest()
	}
	if hidden, ok := errors.AsType[confine.HiddenError](err); ok {
		return nil, &mcp.Error{Server: server.Name, Kind: mcp.KindConfig, Err: hidden, Hint: hidden.Hint()}
	}
	if err != nil {
		return nil, err
	}
	for _, word := range cmd.Args[1:] {
		if filepath.IsAbs(word) && confined.Hides(word) {
			hidden := confine.HiddenBy(confined.Hides, word)
			if text := "server " + server.Name + ": " + hidden.Error() + "; " + hidden.Hint(); !slices.Contains(s.said, text) {
				s.said = append(s.said, text)
				s.notify(text)
			}
		}
	}
	if s.running == nil {
		s.running = map[confine.Confined]string{}
	}
	if s.running[confined] = server.Name; s.layered {
		s.watches.Go(func() { s.awaitLayered(confined) })
		return confined, nil
	}
	if len(s.running) == 1 {
		over := make(chan struct{})
		s.over = over
		s.watches.Go(func() { s.made.watch(over) })
	}
	s.watches.Go(func() { s.await(confined) })
	return confined, nil
}

// await waits for the end of a server.
func (s *confinedServers) await(confined confine.Confined) {
	<-confined.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.running, confined); len(s.running) > 0 {
		return
	}
	close(s.over)
	if err := guarded(s.made.rest); err != nil {
		s.notify(err.Error())
	}
}

// awaitLayered waits for the end of a server on a layer, which is gone then unless a call landed it.
func (s *confinedServers) awaitLayered(confined confine.Confined) {
	<-confined.Done()
	s.mu.Lock()
	_, left := s.running[confined]
	delete(s.running, confined)
	s.mu.Unlock()
	if !left {
		return
	}
	if confined.Wrote(context.Background()) {
		s.notify("server ended; its writes since the last call are discarded")
	}
	if err := confined.Discard(); err != nil {
		s.notify("a layer could not be removed: " + err.Error())
	}
}

// landing ends a server that wrote on its layer, which the caller lands or discards; nil for one that did not. It
// starts again when it is next used.
func (s *confinedServers) landing(ctx context.Context, servers *mcp.Manager, name string) (confine.Confined, error) {
	if s == nil || !s.layered {
		return nil, nil
	}
	s.mu.Lock()
	var found confine.Confined
	for confined, of := range s.running {
		if of == name && confined.Wrote(ctx) {
			found = confined
		}
	}
	delete(s.running, found)
	s.mu.Unlock()
	if found == nil {
		return nil, nil
	}
	if err := servers.End(name); err != nil {
		return nil, errors.Join(err, found.Discard())
	}
	<-found.Done()
	return found, nil
}

// wait waits until the files of ended servers are handled.
func (s *confinedServers) wait() error {
	s.watches.Wait()
	return nil
}

// protect protects the files that a landing replaced.
func (s *confinedServers) protect(cb *serial) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for confined, name := range s.running {
		if err := confined.Protect(); err != nil {
			cb.notice(NoticeWarning, "server "+name+" may write files that programs run automatically: "+err.Error())
		}
	}
}

// moved reports whether files of servers moved away about which the user was not asked yet.
func (s *confinedServers) moved() bool {
	if s == nil {
		return false
	}
	s.made.mu.Lock()
	defer s.made.mu.Unlock()
	return len(s.made.moved) > 0
}
