package cli

import (
	"fmt"
	"slices"
	"strings"

	"artoo/agent"
	"artoo/tool"
	"artoo/tool/lsp"
)

// languageServers are those that the tools may ask; nil where the model is not offered
// the tool for it.
func (a *app) languageServers(tools []tool.Tool) ([]lsp.Server, error) {
	if tool.Find(tools, "lsp") == nil {
		return nil, nil
	}
	return a.servers()
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
