package providertest

import (
	"encoding/json"
	"math/rand"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/tool/sweep"
)

// pool has the parts of broken histories: real messages of the models of all wires, payloads included, and damage of
// all kinds.
type pool struct {
	parts []provider.Part
	names []string
}

func newPool(t testing.TB) pool {
	var p pool
	for _, s := range wires() {
		p.names = append(p.names, s.name)
		p.parts = append(p.parts, s.reply(t, s.name, provider.Request{Options: provider.Options{Model: s.model},
			Messages: []provider.Message{provider.UserText("hi")}}, step(1)...).Parts...)
	}
	for _, text := range []string{"hello", "", " \n", "\xff\xfe", "caf\xc3", "\xed\xa0\x80 half",
		"😀", "a\x00b", "\\ud800"} {
		p.parts = append(p.parts, provider.Text{Text: text}, provider.Text{Text: text, Opaque: `{"id":"msg_1"}`},
			provider.Reasoning{Text: text, Form: "thinking"},
			provider.Reasoning{Text: text, Form: "reasoning_content", Opaque: "sig"},
			provider.Reasoning{Form: "reasoning_item", Opaque: `{"id":"rs_1"`},
			provider.Reasoning{Text: text, Form: "redacted_thinking", Opaque: "d"})
	}
	p.parts = append(p.parts, nil, provider.Image{MediaType: "image/png", Data: []byte("PNG")},
		provider.Image{MediaType: "image/tiff", Data: []byte("II")}, provider.Image{})
	inputs := []string{`{}`, `{"path":"a"}`, ` {"path":"\ud800"}`, `[]`, ``, `null`, "{\"path\":\"\xff\"}", `"{}"`,
		`{"path`, `{"path":"\ud83d\ude00"}`}
	for i, id := range []string{"1", "2", "a.b", "a_b", "", "call_1", "toolu_01|fc_02", strings.Repeat("L", 64),
		strings.Repeat("é", 300), "\xff"} {
		for _, name := range []string{"read", "mcp.db list", "", "ünknown", strings.Repeat("n", 65) + "a",
			strings.Repeat("n", 65) + "b", strings.Repeat("n", 200), "1st"} {
			p.parts = append(p.parts, provider.ToolCall{ID: id, Name: name,
				Input: json.RawMessage(inputs[(i+len(name))%len(inputs)]), Raw: strings.Repeat("x", i%2),
				Opaque: strings.Repeat("o", i%3)})
		}
	}
	return p
}

// history makes one out of any bytes: each pair takes one small step.
func (p pool) history(script []byte) []provider.Message {
	roles := []provider.Role{provider.RoleUser, provider.RoleAssistant, provider.RoleAssistant, provider.RoleTool, "system"}
	var h []provider.Message
	var calls []provider.ToolCall
	for i := 0; i+1 < len(script); i += 2 {
		kind, n := script[i]%8, int(script[i+1])
		if kind < 2 || len(h) == 0 {
			name := p.names[n%len(p.names)]
			h = append(h, provider.Message{Role: roles[n%len(roles)], Provider: name,
				Model: []string{wireModel(name), "other", ""}[n/7%3], Partial: n%11 == 0})
			continue
		}
		m := &h[len(h)-1]
		switch {
		case kind < 5:
			part := p.parts[(n+256*int(kind-2))%len(p.parts)]
			if c, ok := part.(provider.ToolCall); ok {
				calls = append(calls, c)
			}
			m.Parts = append(m.Parts, part)
		case kind < 7 && len(calls) > 0:
			c := calls[n%len(calls)]
			r := provider.ToolResult{CallID: c.ID, Name: c.Name, Text: strings.Repeat("\xc3", n%3), IsError: n%2 == 0}
			if n%5 == 0 {
				r.Images = []provider.Image{{MediaType: "image/png", Data: []byte("PNG")}, {}}
			}
			h = append(h, provider.Message{Role: provider.RoleTool, Parts: []provider.Part{r}})
		default:
			h = append(h[:len(h)-1:len(h)-1], *m, *m) // said twice
		}
	}
	return h
}

func wireModel(name string) string {
	for _, s := range wires() {
		if s.name == name {
			return s.model
		}
	}
	return ""
}

// checkTaken repairs a history and checks each wire's body of it, for its model that reasons and that made some of the
// messages.
func checkTaken(t *testing.T, h []provider.Message) {
	t.Helper()
	repaired := provider.Repair(h)
	if len(repaired) == 0 {
		return // nothing was asked: the agent sends no such request
	}
	for _, s := range wires() {
		req := question(repaired...)
		req.Model, req.Effort = s.model, provider.EffortHigh
		body := encoded(t, s.Wire, s.name, req)
		if err := s.takes(body); err != nil {
			t.Errorf("%s: %v\n%.3000s", s.name, err, body)
		}
		checkSent(t, s, repaired, body)
	}
}

// TestAnyHistoryIsTaken, after Repair, by the strictest server of
// each wire: cut anywhere, calls without results and results without calls, ids
// and payloads of other wires, empty parts, broken text.
func TestAnyHistoryIsTaken(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	for _, seed := range sweep.Cases(t, 60, 600) {
		random := rand.New(rand.NewSource(int64(seed)))
		script := make([]byte, random.Intn(80))
		random.Read(script)
		checkTaken(t, p.history(script))
		if t.Failed() {
			t.Fatalf("script %v", script)
		}
	}
}

// TestAHistoryMayBeCutAnywhere: a session that was cut or trimmed at any message is
// still one that each wire's server takes, and so it is without its beginning.
func TestAHistoryMayBeCutAnywhere(t *testing.T) {
	t.Parallel()
	for _, s := range wires() {
		h := []provider.Message{provider.UserText("hi")}
		for n := range 3 {
			req := question(h...)
			req.Model = s.model
			m := s.reply(t, s.name, req, step(n)...)
			h = append(h, m)
			for _, c := range m.Calls() {
				h = append(h, result(c, "x"))
			}
		}
		for n := range len(h) {
			checkTaken(t, h[:n+1])
			checkTaken(t, h[n:])
		}
	}
}

// FuzzRepairForWires is the same for any bytes.
func FuzzRepairForWires(f *testing.F) {
	p := newPool(f)
	f.Add([]byte{0, 0, 2, 0, 0, 1, 3, 9, 5, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) <= 400 {
			checkTaken(t, p.history(script))
		}
	})
}
