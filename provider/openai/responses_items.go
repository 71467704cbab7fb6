package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

type outputItem struct {
	kind    string
	mark    itemMark
	callID  string
	name    string
	text    strings.Builder // the answer or the reasoning so far
	args    strings.Builder
	raw     json.RawMessage // a reasoning item as it came when it was done
	section section         // section of the last piece of reasoning
	refused bool
	done    bool
	// How events speak of it: by the place in the output, -1 where none is named, and the newest ID.
	index     int
	id        string
	announced bool // its start was reported
	place     int  // among all items
}

// section is a part of an item's reasoning: one of its summaries, or of its texts.
type section struct {
	of string
	n  int
}

// itemHead is an item as events bring it, in the fields that matter here.
type itemHead struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Phase     string          `json:"phase"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Content   []itemPart      `json:"content"`
	Summary   []itemPart      `json:"summary"`
}

type itemPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// find is the item of an event, by index, ID, or as the newest open one of its kind; or a new one.
// Beside an index the ID, of which some gateways make another in each event, counts for an item
// without one, or where items of several kinds share the index.
func (d *responsesDecoder) find(index *int, id, kind string) *outputItem {
	shared := false
	o := d.newest(func(o *outputItem) bool {
		here := index != nil && o.index == *index
		shared = shared || here && !o.fits(kind)
		return here && o.fits(kind)
	})
	switch {
	case o != nil:
	case id != "":
		o = d.newest(func(o *outputItem) bool {
			return o.isCalled(id) && o.fits(kind) && (index == nil || shared || o.index < 0)
		})
	case index == nil:
		if o = d.newest(func(o *outputItem) bool { return o.kind == kind }); o != nil && o.done {
			o = nil
		}
	}
	if o == nil {
		o = d.begin(kind)
	}
	if index != nil {
		o.index = *index
	}
	o.id = cmp.Or(id, o.id)
	return o
}

func (o *outputItem) fits(kind string) bool { return o.kind == kind || o.kind == "" }

func (o *outputItem) isCalled(id string) bool { return id != "" && (o.id == id || o.mark.ID == id) }

// maxOpen is how many of the newest items an event may speak of: a reply of very many must not
// be searched whole for each event.
const maxOpen = 256

// newest is the newest item of which is is true, or nil.
func (d *responsesDecoder) newest(is func(*outputItem) bool) *outputItem {
	for _, o := range slices.Backward(d.items[max(0, len(d.items)-maxOpen):]) {
		if is(o) {
			return o
		}
	}
	return nil
}

func (d *responsesDecoder) begin(kind string) *outputItem {
	o := &outputItem{kind: kind, index: -1, place: len(d.items)}
	d.items = append(d.items, o)
	return o
}

// added is the item that an event begins: a new one, unless a delta came before.
func (d *responsesDecoder) added(index *int, it *itemHead) *outputItem {
	o := d.find(index, it.ID, it.Type)
	if o.announced && (it.ID == "" || o.mark.ID != it.ID) {
		old := o
		o = d.begin(it.Type)
		o.index, o.id = old.index, it.ID
	}
	o.announced = true
	return o
}

func (d *responsesDecoder) open(o *outputItem, it *itemHead) {
	if it.Type != "" {
		o.kind = it.Type
	}
	for _, f := range []struct {
		to   *string
		from string
	}{{&o.mark.ID, it.ID}, {&o.mark.Phase, it.Phase}, {&o.callID, it.CallID}, {&o.name, it.Name}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
}

// close takes a finished item, and shows the text of it that no delta brought.
func (d *responsesDecoder) close(o *outputItem, it *itemHead, raw json.RawMessage) {
	o.done = true
	switch o.kind {
	case "message":
		var whole, refusal strings.Builder
		for _, p := range it.Content {
			whole.WriteString(p.Text)
			refusal.WriteString(p.Refusal)
		}
		if rest, ok := strings.CutPrefix(whole.String(), o.text.String()); ok {
			d.text(o, rest)
		}
		if !o.refused && refusal.Len() > 0 {
			o.refused = true
			d.refusal.WriteString(refusal.String())
		}
	case "reasoning":
		o.raw = raw
		if o.text.Len() > 0 {
			return
		}
		for n, p := range it.Summary {
			d.reasoning(o, section{"summary", n}, p.Text)
		}
		for n, p := range it.Content {
			d.reasoning(o, section{"content", n}, p.Text)
		}
	case "function_call":
		o.setArguments(wire.Text(it.Arguments))
	case "custom_tool_call":
		o.setArguments(plain(it.Input))
	default:
		d.leaveOut(o.kind)
	}
}

// leaveOut reports, once for each kind, items of the server's own tools.
func (d *responsesDecoder) leaveOut(kind string) {
	kind = strings.ToValidUTF8(kind[:min(len(kind), maxKind)], "")
	if len(d.unrecognized) < maxUnrecognized && !slices.Contains(d.unrecognized, kind) {
		d.unrecognized = append(d.unrecognized, kind)
		d.Pending = append(d.Pending,
			provider.Notice{Text: "a part of the reply was not asked for and is left out: " + kind})
	}
}

// dropCustomCalls leaves out calls with free text as input that the server itself ran, as an answer
// after them shows: artoo offers none. Any other is reported to the model.
func (d *responsesDecoder) dropCustomCalls() {
	answered := false
	for _, o := range slices.Backward(d.items) {
		if o.kind == "custom_tool_call" && answered {
			d.leaveOut(o.kind)
			o.kind = ""
		}
		answered = answered || o.kind == "message" && o.text.Len() > 0
	}
}

// These bound the kinds of items that are reported, and the length of a name, in bytes.
const (
	maxUnrecognized = 8
	maxKind         = 60
)

// arguments adds a piece to a call's arguments; "" is the call's beginning.
func (d *responsesDecoder) arguments(o *outputItem, piece string) {
	o.args.WriteString(piece)
	d.Called(o.name, o.place, len(piece))
}

// setArguments puts the whole arguments in the place of the pieces, unless they are empty.
func (o *outputItem) setArguments(whole string) {
	if whole != "" && whole != o.args.String() {
		o.args.Reset()
		o.args.WriteString(whole)
	}
}

// text adds to an answer. A second one in the same reply stands apart.
func (d *responsesDecoder) text(o *outputItem, s string) {
	if s == "" {
		return
	}
	shown := s
	if o.text.Len() == 0 {
		if d.spoken != nil && d.spoken != o && !strings.HasSuffix(d.spoken.text.String(), "\n") && !strings.HasPrefix(s,
			"\n") {
			o.mark.Apart, shown = true, apart+s
		}
		d.spoken = o
	}
	o.text.WriteString(s)
	d.Pending = append(d.Pending, provider.TextDelta{Text: shown})
}

// reasoning adds to the readable reasoning; its sections stand apart.
func (d *responsesDecoder) reasoning(o *outputItem, at section, s string) {
	if s == "" {
		return
	}
	if o.text.Len() > 0 && at != o.section {
		s = "\n\n" + s
	}
	o.section = at
	d.Reason(&o.text, s)
}

// complete takes of a finished response the items that the stream lacked or left open.
func (d *responsesDecoder) complete(output []json.RawMessage) {
	streamed := d.items[:min(len(d.items), maxOpen)]
	for n, raw := range output {
		var it itemHead
		if wire.Decode(raw, &it) != nil {
			continue
		}
		o := d.match(n, &it, streamed)
		if o == nil {
			seen := slices.ContainsFunc(streamed, func(o *outputItem) bool { return o.kind == it.Type })
			if seen && it.Type != "function_call" {
				continue // most likely one that was seen under another id
			}
			o = d.begin(it.Type)
		}
		if !o.done {
			d.open(o, &it)
			d.close(o, &it, raw)
		}
	}
}

// match finds the streamed item that the n-th one of the output repeats.
func (d *responsesDecoder) match(n int, it *itemHead, streamed []*outputItem) *outputItem {
	for _, is := range []func(*outputItem) bool{
		func(o *outputItem) bool { return o.callID != "" && o.callID == it.CallID },
		func(o *outputItem) bool { return o.kind == it.Type && o.isCalled(it.ID) },
		func(o *outputItem) bool { return o.kind == it.Type && o.index == n },
	} {
		if o := d.newest(is); o != nil {
			return o
		}
	}
	if n < len(streamed) && streamed[n].kind == it.Type && streamed[n].index < 0 {
		return streamed[n]
	}
	return nil
}
