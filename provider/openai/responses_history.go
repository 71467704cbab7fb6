package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// formItem marks reasoning whose Opaque is a whole reasoning item, as it came.
const formItem = "reasoning_item"

// inputItem is any item of the input but reasoning.
type inputItem struct {
	Type      string `json:"type,omitempty"`
	Role      string `json:"role,omitempty"`
	ID        string `json:"id,omitempty"`
	Status    string `json:"status,omitempty"` // required where a message has an ID
	Phase     string `json:"phase,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Content   any    `json:"content,omitempty"` // text, []inputPart or []outputPart
	Output    any    `json:"output,omitempty"`  // text or []inputPart
}

type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Detail   string `json:"detail,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

// outputPart is a piece of the model's message. The schema wants both lists.
type outputPart struct {
	Type        string `json:"type"`
	Annotations []int  `json:"annotations"`
	Logprobs    []int  `json:"logprobs"`
	Text        string `json:"text"`
}

// saidItem is a text of the model as the API reads it back.
func saidItem(mark itemMark, text string) inputItem {
	it := inputItem{Type: "message", Role: "assistant", ID: mark.ID, Phase: mark.Phase, Content: text}
	if mark.ID != "" {
		it.Status, it.Content = "completed", []outputPart{{Type: "output_text", Annotations: []int{}, Logprobs: []int{}, Text: text}}
	}
	return it
}

// itemMark is the part of its item that a text or a call keeps.
type itemMark struct {
	ID    string `json:"id,omitempty"`
	Phase string `json:"phase,omitempty"`
	Apart bool   `json:"apart,omitempty"` // the text begins with an empty line that is not the model's
}

const apart = "\n\n"

// opaque is the mark in the form that messages keep, "" for an empty one.
func (m itemMark) opaque() (string, error) {
	if m == (itemMark{}) {
		return "", nil
	}
	b, err := provider.Marshal(m)
	return string(b), err
}

// readMark is the mark of a part's payload, empty for another wire's.
func readMark(opaque, prefix string) itemMark {
	var m itemMark
	if opaque == "" || json.Unmarshal([]byte(opaque), &m) != nil {
		return itemMark{}
	}
	if !ownID(m.ID, prefix) {
		m.ID = ""
	}
	if m.Phase != "commentary" && m.Phase != "final_answer" {
		m.Phase = ""
	}
	return m
}

func ownID(id, prefix string) bool {
	return strings.HasPrefix(id, prefix) && len(id) <= responsesIDLimit
}

type responsesHistory struct {
	learned wire.Learned
	ids     wire.IDs
	used    map[string]bool // ids of items
	input   []json.RawMessage
}

func (h *responsesHistory) put(it inputItem) error {
	raw, err := provider.Marshal(it)
	if err == nil {
		h.input = append(h.input, raw)
	}
	return err
}

func (h *responsesHistory) add(m provider.Message) error {
	if m.Role == provider.RoleAssistant {
		return h.assistant(m)
	}
	var parts []inputPart
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			parts = appendInput(parts, p.Text)
		case provider.Image:
			parts = append(parts, inputImage(p))
		case provider.ToolResult:
			if err := h.result(p); err != nil {
				return err
			}
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return h.put(inputItem{Role: "user", Content: parts})
}

func (h *responsesHistory) result(r provider.ToolResult) error {
	it := inputItem{Type: "function_call_output", CallID: h.ids.Result(r.CallID), Output: r.Text}
	if len(r.Images) > 0 {
		parts := appendInput(nil, r.Text)
		for _, img := range r.Images {
			parts = append(parts, inputImage(img))
		}
		it.Output = parts
	} else if wire.Blank(r.Text) {
		it.Output = "(no output)"
	}
	return h.put(it)
}

// assistant replays a message item by item. The API wants a reasoning item before the item
// it led to, and refuses one without the other: where reasoning cannot go back, its items
// lose their IDs. It also refuses duplicate IDs: such a message has none, and no reasoning.
// A server that takes no IDs is sent reasoning without one.
func (h *responsesHistory) assistant(m provider.Message) error {
	own := h.ids.Own(m)
	nameless := h.learned.Without(wire.ItemIDs)
	named := own && !nameless && h.named(m)
	whole := named && !h.hasLost(m)
	mark := func(opaque, prefix string) itemMark {
		if !own {
			return itemMark{}
		}
		mk := readMark(opaque, prefix)
		if !whole {
			mk.ID = ""
		}
		return mk
	}
	var due []json.RawMessage // reasoning that waits for its item
	for _, p := range m.Parts {
		it := inputItem{}
		switch p := p.(type) {
		case provider.Reasoning:
			if item, _, ok := replayable(p, named); ok && own && (named || nameless) && !h.learned.Forgotten(p.Opaque) {
				due = append(due, item)
			}
			continue
		case provider.Text:
			if wire.Blank(p.Text) {
				continue
			}
			mk, text := mark(p.Opaque, "msg"), p.Text
			if mk.Apart {
				text = strings.TrimPrefix(text, apart)
			}
			it = saidItem(mk, text)
		case provider.ToolCall:
			if m.Partial {
				continue
			}
			args, _ := wire.Object(p.Input)
			it = inputItem{Type: "function_call", ID: mark(p.Opaque, "fc").ID, CallID: h.ids.Call(p.ID, m.Provider),
				Name: provider.ToolName(p.Name, nameLimit), Arguments: string(args)}
		default:
			continue
		}
		h.input, due = append(h.input, due...), nil
		if err := h.put(it); err != nil {
			return err
		}
	}
	return nil
}

// named reports whether the items of a message may have their ids, which are then in use.
func (h *responsesHistory) named(m provider.Message) bool {
	var ids []string
	for _, p := range m.Parts {
		id := ""
		switch p := p.(type) {
		case provider.Reasoning:
			_, id, _ = replayable(p, true)
		case provider.Text:
			id = readMark(p.Opaque, "msg").ID
		case provider.ToolCall:
			id = readMark(p.Opaque, "fc").ID
		}
		if id == "" {
			continue
		}
		if h.used[id] || slices.Contains(ids, id) {
			return false
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		h.used[id] = true
	}
	return true
}

// hasLost reports whether a message holds reasoning that cannot go back.
func (h *responsesHistory) hasLost(m provider.Message) bool {
	for _, p := range m.Parts {
		if r, ok := p.(provider.Reasoning); ok {
			if _, _, ok := replayable(r, true); !ok || h.learned.Forgotten(r.Opaque) {
				return true
			}
		}
	}
	return false
}

// replayable is the reasoning item of a part and its id, if the server can make something of it: nothing is
// stored there, so an item must bring its content along. It goes back as it came, except for fields the
// server writes and does not read, and for the id where it is not named.
func replayable(r provider.Reasoning, named bool) (raw json.RawMessage, id string, ok bool) {
	if r.Form != formItem || r.Opaque == "" {
		return nil, "", false
	}
	var it struct {
		Type      string            `json:"type"`
		ID        string            `json:"id"`
		Summary   []json.RawMessage `json:"summary"`
		Content   []json.RawMessage `json:"content"`
		Encrypted string            `json:"encrypted_content"`
	}
	raw = provider.CleanJSON([]byte(r.Opaque))
	if json.Unmarshal(raw, &it) != nil || it.Type != "reasoning" || it.Summary == nil || !ownID(it.ID, "rs") ||
		it.Encrypted == "" && len(it.Content) == 0 {
		return nil, "", false
	}
	fields, ok := wire.Fields(raw)
	fields = slices.DeleteFunc(fields, func(f wire.Field) bool {
		return f.Name == "status" || string(f.Raw) == "null" || f.Name == "id" && !named
	})
	raw, err := wire.ObjectOf(fields)
	return raw, it.ID, ok && err == nil
}

func appendInput(parts []inputPart, text string) []inputPart {
	if wire.Blank(text) {
		return parts
	}
	return append(parts, inputPart{Type: "input_text", Text: text})
}

func inputImage(img provider.Image) inputPart {
	return inputPart{Type: "input_image", Detail: "auto", ImageURL: dataURL(img)}
}
