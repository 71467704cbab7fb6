package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"artoo/provider"
)

// cmdTranscript is `transcript FILE`: writes the content of the newest session to
// FILE, a line for each part of a message and each request's tokens. It leaves out
// the wire's own data: names of providers and models, ids, payloads.
func cmdTranscript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: transcript FILE")
	}
	cmdSession(ts, false, nil)
	var b strings.Builder
	for line := range strings.Lines(ts.ReadFile(ts.Getenv("SESSION"))) {
		var entry struct {
			Type    string           `json:"type"`
			Message provider.Message `json:"message"`
			Usage   provider.Usage   `json:"usage"`
		}
		ts.Check(json.Unmarshal([]byte(line), &entry))
		if entry.Type != "message" {
			fmt.Fprintf(&b, "%s in %d out %d\n", entry.Type, entry.Usage.Prompt(), entry.Usage.Output)
			continue
		}
		for _, part := range entry.Message.Parts {
			fmt.Fprintf(&b, "%s %s\n", entry.Message.Role, ownWords(part))
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}

// ownWords is a part without the data that its wire put there for itself.
func ownWords(part provider.Part) string {
	switch p := part.(type) {
	case provider.Text:
		return fmt.Sprintf("text %q", p.Text)
	case provider.Reasoning:
		return fmt.Sprintf("reasoning %q", p.Text)
	case provider.ToolCall:
		return fmt.Sprintf("call %s %s %q", p.Name, p.Input, p.Raw)
	case provider.ToolResult:
		return fmt.Sprintf("result %s %q error %v", p.Name, p.Text, p.IsError)
	}
	return fmt.Sprintf("%T", part)
}
