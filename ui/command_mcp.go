package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool/mcp"
	"artoo/tool/skill"
	"artoo/ui/prompt"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

var errNoServers = errors.New("no MCP servers are set up; artoo mcp add NAME adds one")

// runMCP lists the MCP servers, or starts one again.
func runMCP(ctx context.Context, t *Terminal, name string) error {
	m := t.opt.Agent.Env().MCP
	if m == nil {
		return errNoServers
	}
	if name == "" {
		t.columns(serverRows(t.opt.Agent.Servers()))
		return nil
	}
	if err := m.Restart(name); err != nil {
		return err
	}
	var tools []mcp.Tool
	err := t.startServer(ctx, func(ctx context.Context) (err error) {
		tools, err = m.List(ctx, name)
		return err
	})
	if err != nil {
		return err
	}
	t.screen.Note(fmt.Sprintf("%s: running, %s", name, screen.Count(len(tools), "tool")))
	for _, dropped := range m.Dropped(name) {
		t.screen.Note("not offered: " + oneLine(dropped))
	}
	return nil
}

// startServer runs work, which starts a server; Ctrl-C stops waiting for it.
func (t *Terminal) startServer(ctx context.Context, work func(context.Context) error) error {
	var failed error
	err := t.during(ctx, func(ctx context.Context) (*agent.Response, error) {
		failed = work(ctx)
		return nil, context.Cause(ctx)
	})
	return cmp.Or(err, failed)
}

// serverRows are the MCP servers in rows: name, state, tools, cost, and the user's settings for it.
func serverRows(servers []agent.ServerInfo) [][]string {
	var rows [][]string
	for _, s := range servers {
		tools := "tools not listed yet"
		if s.Known >= 0 {
			tools = screen.Count(s.Known, "tool")
		}
		cost := ""
		if s.Functions > 0 {
			cost = fmt.Sprintf("%s, %s tokens", screen.Count(s.Functions, "function"), conversation.Tokens(s.Tokens))
		}
		about := s.About
		if s.Err != nil {
			about = s.Err.Error()
		}
		if s.Confined() {
			about = strings.TrimSuffix("confined; "+about, "; ")
		}
		rows = append(rows, []string{s.Name, string(s.State), tools, cost, oneLine(about)})
	}
	return rows
}

func completeServers(t *Terminal, _ string) (all []prompt.Candidate) {
	m := t.opt.Agent.Env().MCP
	if m == nil {
		return nil
	}
	for _, s := range m.Servers() {
		all = append(all, prompt.Candidate{Text: s.Name, Help: oneLine(s.About)})
	}
	return all
}

// mcpPrompt is the server and the prompt that a command /mcp:SERVER:PROMPT names.
func mcpPrompt(name string) (server, prompt string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp:")
	if !ok {
		return "", "", false
	}
	at := strings.LastIndexByte(rest, ':')
	if at < 0 {
		return rest, "", true
	}
	return rest[:at], rest[at+1:], true
}

// runServerPrompt sends a server's prompt as a message; without a prompt's name it lists them.
func (t *Terminal) runServerPrompt(ctx context.Context, server, name, arg string) error {
	m := t.opt.Agent.Env().MCP
	if m == nil {
		return errNoServers
	}
	if name == "" {
		return t.listPrompts(ctx, server)
	}
	var text string
	var parts []provider.Part
	err := t.startServer(ctx, func(ctx context.Context) (err error) {
		text, parts, err = ServerPrompt(ctx, m, server, name, arg)
		return err
	})
	if err != nil {
		return err
	}
	t.screen.Text(fmt.Sprintf("the prompt %s of the MCP server %s is sent:", name, server))
	t.screen.Block(sanitize.Text(text, sanitize.Code))
	return t.turn(ctx, text, append(parts, t.takeShared()...))
}

