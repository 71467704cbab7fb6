package agent

import (
	"strings"

	"artoo/conversation"
	"artoo/provider"
)

// ContextUse counts tokens.
type ContextUse struct {
	Used     int // of the next request, estimated
	Budget   int // what the history may fill; 0 for unlimited
	Window   int // what the model can take; 0 when unknown
	Free     int // of the budget
	Messages int
	Parts    []ContextPart // what it is made of, their sum is about Used
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
	parts, sum := a.contextParts()
	for _, p := range parts {
		if p.Tokens > 0 {
			info.Parts = append(info.Parts, ContextPart{p.Name, int(int64(p.Tokens) * int64(info.Used) / int64(sum))})
		}
	}
	info.Free = max(info.Budget-info.Used, 0)
	return info
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

// contextParts are the parts of the next request as they are estimated one by one,
// and their sum.
func (a *Agent) contextParts() (parts []ContextPart, sum int) {
	tools, instructions := 0, 0
	for _, spec := range a.specs() {
		tools += a.conv.ToolTokens(spec)
	}
	for _, i := range a.briefing.instructions {
		if strings.Contains(a.system, strings.TrimSpace(i.Text)) {
			instructions += a.conv.TextTokens(i.Text)
		}
	}
	user, summaries, answers, calls, results, images := 0, 0, 0, 0, 0, 0
	for _, m := range a.conv.Messages() {
		for _, p := range m.Parts {
			n := a.conv.PartTokens(p)
			switch p := p.(type) {
			case provider.ToolCall:
				calls += n
			case provider.ToolResult:
				text := p
				text.Images = nil
				results += a.conv.PartTokens(text)
				images += n - a.conv.PartTokens(text)
			case provider.Image:
				images += n
			default:
				text, _ := p.(provider.Text)
				switch {
				case m.Role != provider.RoleUser:
					answers += n
				case text.Note == provider.NoteSummary:
					summaries += n
				default:
					user += n
				}
			}
		}
	}
	parts = []ContextPart{
		{"system prompt", max(a.conv.TextTokens(a.system)-instructions, 0)}, {"instructions", instructions},
		{"tools", tools}, {"your messages", user}, {"summary", summaries}, {"answers and reasoning", answers},
		{"tool calls", calls}, {"tool results", results}, {"images", images},
	}
	for _, p := range parts {
		sum += p.Tokens
	}
	return parts, max(sum, 1)
}
