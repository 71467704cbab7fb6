package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/config"
	"artoo/tool/extension"
	"artoo/tool/mcp"
	"artoo/tool/text"
	"artoo/ui"
	"artoo/ui/sanitize"
)

// mcpCommand is `artoo mcp`.
type mcpCommand struct {
	app               *app
	json, logsIn, yes *bool
	form              *string
	servers           *mcp.Manager // nil before open
	end               func() error // ends servers; nil before open
	sign              *signIn      // nil for a command without login
}

func newMCP(l commandLine) *cobra.Command {
	c := l.command("mcp list|tools|call|read|prompt|add|rm|import|login|logout|accept|serve",
		"list, add and try MCP servers, log in to them; serve as one", common("mcp", "no_project"))
	m := &mcpCommand{app: l.app, json: jsonFlag(c)}
	verb := func(use string, least, most int, missing string, run func(ctx context.Context, words []string) error) *cobra.Command {
		v := l.verb(c, use, func(ctx context.Context, words []string) error { return m.closing(run(ctx, words)) })
		v.Args = l.words(least, most, missing)
		return v
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return m.closing(m.list(c.Context(), nil)) }
	verb("list", 0, 0, "", m.list)
	verb("tools NAME|URL", 1, 1, "of which server?", m.tools)
	call := verb("call NAME|URL TOOL [JSON|-]", 2, 3, "which server, and which tool?", m.call)
	m.form = l.textFlag(call, "form", "", "JSON", "answers to the server's forms; missing fields get their defaults")
	m.logsIn = call.Flags().Bool("login", false, "log in if the server requires it")
	verb("read NAME|URL [URI]", 1, 2, "of which server?", m.read)
	verb("prompt NAME|URL [PROMPT [KEY=VALUE…]]", 1, -1, "of which server?", m.prompt)
	m.addVerbs(l, verb)
	verb("login NAME|URL", 1, 1, "to which server?", m.login)
	verb("logout NAME|URL", 1, 1, "from which server?", m.logout)
	accept := verb("accept NAME", 1, 1, "of which server?", m.accept)
	m.yes = accept.Flags().Bool("yes", false, "accept the definitions shown last time")
	c.AddCommand(newMCPServe(l))
	return c
}

// closing ends the servers after a subcommand.
func (c *mcpCommand) closing(err error) error {
	if c.sign != nil {
		c.sign.close()
	}
	if c.end != nil {
		err = errors.Join(err, c.end())
	}
	return err
}

// open makes the manager of all servers; one that is named by its address comes first. It returns the
// name of the server that word means, "" for no word.
func (c *mcpCommand) open(ctx context.Context, word string, sign bool) (name string, err error) {
	if err := c.app.load(false, true); err != nil {
		return "", err
	}
	if err := c.app.models.transport(); err != nil {
		return "", err
	}
	servers := c.app.extensions.mcpServers()
	name = word
	if u, err := url.Parse(word); err == nil && u.Host != "" {
		s, err := config.ServerAt(word)
		if err != nil {
			return "", err
		}
		// One that is configured has its token and its name.
		if i := slices.IndexFunc(servers, func(o extension.Server) bool { return o.URL == word }); i >= 0 {
			name = servers[i].Name
		} else {
			servers, name = append([]extension.Server{s}, servers...), s.Name
		}
	}
	i := slices.IndexFunc(servers, func(s extension.Server) bool { return s.Name == name })
	if word != "" && i < 0 {
		return "", usage(word, "no such MCP server", "artoo mcp list, or artoo mcp add "+word+" URL; there are "+cmp.Or(serverNames(servers), "none"))
	}
	if word != "" {
		if err := c.app.cfg.Policy.CheckServer(servers[i]); err != nil {
			return "", err
		}
	}
	made := c.app.mcpConfig(servers)
	if sign {
		c.sign = newSignIn(c.app, servers[i].CallbackPort)
		made.Login, made.Redirect = c.sign.ask, c.sign.redirect
	}
	if word == "" || servers[i].URL != "" {
		c.servers = mcp.New(made)
		c.end = c.servers.Close
		return name, nil
	}
	opt, err := c.app.workspace.options(ctx)
	if err == nil {
		opt.MCP = made
		c.servers, c.end, err = agent.ProjectServers(opt)
	}
	return name, err
}

