package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"artoo/agent"
	"artoo/provider"
)

// script is a model that makes given calls.
type script struct {
	calls []provider.ToolCall // of the next reply
	sent  strings.Builder     // all that it was sent
	made  int
}

// Stream implements provider.Provider.
func (s *script) Stream(_ context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		s.note(req)
		message := provider.Message{Role: provider.RoleAssistant, Parts: []provider.Part{provider.Text{Text: "Done."}}}
		stop := provider.StopComplete
		for _, call := range s.calls {
			message.Parts, stop = append(message.Parts, call), provider.StopToolUse
		}
		s.calls = nil
		yield(provider.Done{Message: message, Stop: stop, Tries: 1}, nil)
	}
}

// note keeps all texts of a request. The model's own words are no secret.
func (s *script) note(req provider.Request) {
	s.sent.WriteString(req.System + "\n")
	for _, m := range req.Messages {
		for _, part := range m.Parts {
			switch part := part.(type) {
			case provider.Text:
				s.sent.WriteString(part.Text + "\n")
			case provider.ToolResult:
				s.sent.WriteString(part.Text + "\n")
			}
		}
	}
}

// call is one that the script makes.
func (s *script) call(tool string, input map[string]any) provider.ToolCall {
	data, _ := json.Marshal(input) // of strings
	s.made++
	return provider.ToolCall{ID: fmt.Sprintf("c%d", s.made), Name: tool, Input: data}
}

// listener receives the agent's output, and answers its questions.
type listener struct {
	agent.NopCallbacks
	yes     bool
	shown   strings.Builder
	results []agent.CallResult
	asked   []string // the questions, with their reasons
}

func (l *listener) OnText(text string) { l.shown.WriteString(text) }

func (l *listener) OnToolCall(c agent.Call) {
	l.shown.WriteString(c.Access.Diff + c.Access.Why + "\n")
}

func (l *listener) OnToolOutput(_ agent.Call, chunk string) { l.shown.WriteString(chunk) }

func (l *listener) OnToolResult(_ agent.Call, r agent.CallResult) {
	l.shown.WriteString(r.Text + "\n" + r.Summary + "\n" + r.Tail + "\n")
	l.results = append(l.results, r)
}

func (l *listener) OnNotice(n agent.Notice) { l.shown.WriteString(n.Text + "\n") }

func (l *listener) Ask(_ context.Context, q agent.Question) (agent.Answer, error) {
	l.shown.WriteString(q.Call.Access.Diff + q.Reason + "\n")
	l.asked = append(l.asked, q.Call.Name+": "+q.Reason)
	if l.yes {
		return agent.Answer{Verdict: agent.Yes}, nil
	}
	return agent.Answer{}, nil
}

// play is one session of an agent.
type play struct {
	*plantedSecrets
	agent *agent.Agent
	end   func() error
	model *script
}

// turnOutcome is the outcome of a turn.
type turnOutcome struct {
	results []agent.CallResult
	asked   []string
	sent    string // to the model, in this turn
	shown   string
}

// turn has the model make the calls, all questions answered by yes or no.
func (p *play) turn(ctx context.Context, message string, yes bool, calls ...provider.ToolCall) (turnOutcome, error) {
	l := &listener{yes: yes}
	p.model.calls = calls
	p.model.sent.Reset()
	if _, err := p.agent.SendMessage(ctx, message, l); err != nil {
		return turnOutcome{}, err
	}
	if len(l.results) != len(calls) {
		return turnOutcome{}, fmt.Errorf("%d calls have %d results", len(calls), len(l.results))
	}
	return turnOutcome{l.results, l.asked, p.model.sent.String(), l.shown.String()}, nil
}

// one is a turn of one call; text is its result.
func (p *play) one(
	ctx context.Context, yes bool, tool string, input map[string]any,
) (text string, o turnOutcome, err error) {
	o, err = p.turn(ctx, "go on", yes, p.model.call(tool, input))
	if err != nil {
		return "", o, err
	}
	return o.results[0].Text, o, nil
}

// hidden is an error if a planted secret stands in the texts that a turn sent or showed,
// or in the session's file.
func (p *play) hidden(o turnOutcome) error {
	kept, err := p.kept()
	if err != nil {
		return err
	}
	for where, text := range map[string]string{"sent": o.sent, "shown": o.shown, "kept": kept} {
		if found := p.leaked(text); found != nil {
			return fmt.Errorf("%s is %s", strings.Join(found, ", "), where)
		}
	}
	return nil
}

// kept is all that artoo's own directory holds of the session. Of the journal, which
// holds the originals of files, it has only those of denied files.
func (p *play) kept() (string, error) {
	var b strings.Builder
	dir := filepath.Join(p.Home, ".local", "state", "artoo")
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, p.agent.SessionID()) {
			return err
		}
		data, err := os.ReadFile(path)
		if below, _ := filepath.Rel(dir, path); strings.HasPrefix(filepath.ToSlash(below), "journal/") {
			if !strings.Contains(string(data), p.canary) {
				return err
			}
		}
		b.Write(data)
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return b.String(), err
}
