package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/config"
	"artoo/config/trust"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool/extension"
	"artoo/tool/mcp"
	"artoo/ui"
	"artoo/ui/acp"
	"artoo/ui/sanitize"
)

func newACP(l commandLine) *cobra.Command {
	c := l.command("acp", "serve an editor over the Agent Client Protocol",
		common("model", "provider", "effort", "max_turns", "max_cost", "tools", "system", "append_system", "mcp", "add_dirs", "approval",
			"allow", "ask", "deny", "hide", "hosts", "no_project"))
	c.RunE = func(c *cobra.Command, _ []string) error { return l.app.serveEditor(c.Context()) }
	l.verb(c, "login", func(ctx context.Context, _ []string) error {
		return loginCommand{l.app, new(bool), new(bool)}.login(ctx, "")
	})
	return c
}

// serveEditor serves one editor on stdin and stdout.
func (a *app) serveEditor(ctx context.Context) error {
	return a.serveClient(ctx, "acp", "an editor", func(ctx context.Context, h *sessionHost, out *os.File) error {
		acp.Serve(ctx, acp.Options{In: a.process.In, Out: out, Version: a.process.build().Version, Log: a.warn, Host: &editorHost{h}})
		return nil
	})
}

// editorHost opens the sessions of an editor; it implements acp.Host.
type editorHost struct{ *sessionHost }

// Store implements acp.Host.
func (h *editorHost) Store() conversation.Store { return h.store }

// Ready implements acp.Host.
func (h *editorHost) Ready() error {
	session := h.session("")
	if err := session.load(false, false); err != nil {
		return err
	}
	if err := session.models.transport(); err != nil {
		return err
	}
	return noModel(session.models.choose())
}

// noModel makes the lack of a model a failure that a login ends.
func noModel(err error) error {
	if none, ok := errors.AsType[*config.NoProvider](err); ok {
		return &agent.Failure{Kind: agent.KindAuth, Err: none, Hint: "artoo login"}
	}
	return err
}

// Open implements acp.Host.
func (h *editorHost) Open(ctx context.Context, start acp.Start) (opened acp.Opened, err error) {
	if start.ID != "" {
		if _, err := h.find(start.ID); err != nil {
			return opened, err
		}
	}
	s := &editorSession{app: h.session(start.Dir)}
	s.app.editor = start.Editor
	for _, dir := range start.Added {
		s.app.added = append(s.app.added, dir+":rw")
	}
	if err := s.app.load(false, true); err != nil {
		return opened, err
	}
	s.app.cfg.Ephemeral = false
	s.app.extensions.addEditorServers(start.Servers)
	if err := s.app.begin(ctx, start.ID); err != nil {
		return opened, err
	}
	return acp.Opened{Agent: s.app.agent, Program: s}, nil
}

// addEditorServers takes over the MCP servers that the editor names, as far as the policy allows.
// They are taken literally: an editor has put variables in already.
func (x *extensions) addEditorServers(servers []acp.Server) {
	if slices.Contains(x.cfg.MCP, "none") {
		return
	}
	for _, named := range servers {
		s := extension.Server{Name: serverName(named.Name), URL: named.URL, SSE: named.Type == "sse", Headers: map[string]string{}, Env: map[string]string{},
			Origin: extension.Origin{Source: extension.SourceEditor, Root: x.project.Root, Place: "the editor"}}
		if named.Type == "" {
			s.Command = append([]string{named.Command}, named.Args...)
		}
		for _, v := range named.Env {
			s.Env[v.Name] = v.Value
		}
		for _, v := range named.Headers {
			s.Headers[v.Name] = v.Value
		}
		err := x.cfg.Policy.CheckServer(s)
		switch {
		case err != nil:
		case s.Name == "" || named.Command == "" && named.URL == "":
			err = fmt.Errorf("the editor's MCP server %q has no name, no command or no address", named.Name)
		case x.hasServer(s.Name):
			err = fmt.Errorf("the editor's MCP server %q is left out: another one has the same name", named.Name)
		default:
			x.cfg.MCPServers = append(x.cfg.MCPServers, s)
		}
		if err != nil {
			x.warn(err.Error())
		}
	}
}

// serverName is an editor's name of a server in the characters that such names have here.
func serverName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	return name[:min(len(name), 24)]
}

// approvedByUser asks once whether a server of the editor's may be used in the project.
func (x *extensions) approvedByUser(e extension.Extension) error {
	e = trust.Summed(e)
	x.approving.Lock()
	defer x.approving.Unlock()
	if answer := x.answerTo(e); answer != nil {
		if answer.Approved {
			return nil
		}
		return errors.New("you did not approve it")
	}
	detail := strings.Join(append([]string{e.Command}, e.Details...), "\n")
	yes, err := x.editor.Approve("use the MCP server "+e.Name+" of the editor in this project?", detail)
	if err != nil {
		return fmt.Errorf("it is not approved: %w", err)
	}
	x.noteAnswer(e, yes)
	if !yes {
		return errors.New("you did not approve it")
	}
	return x.storeAnswer(e, true)
}

