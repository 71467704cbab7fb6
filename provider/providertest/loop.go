package providertest

import (
	"fmt"
	"strings"
)

// Builder writes items in the form of one wire: Anthropic, Chat, Responses,
// Gemini or Ollama.
type Builder func(items ...Item) Reply

// ToolLoop plays a task: steps replies that each call the tool of the given
// name with args, then one with the answer, and so on from the start. Each call
// has an id of its own.
func ToolLoop(build Builder, steps int, name, args, answer string) *Handler {
	return &Handler{Next: func(n int, _ Request) Reply {
		if at := n % (steps + 1); at < steps {
			return build(Text(fmt.Sprintf("Step %d.", at+1)), Call(fmt.Sprintf("call_step_%d", n+1), name, args))
		}
		return build(Text(answer))
	}}
}

// Flood is a reply whose answer has the given size in bytes and comes in pieces
// of the given size: lines of plain words.
func Flood(build Builder, size, piece int) Reply {
	const line = "All work and no play makes a dull test of a reader. \n"
	all := strings.Repeat(line, size/len(line)+1)[:size]
	pieces := make([]string, 0, size/piece+1)
	for len(all) > 0 {
		n := min(piece, len(all))
		pieces = append(pieces, all[:n])
		all = all[n:]
	}
	return build(Text(pieces...))
}
