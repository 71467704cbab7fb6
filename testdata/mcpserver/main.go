// Command mcpserver is mcptest's server as a program of its own. A test binary that ran itself
// as the server would start more slowly, most of all under the race detector.
package main

import (
	"os"

	"artoo/tool/mcp/mcptest"
)

func main() {
	mcptest.Serve(append([]string{"", mcptest.Arg}, os.Args[1:]...), os.Stdin, os.Stdout, os.Stderr, os.Exit)
}