// editorSession is one session of an editor's; it implements acp.Program.
type editorSession struct{ app *app }

// Models implements acp.Program: those of the present provider, and the usual one of each other
// that is at hand.
func (s *editorSession) Models() []string {
	names := []string{s.app.agent.Model().String()}
	add := func(name string) {
		if !slices.Contains(names, name) && len(names) < mostEditorModels {
			names = append(names, name)
		}
	}
	for _, m := range s.app.models.Models() {
		add(s.app.choice.Provider + "/" + m.ID)
	}
	others, err := s.app.cfg.AtHand()
	if err != nil {
		s.app.warn(err.Error())
	}
	for _, name := range others {
		if model := provider.DefaultModel(name); model != "" {
			add(name + "/" + model)
		}
	}
	return names
}

// mostEditorModels bounds the models that an editor lists.
const mostEditorModels = 500

// SwitchModel implements acp.Program.
func (s *editorSession) SwitchModel(name string) error { return s.app.models.SwitchModel(name) }

// Notes implements acp.Program.
func (s *editorSession) Notes() []string { return s.app.notes() }

// Close implements acp.Program.
func (s *editorSession) Close() { s.app.close() }

// Commands implements acp.Program.
func (s *editorSession) Commands(ctx context.Context) []acp.Command {
	var list []acp.Command
	for _, own := range ui.EditorCommands() {
		c := acp.Command{Name: own.Name, Description: own.Help}
		if own.Args != "" {
			c.Input = &acp.Hint{Hint: own.Args}
		}
		list = append(list, c)
	}
	for _, i := range ui.Own(s.app.extensions.skills) {
		c := acp.Command{Name: i.Name, Description: sanitize.Text(cmp.Or(i.Description, string(i.Kind)+" of "+filepath.Base(i.File)), sanitize.Line)}
		if i.Hint != "" {
			c.Input = &acp.Hint{Hint: sanitize.Text(i.Hint, sanitize.Line)}
		}
		list = append(list, c)
	}
	return append(list, s.prompts(ctx)...)
}

// prompts are those of the MCP servers that run. None is started for them: that may ask the user.
func (s *editorSession) prompts(ctx context.Context) (list []acp.Command) {
	for _, server := range s.app.agent.Servers() {
		if server.State != mcp.Running {
			continue
		}
		prompts, err := s.app.agent.Env().MCP.Prompts(ctx, server.Name)
		if err != nil {
			continue // It has said why to the model, or does so at its next call.
		}
		for _, p := range prompts {
			c := acp.Command{Name: sanitize.Text("mcp:"+server.Name+":"+p.Name, sanitize.Line), Description: sanitize.Text(p.Description, sanitize.Line)}
			if values := ui.PromptHint(p); values != "" {
				c.Input = &acp.Hint{Hint: values}
			}
			list = append(list, c)
		}
	}
	return list
}

// Send implements acp.Program.
func (s *editorSession) Send(ctx context.Context, m agent.Message, cb agent.Callbacks) (*agent.Response, error) {
	name, _, isCommand := ui.CommandName(strings.TrimSpace(m.Text))
	server, called, values, isPrompt := ui.PromptCall(s.app.extensions.skills, m.Text)
	servers := s.app.agent.Env().MCP
	switch {
	case isPrompt && servers != nil:
		text, parts, err := ui.ServerPrompt(ctx, servers, server, called, values)
		if err != nil {
			return &agent.Response{}, err
		}
		m.Text, m.Attachments = text, append(m.Attachments, parts...)
		return s.app.agent.Send(ctx, m, cb)
	case isCommand && ui.ForEditor(name):
		output, response, err := ui.ForProgram(ctx, ui.Options{Agent: s.app.agent, Program: program{s.app}, Models: s.app.models}, strings.TrimSpace(m.Text), cb, m.Steering)
		if output != "" {
			cb.OnText(output)
		}
		return cmp.Or(response, &agent.Response{}), err
	case isCommand:
		in, found, err := s.app.extensions.invocation(strings.TrimSpace(m.Text))
		if err != nil || !found {
			return &agent.Response{}, err
		}
		options, restore, note := ui.UseModel(ctx, s.app.models, s.app.agent, in.Item.Model)
		defer restore()
		m.Options = options
		m, notes, denied, err := in.Message(ctx, s.app.agent, m, cb)
		for _, note := range append(notes, note) {
			if note != "" {
				cb.OnNotice(agent.Notice{Kind: agent.NoticeInfo, Text: note})
			}
		}
		if err != nil || denied != nil {
			return cmp.Or(denied, &agent.Response{}), err
		}
		return s.app.agent.Send(ctx, m, cb)
	}
	expanded := ui.Expand(ctx, s.app.agent, m.Text)
	for _, note := range expanded.Notes {
		cb.OnNotice(agent.Notice{Kind: agent.NoticeInfo, Text: note})
	}
	m.Text, m.Attachments = expanded.Text, append(m.Attachments, expanded.Parts...)
	return s.app.agent.Send(ctx, m, cb)
}