// mcpConfig configures these servers.
func (a *app) mcpConfig(servers []extension.Server) mcp.Config {
	state, err := a.cfg.Paths.StateDir()
	if err != nil || bool(a.cfg.Ephemeral) {
		state = ""
	}
	return mcp.Config{Servers: servers, State: state, Root: a.project.Root, Own: a.process.Environ, Environ: a.startEnviron(), Version: a.process.build().Version,
		HTTP: a.models.http, Tokens: a.cfg.MCPLogins(), Metadata: a.cfg.MCPClientMetadata,
		Notice: a.warn, Approved: a.extensions.allowed}
}

// listedServer is a line of `artoo mcp list --json`.
type listedServer struct {
	Name    string   `json:"name"`
	Source  string   `json:"source"`
	Place   string   `json:"place"`
	Address string   `json:"address"`
	State   string   `json:"state"`
	Tools   int      `json:"tools"` // -1 where they were never listed
	Dropped []string `json:"dropped,omitempty"`
}

func (c *mcpCommand) list(ctx context.Context, _ []string) error {
	if _, err := c.open(ctx, "", false); err != nil {
		return err
	}
	var rows []listedServer
	for _, s := range c.servers.Servers() {
		rows = append(rows, listedServer{Name: s.Name, Source: string(s.Source), Place: s.Place, Address: c.app.shown(mcp.Address(s.Server)),
			State: string(s.State), Tools: s.Known, Dropped: c.servers.Dropped(s.Name)})
	}
	if len(rows) == 0 && !*c.json {
		c.app.screen.Note("no MCP servers; artoo mcp add NAME URL, or artoo mcp add NAME -- COMMAND, adds one")
		return nil
	}
	return printEach(c.app.process.Out, rows, *c.json, func(r listedServer) string {
		tools := "not listed yet"
		if r.Tools >= 0 {
			tools = text.Count(r.Tools, "tool")
		}
		line := fmt.Sprintf("%-24s  %-14s  %s  (%s)", r.Name, tools, r.Address, r.Place)
		for _, d := range r.Dropped {
			line += "\n    dropped: " + d
		}
		return safeLines(line)
	})
}

// safeLines makes each line of a text safe to show.
func safeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = sanitize.Text(line, sanitize.Line)
	}
	return strings.Join(lines, "\n")
}

// listedTool is a line of `artoo mcp tools --json`.
type listedTool struct {
	Name        string          `json:"name"`
	Full        string          `json:"full"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output,omitempty"`
	Claims      string          `json:"claims,omitempty"`
	Changed     bool            `json:"changed,omitempty"`
}

func (c *mcpCommand) tools(ctx context.Context, words []string) error {
	name, err := c.open(ctx, words[0], false)
	if err != nil {
		return err
	}
	tools, err := c.servers.List(ctx, name)
	if err != nil {
		return err
	}
	var rows []listedTool
	for _, t := range tools {
		rows = append(rows, listedTool{t.Name, t.Full, t.Title, t.Description, t.Input, t.Output, t.Claims, t.Changed})
	}
	if err := printEach(c.app.process.Out, rows, *c.json, func(t listedTool) string {
		line := t.Name
		if t.Changed {
			line += " (changed, see artoo mcp accept " + name + ")"
		}
		first, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
		return safeLines(strings.TrimRight(fmt.Sprintf("%-32s  %s", line, text.Clip(first, 100)), " "))
	}); err != nil {
		return err
	}
	for _, d := range c.servers.Dropped(name) {
		c.app.warn("dropped: " + d)
	}
	return nil
}

