package agent

import (
	"context"
	"encoding/json"

	"artoo/provider"
	"artoo/provider/telemetry"
)

// span begins the turn's span. A sub-agent's lies within that of the call that it works for.
func (t *turn) span(ctx context.Context, m Message) (context.Context, *telemetry.Span) {
	s := t.session
	op := telemetry.Operation{Name: telemetry.Invoke, Of: "artoo", Provider: provider.ConventionName(s.model.Name), Model: s.model.Defaults.Model}
	if s.parent == nil {
		op.Session = s.sessionID
	} else {
		op.Of = s.agentName
	}
	ctx, span := s.opt.Telemetry.Start(ctx, op)
	span.Content("gen_ai.input.messages", func() string { return messageOf(provider.RoleUser, s.masked(m.Text)) })
	return ctx, span
}

func endTurnSpan(span *telemetry.Span, r *Response, err error) {
	out := telemetry.Outcome{Model: r.Model, Finish: string(r.Stop), Usage: usageOf(r.Usage), CostUSD: r.CostUSD}
	if f := Classify(err); f != nil {
		out.Error = string(f.Kind)
	}
	span.Content("gen_ai.output.messages", func() string { return messageOf(provider.RoleAssistant, r.Text) })
	span.End(out)
}

func endRequest(span *telemetry.Span, report RequestReport, reply provider.Done, err error) {
	out := telemetry.Outcome{Model: report.Model, Request: report.ID, Finish: string(reply.Stop), Usage: usageOf(report.Usage),
		CostUSD: report.CostUSD, Tries: report.Tries}
	if f := Classify(err); f != nil {
		out.Error = string(f.Kind)
	}
	span.Content("gen_ai.output.messages", func() string { return messageOf(provider.RoleAssistant, reply.Message.Text()) })
	span.End(out)
}

func usageOf(u provider.Usage) telemetry.Usage {
	return telemetry.Usage{Input: u.Prompt(), CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning}
}

// messageOf is a message in the form of the conventions, "" for an empty one.
func messageOf(role provider.Role, text string) string {
	if text == "" {
		return ""
	}
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type message struct {
		Role  provider.Role `json:"role"`
		Parts []part        `json:"parts"`
	}
	data, _ := json.Marshal([]message{{role, []part{{"text", text}}}}) // Texts can be written.
	return string(data)
}
