package cli

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"artoo/agent"
	"artoo/tool"
	"artoo/tool/lsp"
	"artoo/tool/shell"
)

// languageServers gives the tools language servers, where the model may ask them.
func (a *app) languageServers(env *tool.Env, tools []tool.Tool, confined agent.Sandbox) error {
	if tool.Find(tools, "lsp") == nil {
		return nil
	}
	servers, err := a.servers()
	if err != nil {
		return err
	}
	env.LSP = lsp.New(lsp.Config{Root: a.project.Root, Servers: servers, Environ: env.Environ,
		Start: func(cmd *exec.Cmd) (shell.Started, error) {
			if s, ok := confined.(interface {
				StartServer(*exec.Cmd) (shell.Started, error)
			}); ok {
				return s.StartServer(cmd)
			}
			if a.brought.trusted() {
				return shell.StartHere(cmd)
			}
			return nil, errors.New("is not started: it runs what the project brings, and nothing confines it here; " +
				"artoo trust lets it")
		}})
	a.found.closers = append(a.found.closers, env.LSP.Close)
	return nil
}

// servers are the language servers that are known, as [lsp] changes them. Those of the
// user go first.
func (a *app) servers() ([]lsp.Server, error) {
	known := lsp.Known()
	var own []lsp.Server
	for _, s := range a.cfg.Servers {
		at := slices.IndexFunc(known, func(k lsp.Server) bool { return k.Name == s.Name })
		server := lsp.Server{Name: s.Name}
		if at >= 0 {
			server = known[at]
			known = slices.Delete(known, at, at+1)
		}
		if s.Command != nil {
			server.Command = s.Command
		}
		if s.Files != nil {
			server.Files = s.Files
		}
		switch {
		case s.Off:
			continue
		case len(server.Command) == 0 || len(server.Files) == 0:
			return nil, fail(agent.KindConfig, "[lsp]", fmt.Errorf("%s is not known, and has no command or no files", s.Name),
				s.Name+` = { command = ["server", "--stdio"], files = [".ext"] }`)
		case slices.ContainsFunc(server.Files, func(ext string) bool { return !strings.HasPrefix(ext, ".") }):
			return nil, fail(agent.KindConfig, "[lsp]", fmt.Errorf("the files of %s are extensions with their dot", s.Name),
				`files = [".go"]`)
		}
		own = append(own, server)
	}
	return append(own, known...), nil
}
