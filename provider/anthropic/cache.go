package anthropic

// maxMarks is how many cache breakpoints the Messages API takes in one request.
const maxMarks = 4

// mark sets the cache breakpoints: one behind the tools and the system prompt,
// the others behind the last user messages. The last of those writes what the
// next request will read; the one before it is where the previous request
// wrote. Marking that very place matters because the API looks back only 20
// blocks from a breakpoint, and one step with many parallel calls adds more.
func (b *body) mark() {
	ephemeral := &cacheControl{Type: "ephemeral"}
	left := maxMarks
	switch {
	case len(b.System) > 0:
		b.System[len(b.System)-1].Cache = ephemeral
		left--
	case len(b.Tools) > 0:
		b.Tools[len(b.Tools)-1].Cache = ephemeral
		left--
	}
	for i := len(b.Messages) - 1; i >= 0 && left > 0; i-- {
		if m := b.Messages[i]; m.Role == "user" {
			m.Content[len(m.Content)-1].Cache = ephemeral
			left--
		}
	}
}
