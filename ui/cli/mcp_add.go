package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/config"
	"artoo/provider/redact"
	"artoo/tool/diff"
	"artoo/tool/extension"
	"artoo/tool/mcp"
	"artoo/tool/text"
	"artoo/ui"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// addVerbs adds the subcommands that change the config file.
func (c *mcpCommand) addVerbs(l commandLine, verb func(use string, least, most int, missing string, run func(ctx context.Context, words []string) error) *cobra.Command) {
	var add struct{ env, pass, headers, about, token, oldSSE, clientID *string }
	cmd := verb("add NAME URL | NAME -- COMMAND…", 2, -1, "which name, and which address or command?", func(ctx context.Context, words []string) error {
		s := extension.Server{Name: words[0], About: *add.about, TokenEnv: *add.token, ClientID: *add.clientID}
		var err error
		if s.Env, err = pairs("--env", *add.env); err != nil {
			return err
		}
		if s.Headers, err = pairs("--header", *add.headers); err != nil {
			return err
		}
		if *add.pass != "" {
			s.PassEnv = strings.Split(*add.pass, ",")
		}
		if len(words) == 2 && strings.Contains(words[1], "://") {
			s.URL, s.SSE = words[1], *add.oldSSE == "sse"
		} else {
			s.Command = words[1:]
		}
		return c.add(ctx, s)
	})
	add.env = l.textFlag(cmd, "env", "", "K=V,…", "variables for the server; ${NAME} stands for one of yours")
	add.pass = l.textFlag(cmd, "pass-env", "", "NAME,…", "your variables to pass to the server")
	add.headers = l.textFlag(cmd, "header", "", "K=V,…", "headers of each request; ${NAME} stands for a variable")
	add.token = l.textFlag(cmd, "token-env", "", "NAME", "variable that holds the bearer token")
	add.clientID = l.textFlag(cmd, "client-id", "", "ID", "ID of an OAuth client that is already registered")
	add.about = l.textFlag(cmd, "about", "", "TEXT", "purpose, for the model")
	add.oldSSE = l.textFlag(cmd, "type", "", "TYPE", "sse: MCP's older transport, of 2024", "http", "sse")
	verb("rm NAME", 1, 1, "which server?", c.remove)
	verb("import [FILE]", 0, 1, "", c.importFrom)
}

// pairs reads K=V,K=V.
func pairs(flag, text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	values := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usage(flag, pair+" is not of the form K=V", flag+` 'NAME=${NAME}'`)
		}
		values[key] = value
	}
	return values, nil
}

// add writes a server into the config file and lists its tools once.
func (c *mcpCommand) add(ctx context.Context, s extension.Server) error {
	if err := config.CheckServer(s, redact.Mask); err != nil {
		return err
	}
	path, err := c.configFile()
	if err != nil {
		return err
	}
	if err := c.app.cfg.Paths.AddServer(path, s); err != nil {
		return err
	}
	c.app.screen.Note("added " + s.Name + " to " + path)
	if _, err := c.open(ctx, s.Name, false); err != nil {
		return err
	}
	tools, err := c.servers.List(ctx, s.Name)
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Kind == mcp.KindAuth {
		c.app.screen.Trouble(e.Error() + "; " + e.Hint)
		return nil
	}
	if err != nil {
		return err
	}
	c.app.screen.Note(text.Count(len(tools), "tool"))
	return nil
}

// configFile is the file that is changed.
func (c *mcpCommand) configFile() (string, error) {
	if err := c.app.load(false, false); err != nil {
		return "", err
	}
	if c.app.cfg.File != "" {
		return c.app.cfg.File, nil
	}
	path, err := c.app.cfg.Paths.ConfigFile()
	if err != nil {
		return "", err
	}
	return path, os.MkdirAll(filepath.Dir(path), 0o700)
}

func (c *mcpCommand) remove(_ context.Context, words []string) error {
	path, err := c.configFile()
	if err != nil {
		return err
	}
	was, err := config.RemoveServer(path, words[0])
	if err == nil && !was {
		err = usage(words[0], "no such MCP server in "+path, "artoo mcp list")
	}
	if err == nil {
		c.app.screen.Note("removed " + words[0] + " from " + path)
	}
	return err
}

// foreignFiles are the places where other programs keep their servers.
func (c *mcpCommand) foreignFiles() (files []string) {
	home := c.app.process.Environ.Home()
	below := func(dir string, names ...string) {
		for _, name := range names {
			if dir != "" {
				files = append(files, filepath.Join(dir, filepath.FromSlash(name)))
			}
		}
	}
	below(home, ".claude.json", ".codex/config.toml", ".gemini/settings.json", ".config/opencode/opencode.json", ".config/Code/User/mcp.json")
	below(c.app.project.Root, ".mcp.json", ".vscode/mcp.json", ".gemini/settings.json", ".codex/config.toml", "opencode.json")
	return files
}

