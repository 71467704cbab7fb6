package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"artoo/provider"
)

// adapt adds the omission of a row, and words the notice. Useless numbers change nothing.
func (l *Learned) adapt(r refusal, found map[string][]string, x Exchange) (notice string) {
	number := func(name string) int { return firstNumber(found[name]) }
	req := x.Request
	asked := l.ReplyTokens(max(0, req.MaxTokens), len(req.Messages))
	tokens, told := 0, r.notice
	var out []string // tools
	switch {
	case r.omit&longReply != 0:
		if tokens = number("most"); tokens < 1 || asked > 0 && tokens >= asked {
			return ""
		}
		l.most = tokens
	case r.omit&fullWindow != 0:
		tokens = leftFor(number("window"), number("input"), asked, found["least"] != nil)
		if tokens == 0 || asked > 0 && tokens >= asked {
			return ""
		}
		if l.left > 0 {
			told = "" // once is enough
		}
		l.left, l.messages = tokens, len(req.Messages)
	case r.omit&oldReasoning != 0:
		l.forget(x.Name, req)
	case r.omit&namedTools != 0:
		if out = l.simplify(found["tool"], req.Tools); out == nil {
			told = ""
		}
	}
	l.Omitted |= r.omit
	if req.Effort == "" && strings.Contains(told, "{effort}") {
		return "" // nothing that was asked for is lost
	}
	return strings.NewReplacer("{model}", req.Model, "{effort}", string(req.Effort), "{tokens}", strconv.Itoa(tokens),
		"{tools}", strings.Join(out, ", ")).Replace(told)
}

// leftFor is the part of the window that a prompt leaves for the reply, less an eighth; 0 if too little.
// vLLM stops counting a prompt that does not fit (atLeast): then half of the request is assumed.
func leftFor(window, input, asked int, atLeast bool) int {
	const least = 1024
	if atLeast && input < window {
		input = max(input, window-asked/2)
	}
	left := window - input
	left -= left / 8
	if input <= 0 || left < least {
		return 0
	}
	return left
}

// forget gives up the reasoning that a request held: servers do not say which they mind.
func (l *Learned) forget(name string, req provider.Request) {
	if l.reasoning == nil {
		l.reasoning = map[string]bool{}
	}
	for _, m := range req.Messages {
		if m.Provider != name || m.Model != req.Model || m.Partial {
			continue // was not sent
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.Text:
				l.reasoning[p.Opaque] = true
			case provider.Reasoning:
				l.reasoning[p.Opaque] = true
			case provider.ToolCall:
				l.reasoning[p.Opaque] = true
			}
		}
	}
	delete(l.reasoning, "")
}

// simplify lets the tools with these numbers fall back to the next form of their schemas. It
// returns those that are left out now.
func (l *Learned) simplify(numbers []string, tools []provider.ToolSpec) (out []string) {
	sent := slices.DeleteFunc(slices.Clone(tools),
		func(t provider.ToolSpec) bool { return l.Schema(t.Name) == SchemaNone })
	slices.Sort(numbers)
	for _, number := range slices.Compact(numbers) {
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(sent) {
			continue
		}
		name := sent[i].Name
		form := l.Schema(name) + 1
		if l.tools == nil {
			l.tools = map[string]SchemaForm{}
		}
		if l.tools[name] = form; form == SchemaNone {
			out = append(out, name)
		}
	}
	return out
}

// Field is one of an object.
type Field struct {
	Name string
	Raw  json.RawMessage
}

// Fields are those of an object in their order; ok is false if it is not an object.
func Fields(object json.RawMessage) (list []Field, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		name, err := dec.Token()
		f := Field{}
		if f.Name, ok = name.(string); err != nil || !ok || dec.Decode(&f.Raw) != nil {
			return nil, false
		}
		list = append(list, f)
	}
	return list, true
}

// merged merges the fields of extra into an object, recursively; new ones stand first.
func merged(object, extra json.RawMessage) (json.RawMessage, error) {
	have, ok := Fields(object)
	more, also := Fields(extra)
	if !ok || !also {
		return extra, nil
	}
	var fresh []Field
	for _, f := range more {
		i := slices.IndexFunc(have, func(h Field) bool { return h.Name == f.Name })
		if i < 0 {
			fresh = append(fresh, f)
			continue
		}
		var err error
		if have[i].Raw, err = merged(have[i].Raw, f.Raw); err != nil {
			return nil, err
		}
	}
	return ObjectOf(append(fresh, have...))
}

// ObjectOf is the object of these fields.
func ObjectOf(list []Field) (json.RawMessage, error) {
	out := []byte{'{'}
	for i, f := range list {
		name, err := provider.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), f.Raw...)
	}
	return append(out, '}'), nil
}
