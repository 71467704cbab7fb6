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
	info := ContextUse{Used: c.EstimatedTokens(), Budget: c.Budget(), Window: a.model.Info.Context, Messages: c.MessageCount()}
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

// imageBytes stands for a picture: what it counts in tokens, as text.
func imageBytes(i provider.Image) int { return i.Tokens() * 7 / 2 }

// contextBytes are the parts of the next request, in bytes, and their sum.
func (a *Agent) contextBytes() (parts []ContextPart, sum int) {
	system, tools, user, answers, calls, results, pictures := len(a.system), 0, 0, 0, 0, 0, 0
	for _, t := range a.opt.Tools {
		tools += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range a.conv.Messages() {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.Text:
				if m.Role == provider.RoleUser {
					user += len(p.Text)
				} else {
					answers += len(p.Text)
				}
			case provider.Reasoning:
				answers += len(p.Text) + len(p.Opaque)
			case provider.ToolCall:
				calls += len(p.Name) + len(p.Input)
			case provider.ToolResult:
				results += len(p.Text)
				for _, i := range p.Images {
					pictures += imageBytes(i)
				}
			case provider.Image:
				pictures += imageBytes(p)
			}
		}
	}
	parts = []ContextPart{
		{"system prompt and instructions", system}, {"tool descriptions", tools}, {"your messages", user}, {"answers and reasoning", answers},
		{"tool calls", calls}, {"tool results", results}, {"pictures", pictures},
	}
	for _, p := range parts {
		sum += p.Tokens
	}
	return parts, max(sum, 1)
}
