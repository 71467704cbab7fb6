package cli

import (
	"encoding/json"
	"strconv"
	"strings"

	"artoo/provider"
)

// dialect is what artoo must know of one tool.
type dialect struct {
	program string            // the executable
	least   string            // a version known to have all the options that are used
	since   map[string]string // the version that brought an option, where it is newer than least
	install string            // the command that installs or renews it
	login   string            // how to log in, a command
	own     []string          // variables it logs in by, which nothing else reads
	keys    []string          // variables with keys of the vendor's API, which would be charged
	edits   string            // what it may do where it may edit, for the user
	reads   string            // what it may do elsewhere
	most    int               // bytes of a message that are read, 0 for any number
	policy  string            // a file of rules that it is given where it only reads; "" for none
	// brings names what of a repository it would run or obey and cannot be told to
	// leave alone; nil where it can. The run is refused then.
	brings func(p place, home string) (string, error)
	// environ takes out what the repository would put in; nil where it puts nothing.
	environ func(p place, home string, environ []string) ([]string, error)
	args    func(call) []string
	events  func() decoder
	guard   func(prompt string, a around) string // keeps the text from being taken for commands
	https   map[int]int                          // exit statuses that are HTTP's, cut to a byte
	exits   map[int]provider.ErrorKind           // exit statuses that tell the kind
	remark  func(stderr string) string           // what of a good run's stderr the user must know; "" for nothing
}

// call is what a run's arguments depend on.
type call struct {
	model  string // "" for the tool's own
	effort string // "" for the tool's own
	edits  bool   // else it only reads
	place  place
	opens  []string // directories beside the working directory that it may use
	policy string   // the path of the dialect's policy
	resume string   // the tool's session, "" for a new one
	caps   Caps
}

// decoder takes a run's events apart. An event that it does not know is passed
// over; one it cannot read is like a line that is none.
type decoder interface {
	event(r *reply, data []byte)
}

func dialectOf(name string) *dialect {
	switch name {
	case ClaudeName:
		return &claude
	case CodexName:
		return &codex
	case GeminiName:
		return &gemini
	}
	return nil
}

// noSlash keeps a message that begins with a slash from being taken for one of
// the tool's commands.
func noSlash(prompt string, _ around) string {
	if strings.HasPrefix(strings.TrimSpace(prompt), "/") {
		return "The user's message:\n\n" + prompt
	}
	return prompt
}

// versionIn finds a version such as 1.2.3 in text, "" when there is none.
func versionIn(text string) string {
	for _, word := range strings.Fields(text) {
		word = strings.TrimLeft(word, "v(")
		if parts := strings.SplitN(word, ".", 3); len(parts) == 3 && number(parts[0]) >= 0 && number(parts[1]) >= 0 && number(parts[2]) >= 0 {
			return word
		}
	}
	return ""
}

// TooOld looks at what a program said of its version, and says which one is
// needed at least and how to get it; both are "" where it is new enough, where it
// tells no version, and for a program that is no provider.
func TooOld(program, said string) (least, install string) {
	for _, name := range []string{ClaudeName, CodexName, GeminiName} {
		d := dialectOf(name)
		if version := versionIn(said); d.program == program && version != "" && less(version, d.least) {
			return d.least, d.install
		}
	}
	return "", ""
}

// less compares two versions by their numbers.
func less(a, b string) bool {
	as, bs := strings.SplitN(a, ".", 3), strings.SplitN(b, ".", 3)
	for i := range min(len(as), len(bs)) {
		if x, y := number(as[i]), number(bs[i]); x != y {
			return x < y
		}
	}
	return false
}

// number is the number text begins with, -1 for none.
func number(text string) int {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(text[:end])
	if err != nil {
		return -1
	}
	return n
}

// object reads the fields of a tool's input, for showing it.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// about is what a call of the tool's is about: the command, path or address
// among its input, else the input itself.
func about(input json.RawMessage) string {
	fields := object(input)
	for _, name := range []string{"command", "cmd", "file_path", "path", "absolute_path", "notebook_path", "dir_path", "pattern", "url", "query", "prompt", "description", "skill", "subject"} {
		var text string
		if json.Unmarshal(fields[name], &text) == nil && text != "" {
			return text
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return string(input)
}

// effortOf maps artoo's effort to the tool's; none is "" for an effort it has
// no word for.
func effortOf(effort provider.Effort, most string) string {
	switch effort {
	case provider.EffortLow, provider.EffortMedium, provider.EffortHigh:
		return string(effort)
	case provider.EffortMax:
		return most
	}
	return ""
}