// ServerPrompt is the message that a prompt of a server becomes with the values of arg, which are NAME=VALUE words. It
// starts the server.
func ServerPrompt(ctx context.Context, m *mcp.Manager, server, name, arg string) (text string, parts []provider.Part, err error) {
	values, err := promptValues(arg)
	if err != nil {
		return "", nil, &agent.Failure{Kind: agent.KindUsage, What: "/mcp:" + server + ":" + name, Err: err, Hint: "artoo mcp prompt " + server + " lists the values"}
	}
	messages, err := m.GetPrompt(ctx, server, name, values, mcp.CallOptions{})
	if err != nil {
		return "", nil, err
	}
	text, parts = promptMessage(server, name, messages)
	if text == "" && parts == nil {
		return "", nil, fmt.Errorf("the prompt %s of %s is empty", name, server)
	}
	return text, parts, nil
}

// PromptCall is the server and the prompt that a line /mcp:SERVER:PROMPT names, with its values; ok is false for another
// line, and for one that calls a command of the user's of that name.
func PromptCall(library *skill.Library, line string) (server, name, values string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "/")
	if !ok {
		return "", "", "", false
	}
	command, values := cutWord(rest)
	if _, own := FindOwn(library, command); own {
		return "", "", "", false
	}
	server, name, ok = mcpPrompt(command)
	return server, name, values, ok && name != ""
}

// promptMessage is the message that a server's prompt becomes: its texts are the server's words, not the
// user's, and the message says so. "" and nil stand for an empty prompt.
func promptMessage(server, name string, messages []mcp.Message) (text string, parts []provider.Part) {
	var said []string
	for _, msg := range messages {
		switch c := msg.Content; {
		case c.Kind == mcp.Image:
			parts = append(parts, provider.Image{MediaType: c.MIME, Data: c.Data, Name: c.Name})
		case c.Text == "":
		case msg.Role == "assistant":
			said = append(said, "(an answer that the prompt gives:)\n"+c.Text)
		default:
			said = append(said, c.Text)
		}
	}
	if said == nil {
		return "", parts
	}
	return fmt.Sprintf("The prompt %s of the MCP server %s, as the server gives it:\n\n", name, server) + strings.Join(said, "\n\n"), parts
}

// promptValues reads k=v words. A value in double quotes may hold spaces.
func promptValues(arg string) (map[string]string, error) {
	values := map[string]string{}
	for arg = strings.TrimSpace(arg); arg != ""; arg = strings.TrimSpace(arg) {
		name, rest, ok := strings.Cut(arg, "=")
		if !ok || strings.ContainsAny(name, " \t\n\"") || name == "" {
			return nil, fmt.Errorf("%.40q is not of the form NAME=VALUE", arg)
		}
		quoted := strings.HasPrefix(rest, `"`)
		value, n, _ := unescape(strings.TrimPrefix(rest, `"`), func(r rune) bool {
			return quoted && r == '"' || !quoted && (r == ' ' || r == '\t' || r == '\n')
		})
		values[name] = value
		arg = strings.TrimPrefix(rest, `"`)[n:]
		if quoted {
			arg = strings.TrimPrefix(arg, `"`)
		}
	}
	return values, nil
}

// PromptHint shows the form of the values of a server's prompt; it is "" if there are none.
func PromptHint(p mcp.Prompt) string {
	var values []string
	for _, a := range p.Arguments {
		value := a.Name + "=…"
		if !a.Required {
			value = "[" + value + "]"
		}
		values = append(values, value)
	}
	return oneLine(strings.Join(values, " "))
}

func (t *Terminal) listPrompts(ctx context.Context, server string) error {
	m := t.opt.Agent.Env().MCP
	var prompts []mcp.Prompt
	err := t.startServer(ctx, func(ctx context.Context) (err error) {
		prompts, err = m.Prompts(ctx, server)
		return err
	})
	if err != nil {
		return err
	}
	var rows [][]string
	for _, p := range prompts {
		rows = append(rows, []string{oneLine(strings.TrimSpace("/mcp:" + server + ":" + p.Name + " " + PromptHint(p))), oneLine(p.Description)})
	}
	if rows == nil {
		t.screen.Note(server + " has no prompts")
	}
	t.columns(rows)
	return nil
}