// call calls a tool as a command of its own: its result goes to stdout, and decides the exit code.
func (c *mcpCommand) call(ctx context.Context, words []string) error {
	args := "{}"
	if len(words) == 3 {
		args = words[2]
	}
	if args == "-" {
		data, err := io.ReadAll(c.app.process.In)
		if err != nil {
			return fail(agent.KindUsage, "stdin", err, "")
		}
		args = string(data)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(args), &object); err != nil {
		return usage("the arguments", "not a JSON object: "+text.Misread(err).Error(), `'{"text":"hello"}'`)
	}
	options, err := c.options()
	if err != nil {
		return err
	}
	name, err := c.open(ctx, words[0], *c.logsIn)
	if err != nil {
		return err
	}
	tools, err := c.servers.List(ctx, name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == words[1] || t.Full == words[1] })
	if i < 0 {
		return usage(words[1], "the server "+name+" has no such tool", "artoo mcp tools "+words[0])
	}
	if tools[i].Changed {
		return fail(agent.KindApproval, words[1], errors.New("its definition has changed since it was first seen"), "artoo mcp accept "+name)
	}
	r, err := c.servers.Call(ctx, tools[i], json.RawMessage(args), options)
	if err != nil {
		return err
	}
	return c.print(words[1], r)
}

// options answers a server's forms by those of --form.
func (c *mcpCommand) options() (mcp.CallOptions, error) {
	last := ""
	o := mcp.CallOptions{Progress: func(p mcp.Progress) {
		line := p.Message
		if p.Total > 0 {
			line = strings.TrimSpace(fmt.Sprintf("%s %v of %v", line, p.Done, p.Total))
		}
		if c.app.streams.err && line != last && line != "" {
			c.app.screen.Note(line)
		}
		last = line
	}}
	var given map[string]any
	if *c.form != "" {
		if err := json.Unmarshal([]byte(*c.form), &given); err != nil {
			return o, usage("--form", "not a JSON object: "+text.Misread(err).Error(), `--form '{"name":"Ada"}'`)
		}
	}
	o.Ask = func(ctx context.Context, r mcp.Request) (mcp.Answer, error) {
		if given == nil && c.app.streams.watched {
			answer, err := ui.FormOnTTY(ctx, c.app.screen, r, c.app.browserEnviron())
			if !errors.Is(err, agent.ErrNobody) {
				return answer, err
			}
		}
		switch {
		case r.URL != "":
			c.app.warn(r.Asker() + " asks you to open " + r.URL + " (" + r.Message + "); answered: cancelled")
			return mcp.Answer{}, nil
		case given == nil:
			var fields []string
			for _, f := range r.Fields {
				fields = append(fields, f.Name+" ("+string(f.Type)+")")
			}
			c.app.warn(r.Asker() + " asks: " + r.Message + " [" + strings.Join(fields, ", ") + "]; answered: cancelled, since there is no --form")
			return mcp.Answer{}, nil
		}
		values := r.Defaults()
		for _, f := range r.Fields {
			if v, ok := given[f.Name]; ok {
				values[f.Name] = v
			}
		}
		if err := r.Check(values); err != nil {
			return mcp.Answer{}, usage("--form", err.Error(), `--form '{"name":"Ada"}'`)
		}
		return mcp.Answer{Action: mcp.Accept, Content: values}, nil
	}
	return o, nil
}

// printedResult is the object of `artoo mcp call --json`.
type printedResult struct {
	Content    []printedContent `json:"content"`
	Structured json.RawMessage  `json:"structured,omitempty"`
	IsError    bool             `json:"is_error"`
	Notices    []string         `json:"notices,omitempty"`
}

type printedContent struct {
	Kind mcp.ContentKind `json:"kind"`
	Text string          `json:"text,omitempty"`
	MIME string          `json:"mime,omitempty"`
	Data []byte          `json:"data,omitempty"`
	URI  string          `json:"uri,omitempty"`
	Name string          `json:"name,omitempty"`
}

