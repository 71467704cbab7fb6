package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"artoo/conversation"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/extension"
	"artoo/tool/journal"
	"artoo/tool/mcp"
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
func (c *calls) serverCall(p planned) (planned, *settled) {
	m := c.session.opt.Env.MCP
	if m == nil {
		return p, nil
	}
	if p.tool == nil { // The session may have begun with these, before the tools became functions.
		p.tool = tool.Find(builtin.MCPTools(), p.call.Name)
	}
	byName := p.tool == nil && strings.HasPrefix(p.call.Name, "mcp__")
	if p.call.Raw != "" || !byName && (p.tool == nil || p.tool.Name != builtin.CallTool) {
		return p, nil
	}
	found, input := tool.Tool{}, p.call.Input
	var err error
	if byName { // The tool is not offered as a function, but the name is unambiguous.
		found, err = builtin.ToolNamed(m, p.call.Name)
	} else {
		found, input, err = builtin.ServerCall(m, *p.tool, input)
	}
	if err != nil { // The call keeps its name: the other one is the model's, and may be that of any tool.
		return p, p.crashed(err)
	}
	p.tool, p.call.Name, p.call.Access.Verb, p.call.Input = &found, found.Name, found.Name, input
	return p, nil
}

// forms puts a server's requests to the user during a call; nil where no one can answer. An answer that ends the turn is
// put into stop.
func (c *calls) forms(call Call, stop *atomic.Pointer[error]) func(context.Context, mcp.Request) (mcp.Answer, error) {
	if w := c.session.opt.Workspace; w != nil && w.Headless {
		return nil
	}
	return func(ctx context.Context, r mcp.Request) (mcp.Answer, error) {
		a, err := c.cb.Ask(ctx, Question{Kind: QuestionForm, Call: call, Dir: c.session.opt.Env.Dir, Form: &r, Number: 1, Of: 1})
		switch {
		case context.Cause(ctx) != nil:
			return mcp.Answer{}, context.Cause(ctx)
		case errors.Is(err, ErrNobody):
			c.cb.notice(NoticeWarning, fmt.Sprintf("the MCP server %s asks for an answer, and no one can answer: cancelled", r.Server))
			return mcp.Answer{Action: mcp.Cancel}, nil
		case err != nil:
			return mcp.Answer{Action: mcp.Cancel}, nil
		case a.Verdict == StopTurn:
			stop.Store(&ErrStopped)
			return mcp.Answer{Action: mcp.Cancel}, nil
		}
		return a.Form, nil
	}
}

// afterServer reports the extras that a server's call brought besides its result.
func (c *calls) afterServer(p planned) {
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
	defer a.confined.keepIn(nil)
	return errors.Join(a.servers.Close(), a.confined.wait())
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

// openJournal opens the journal of the present session, in which commands and servers that run keep their files.
func (a *Agent) openJournal() error {
	a.keepIn(nil)
	err := a.keeper.openJournal()
	a.keepIn(a.keeper.journal)
	return err
}

func (a *Agent) keepIn(j *journal.Journal) {
	a.background.keepIn(j)
	a.confined.keepIn(j)
}
