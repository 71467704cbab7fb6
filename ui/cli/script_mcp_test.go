package cli

import (
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"

	"artoo/tool/mcp/mcptest"
)

// cmdMCPWeb is `mcpweb KIND…`: starts an MCP server over HTTP and sets MCP_URL to its address.
func cmdMCPWeb(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: mcpweb KIND…")
	}
	w := mcptest.NewWeb(args...)
	server := httptest.NewServer(w)
	w.SetURL(server.URL)
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ts.Setenv("MCP_URL", server.URL+"/mcp")
}

// browse is the program gobrowse: it goes to an address, and where that leads.
func browse(address string) int {
	resp, err := http.Get(address)
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		return 1
	}
	return 0
}
