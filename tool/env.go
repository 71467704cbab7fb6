package tool

import (
	"context"
	"time"

	"artoo/tool/files"
	"artoo/tool/lsp"
	"artoo/tool/mcp"
	"artoo/tool/shell"
	"artoo/tool/web"
)

// Env is the world the tools of one session live in. Its fields are not changed while a turn runs.
type Env struct {
	// Files is the confined view of the file system, for every file tool.
	Files *files.Files
	// Dir is the absolute directory that commands run in by default.
	Dir string
	// Environ is the environment of child processes, as os.Environ gives it, without keys.
	Environ []string
	// Withheld names the variables left out of Environ; a failing command's result mentions them.
	Withheld []string
	// ResultMax is the number of characters after which a result is cut for the model, 0 for no limit.
	ResultMax int
	// PageMax is how many bytes a tool may return that shows a page at a time and
	// says how to go on; ResultMax does not cut these. It is asked at each call,
	// since it depends on the model's window. nil stands for ResultMax.
	PageMax func() int
	// Secrets finds the masked parts of a text for the model, in order; nil finds none.
	Secrets func(text string) []Secret
	// Start starts the commands of a call, confined or not; nil starts them as they
	// are. The loop sets it for each call, as the decision over it says.
	Start shell.Start
	// Web fetches pages; nil where there is no way to the web. Hosts are those that rules let a fetch reach besides the
	// approved one; the loop sets it for each call, nil stands for none.
	Web   *web.Client
	Hosts web.Hosts
	// Jobs are the background commands of the session; nil where there can be none.
	Jobs *shell.Jobs
	// LSP asks language servers about files; nil where there are none.
	LSP *lsp.Manager
	// MCP are the MCP servers; nil where there are none. Forms puts a server's request to the user
	// during a call; the loop sets it for each call, and nil cancels each.
	MCP   *mcp.Manager
	Forms func(ctx context.Context, r mcp.Request) (mcp.Answer, error)
	// Digest is Access.Digest of the call that was decided on; the loop sets it for each call.
	Digest string
	// KeepFile keeps data that a tool gave in the session's directory for outputs, and returns the
	// file's absolute path; extension begins with a dot. nil keeps nothing.
	KeepFile func(tool, extension string, data []byte) (path string, err error)
	// KeepTask keeps the ID of a task that the call of a server's tool became in the session's record. nil keeps nothing.
	KeepTask func(tool, id string) error
	// ShellTimeout is a command's default limit, ShellTimeoutMax the most a call may ask for.
	ShellTimeout, ShellTimeoutMax time.Duration
	// Kill, when it is closed, has interrupted commands killed at once, without
	// the time to end that they have otherwise. It says nothing to a command that
	// was not interrupted. May be nil, which leaves them their time.
	Kill <-chan struct{}
}

// Secret is a place of a text, in bytes, and the mark that is shown for it.
type Secret struct {
	From, To int
	Mark     string
}

// pageNote is how many bytes are kept for the words around a page.
const pageNote = 500

// Page is how many bytes a page has at most, but never more than most.
func (e *Env) Page(most int) int {
	limit := e.ResultMax
	if e.PageMax != nil {
		limit = e.PageMax()
	}
	if limit <= 0 {
		return most
	}
	return min(most, max(limit-pageNote, pageNote))
}
