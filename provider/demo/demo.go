// Package demo is the model of `artoo demo`: a script inside the program that plays a coding agent at work,
// so that artoo can be seen working without a key or a network. It drives the real loop with the real tools
// on the files of Files, and decides each step by the tools' results.
package demo

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"artoo/provider"
	"artoo/tool/text"
)

// How fast the script speaks.
const (
	thinking = 400 * time.Millisecond // before the first piece of a reply
	between  = 15 * time.Millisecond  // two pieces
)

// Provider plays the script. Its state is the history of each request, so that
// one value serves any number of conversations at once.
type Provider struct {
	// Pace waits for d, or until ctx is done; nil does not wait.
	Pace func(ctx context.Context, d time.Duration)
}

// Wait is a Pace for people.
func Wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Stream implements provider.Provider. It fails only when ctx is done.
func (p *Provider) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		s := read(req.Messages)
		m := s.next(offer(req.Tools))
		if !p.say(ctx, m, yield) {
			return
		}
		out := size(m.reasoning) + size(m.text)
		message := provider.Message{Role: provider.RoleAssistant, Provider: Name, Model: Name}
		if m.reasoning != "" {
			message.Parts = append(message.Parts, provider.Reasoning{Text: m.reasoning})
		}
		message.Parts = append(message.Parts, provider.Text{Text: m.text})
		stop := provider.StopComplete
		for _, c := range m.calls {
			message.Parts = append(message.Parts, c)
			out += size(string(c.Input))
			stop = provider.StopToolUse
		}
		yield(provider.Done{Message: message, Stop: stop, Tries: 1, Usage: provider.Usage{
			Input: prompt(req), Output: out, Reasoning: size(m.reasoning), Estimated: true,
		}}, nil)
	}
}

// say streams the words of a move. It returns false when the reply is over early.
func (p *Provider) say(ctx context.Context, m move, yield func(provider.Event, error) bool) bool {
	events := []provider.Event{provider.Started{Model: Name}}
	for _, piece := range pieces(m.reasoning) {
		events = append(events, provider.ReasoningDelta{Text: piece})
	}
	for _, piece := range pieces(m.text) {
		events = append(events, provider.TextDelta{Text: piece})
	}
	for i, e := range events {
		if p.Pace != nil {
			d := between
			if i == 0 {
				d = thinking
			}
			p.Pace(ctx, d)
		}
		if err := ctx.Err(); err != nil {
			yield(nil, &provider.Error{Kind: provider.KindCanceled, Provider: Name, Err: err})
			return false
		}
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// pieces are the words of a text.
func pieces(text string) []string {
	return slices.DeleteFunc(strings.SplitAfter(text, " "), func(piece string) bool { return piece == "" })
}

// size guesses tokens: four bytes make one.
func size(s string) int { return (len(s) + 3) / 4 }

func prompt(req provider.Request) int {
	n := size(req.System)
	for _, t := range req.Tools {
		n += size(t.Description) + size(string(t.Schema))
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.Text:
				n += size(p.Text)
			case provider.ToolCall:
				n += size(string(p.Input))
			case provider.ToolResult:
				n += size(p.Text)
			}
		}
	}
	return n
}

type offered map[string]bool

func offer(tools []provider.ToolSpec) offered {
	o := offered{}
	for _, t := range tools {
		o[t.Name] = true
	}
	return o
}

func quote(s string) string {
	line := strings.ReplaceAll(text.Clip(text.FirstLine(s), 161), "`", "'")
	if line == "" {
		return "(nothing)"
	}
	return "`" + line + "`"
}