// print writes a result of the tool, resource or prompt of this name: its text, or its structured content where it has none.
func (c *mcpCommand) print(name string, r mcp.Result) error {
	out := printedResult{Structured: r.Structured, IsError: r.IsError, Notices: r.Notices, Content: []printedContent{}}
	var lines []string
	for _, c := range r.Content {
		out.Content = append(out.Content, printedContent(c))
		lines = append(lines, contentLine(c))
	}
	if len(lines) == 0 && r.Structured != nil {
		lines = append(lines, string(r.Structured))
	}
	for _, n := range r.Notices {
		c.app.warn(n)
	}
	text := strings.Join(lines, "\n")
	switch {
	case *c.json:
		if err := printOne(c.app.process.Out, out, true, nil); err != nil {
			return err
		}
	case text != "":
		if c.app.streams.out || !utf8.ValidString(text) {
			text = sanitize.Text(text, sanitize.Code)
		}
		if _, err := fmt.Fprintln(c.app.process.Out, strings.TrimSuffix(text, "\n")); err != nil {
			return err
		}
	}
	if r.IsError {
		return fail(agent.KindInternal, name, errors.New("the tool reports an error"), "")
	}
	return nil
}

// contentLine is a part of a result as text.
func contentLine(c mcp.Content) string {
	switch c.Kind {
	case mcp.Text:
		return c.Text
	case mcp.Link:
		return "[" + strings.TrimSpace("link "+c.Name) + " " + c.URI + "]"
	}
	return strings.TrimSpace(fmt.Sprintf("[%s %s, %s; --json has the content] %s", c.Kind, c.MIME, text.Counted(len(c.Data), "byte", "bytes"), c.URI))
}

func (c *mcpCommand) read(ctx context.Context, words []string) error {
	name, err := c.open(ctx, words[0], false)
	if err != nil {
		return err
	}
	if len(words) == 2 {
		r, err := c.servers.ReadResource(ctx, name, words[1], mcp.CallOptions{})
		if err != nil {
			return err
		}
		return c.print(words[1], r)
	}
	list, err := c.servers.Resources(ctx, name)
	if err != nil {
		return err
	}
	return printEach(c.app.process.Out, list, *c.json, func(r mcp.Resource) string {
		return safeLines(strings.TrimSpace(r.URI + "  " + cmp.Or(r.Title, r.Description, r.Name)))
	})
}

func (c *mcpCommand) prompt(ctx context.Context, words []string) error {
	args := map[string]string{}
	for _, word := range words[min(2, len(words)):] {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return usage(word, "not of the form KEY=VALUE", "artoo mcp prompt "+words[0]+" "+words[1]+" key=value")
		}
		args[key] = value
	}
	name, err := c.open(ctx, words[0], false)
	if err != nil {
		return err
	}
	if len(words) == 1 {
		list, err := c.servers.Prompts(ctx, name)
		if err != nil {
			return err
		}
		return printEach(c.app.process.Out, list, *c.json, func(p mcp.Prompt) string {
			line := p.Name
			for _, arg := range p.Arguments {
				if line += " [" + arg.Name + "=…]"; arg.Required {
					line = strings.TrimSuffix(line, " ["+arg.Name+"=…]") + " " + arg.Name + "=…"
				}
			}
			return safeLines(strings.TrimSpace(line + "  " + cmp.Or(p.Description, p.Title)))
		})
	}
	messages, err := c.servers.GetPrompt(ctx, name, words[1], args, mcp.CallOptions{})
	if err != nil {
		return err
	}
	var r mcp.Result
	for _, m := range messages {
		r.Content = append(r.Content, m.Content)
	}
	return c.print(words[1], r)
}

// serverNames are the names of servers in a row, "" for none.
func serverNames(servers []extension.Server) string {
	var names []string
	for _, s := range servers {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}