// importFrom adds the servers of another program's file; without one it lists such files.
func (c *mcpCommand) importFrom(_ context.Context, words []string) error {
	path, err := c.configFile()
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return c.listForeign()
	}
	servers, notes, err := c.readForeign(words[0])
	if err != nil {
		return fail(agent.KindConfig, words[0], err, "artoo mcp import lists the files that are read")
	}
	for _, note := range notes {
		c.app.warn(note)
	}
	added := 0
	for _, s := range servers {
		if c.app.extensions.hasServer(s.Name) {
			c.app.warn("server " + s.Name + ": a server of this name exists")
			continue
		}
		if err := c.app.cfg.Paths.AddServer(path, s); err != nil {
			return err
		}
		c.app.screen.Note("added " + s.Name + ": " + mcp.Address(s))
		added++
	}
	if added == 0 {
		return fail(agent.KindConfig, words[0], errors.New("no server was added"), "artoo mcp list")
	}
	return nil
}

func (c *mcpCommand) listForeign() error {
	found := false
	for _, file := range c.foreignFiles() {
		servers, notes, err := c.readForeign(file)
		if err != nil || len(servers)+len(notes) == 0 {
			continue // it has no servers, or is not there
		}
		found = true
		line := fmt.Sprintf("artoo mcp import %s   %s", file, serverNames(servers))
		if len(notes) > 0 {
			line += fmt.Sprintf(" (%d cannot be taken)", len(notes))
		}
		if _, err := fmt.Fprintln(c.app.process.Out, sanitize.Text(line, sanitize.Line)); err != nil {
			return err
		}
	}
	if !found {
		c.app.screen.Note("no other program's MCP servers were found; artoo mcp import FILE reads a file")
	}
	return nil
}

// readForeign reads the servers of a file of Claude Code, Codex, Gemini, VS Code or opencode.
func (c *mcpCommand) readForeign(file string) ([]extension.Server, []string, error) {
	data, err := os.ReadFile(c.app.abs(file))
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		return nil, nil, err
	}
	origin := extension.Origin{Source: extension.SourceUser, Place: file}
	if filepath.Ext(file) == ".toml" {
		return config.ParseCodex(data, origin, c.app.cfg.Paths, redact.Mask)
	}
	return config.ParseMCP(data, origin, c.app.cfg.Paths, redact.Mask)
}

// accept shows how definitions differ from those seen first, and takes them with a yes, or with --yes if it showed the
// same ones the last time.
func (c *mcpCommand) accept(ctx context.Context, words []string) error {
	name, err := c.open(ctx, words[0], false)
	if err != nil {
		return err
	}
	if _, err := c.servers.List(ctx, name); err != nil {
		return err
	}
	changes, err := c.servers.Changes(name)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		c.app.screen.Note("no definition of " + name + " has changed")
		return nil
	}
	var shown strings.Builder
	for _, c := range changes {
		shown.WriteString(diff.Compare(c.Tool+" (first seen)", c.Tool+" (now)", c.Old, c.New).String())
	}
	again, err := c.servers.Shown(name, changes)
	if err != nil {
		return err
	}
	yes, err := c.accepts(ctx, screen.DefinitionsQuestion{Server: name, Diff: shown.String(), N: len(changes)}, again)
	if err != nil || !yes {
		return err
	}
	if err := c.servers.Accept(name, changes); err != nil {
		return err
	}
	c.app.screen.Note("accepted " + text.Count(len(changes), "definition") + " of " + name)
	return nil
}

// accepts asks on the terminal. Without one the changes are the output, and --yes is the answer if they were shown before.
func (c *mcpCommand) accepts(ctx context.Context, q screen.DefinitionsQuestion, again bool) (yes bool, err error) {
	if c.app.streams.watched && !*c.yes {
		yes, err = ui.ConfirmOnTTY(ctx, c.app.screen, q)
		if !errors.Is(err, agent.ErrNobody) {
			return yes, err
		}
	}
	if _, err := fmt.Fprint(c.app.process.Out, sanitize.Text(q.Diff, sanitize.Code)); err != nil {
		return false, err
	}
	if !*c.yes || !again {
		return false, fail(agent.KindApproval, q.Server, errors.New(text.Count(q.N, "definition")+" not accepted yet"),
			"artoo mcp accept --yes "+q.Server+", once you have looked")
	}
	return true, nil
}
