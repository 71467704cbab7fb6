package tool

import "artoo/tool/shell"

// Kind is the coarsest statement of the effects of a call.
type Kind string

// The kinds; KindNone touches nothing outside the process.
const (
	KindNone    Kind = "none"
	KindRead    Kind = "read"
	KindWrite   Kind = "write"
	KindRun     Kind = "run"
	KindNetwork Kind = "network"
	KindServer  Kind = "server" // a tool of an MCP server
)

// Access lists the things that one call would touch, known before it runs.
type Access struct {
	Kind Kind
	// Paths are the absolute, cleaned, link-free paths that are read or
	// written. Empty for KindRun: a command's reach cannot be listed.
	Paths []string
	// Command and Dir are set for KindRun: the shell line and its absolute directory.
	Command, Dir string
	// Background says that a command goes on when the call has ended. To is the line of
	// the background command whose input Command is; "" where Command is a line itself.
	Background bool
	To         string
	// ToConfined says that this background command is confined. The agent sets it.
	ToConfined bool
	// Unconfined is why the model wants a command to run outside the sandbox; "" for no wish.
	Unconfined string
	// Outside says that a path lies outside every directory the user granted,
	// Denied that it matches the built-in deny list (secrets, credentials);
	// Why says it in words for the model and the user.
	Outside, Denied bool
	Why             string
	// Verb and Object are the call in two words for the transcript, such as
	// "read" and "internal/cart/week.go", unsanitised.
	Verb, Object string
	// Host is set for KindNetwork: the host and port, as rules see it; "" where no rule can speak
	// of it.
	Host string
	// Server is set for KindServer: the MCP server's name, with its command line or address in
	// Address. Claims is the server's own description of the tool, which decides nothing. Reads
	// means that the user lists the tool as one that only reads.
	Server, Address, Claims string
	Reads                   bool
	// Local says of KindServer that the server is a process of this machine, which may change files.
	Local bool
	// Changed is set for KindServer: how the tool's definition differs from the one that was
	// accepted, as a diff; no allow rule covers such a call. "" for an accepted one.
	Changed string
	// Digest is of what is decided on besides the input: the definition of a server's tool, or the present and the new
	// content of files. "" where there is neither.
	Digest string
	// MovesSecret says in words that a secret, or the text beside it, would change: that is asked about whatever the
	// mode and the rules. "" if not.
	MovesSecret string
	// OtherNames says that the file to be written has hard links, which may be anywhere.
	OtherNames bool
	// Diff is the unified diff of a KindWrite call, "" when nothing changes.
	Diff string
	// Added and Removed count the diff's lines.
	Added, Removed int
	// Outcomes are the files after a KindWrite call; nil for a tool that does not report them.
	Outcomes []Outcome
}

// Outcome is the state after a call of the file at an absolute path in Access.Paths.
type Outcome struct {
	Path string
	Data []byte // the whole content
	Gone bool   // It is deleted or moved.
}

// Result is the outcome of a call.
type Result struct {
	Text    string // The model reads it; untruncated, without terminal escapes.
	Images  []Image
	Summary string // The user reads it: "88 lines", "exit 1 in 1.9s".
	// Printed is the output of a command that has ended, without the notes that Text has behind it; nil for none.
	Printed *string
	IsError bool // the call ran, but failed (a command's exit status)
	// Paged says that the tool kept Text to Env.PageMax itself and says how to get the rest.
	Paged bool
	// Job is the command that the call has left running in the background; nil for none.
	Job *shell.Job
	// Stopped says that the command was ended before it was done.
	Stopped bool
	// Notices are for the user, a sentence each; nil for none.
	Notices []string
}

// Image is an image a tool returns; Data is raw. Name, for models that do not see, may be "".
type Image struct {
	MediaType string
	Data      []byte
	Name      string
}
