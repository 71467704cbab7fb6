package agent

import (
	"artoo/conversation"
	"artoo/provider"
)

// ContextUse counts tokens.
type ContextUse struct {
	Used     int // of the next request, estimated
	Budget   int // what the history may fill; 0 for unlimited
	Window   int // what the model can take; 0 when unknown
	Messages int
	Parts    []ContextPart // what it is made of; their sum is about Used
}

// ContextPart is a part of what the model is sent.
type ContextPart struct {
	Name   string
	Tokens int
}

// Context tells how full the context is.
func (a *Agent) Context() ContextUse {
	c := a.conv
	info := ContextUse{Used: c.EstimatedTokens(), Budget: c.Budget(), Window: a.model.Info.Context,
		Messages: c.MessageCount()}
	parts, sum := a.contextBytes()
	for _, p := range parts {
		if p.Tokens > 0 {
			info.Parts = append(info.Parts, ContextPart{p.Name, int(int64(p.Tokens) * int64(info.Used) / int64(sum))})
		}
	}
	return info
}

// Compact makes the history small and says what went, "" when nothing could.
func (a *Agent) Compact() (string, error) {
	trimmed, err := a.conv.Compact()
	return trimmed.String(), err
}

// Cost counts the whole session where there is a file, else this run, of which it
// does not know the requests.
func (a *Agent) Cost() conversation.Totals {
	if s := a.conv.Session(); s != nil {
		return s.Totals()
	}
	usage, cost := a.Spent()
	return conversation.Totals{Usage: usage, CostUSD: cost}
}

// contextBytes are the parts of the next request, in bytes, and their sum.
func (a *Agent) contextBytes() (parts []ContextPart, sum int) {
	const imageBytes = 3.5 // that stand for a token of an image
	user, answers, calls, results, images := 0, 0, 0, 0, 0
	for _, m := range a.conv.Messages() {
		for _, p := range m.Parts {
			bytes, tokens := conversation.PartSize(p)
			images += int(imageBytes * float64(tokens))
			switch p.(type) {
			case provider.ToolCall:
				calls += bytes
			case provider.ToolResult:
				results += bytes
			default:
				if m.Role == provider.RoleUser {
					user += bytes
				} else {
					answers += bytes
				}
			}
		}
	}
	parts = []ContextPart{
		{"system prompt and instructions", len(a.system)}, {"tool descriptions", a.overhead() - len(a.system)},
		{"your messages", user}, {"answers and reasoning", answers}, {"tool calls", calls}, {"tool results", results},
		{"images", images},
	}
	for _, p := range parts {
		sum += p.Tokens
	}
	return parts, max(sum, 1)
}
