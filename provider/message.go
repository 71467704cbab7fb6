package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif" // the kinds of images whose heads are read
	_ "image/jpeg"
	_ "image/png"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	_ "golang.org/x/image/webp"
)

// Role is the author of a message.
type Role string

// The three roles. The system prompt is a field of Request, not a message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // holds exactly one ToolResult; wires join neighbours as their protocol wants
)

// Message is one entry of the history. Its JSON is stable, since session files hold it.
type Message struct {
	Role  Role
	Parts []Part
	// Provider and Model made an assistant message; only they get its payloads back.
	Provider string
	Model    string
	// Answered is the model that the server says it was, where it is another; or "".
	Answered string
	// InsteadOf is the provider/model that was asked first, where this one answered in its place; or "".
	InsteadOf string
	// Partial marks an assistant message that broke off; it holds text only.
	Partial bool
}

// Part is a piece of a message: Text, Reasoning, Image, ToolCall or ToolResult.
// The set is sealed.
type Part interface{ partType() string }

// Text is plain words. Opaque is a payload that the wire wants back byte for byte. Note
// marks artoo's own words in the user's place; no wire sends it.
type Text struct {
	Note   Note   `json:"note,omitempty"`
	Text   string `json:"text"`
	Opaque string `json:"opaque,omitempty"`
	// Skill is the name of the skill that the user loads with it; "" for none. No wire sends it.
	Skill string `json:"skill,omitempty"`
}

// Note is the subject of artoo's own note to a model.
type Note string

// The notes. Their texts are the words of session files.
const (
	NoteMode         Note = "mode"         // the approval mode is another one now
	NoteSettings     Note = "settings"     // so are other facts of the prompt
	NoteInstructions Note = "instructions" // instruction files that have changed
	NoteGit          Note = "git"          // the repository as the session begins
	NoteBackground   Note = "background"   // background commands that have ended
	NoteServers      Note = "servers"      // tools of MCP servers that have changed
	NoteUndo         Note = "undo"         // files that the user brought back
	NoteReview       Note = "review"       // findings of a review that the user asked for
	NoteHook         Note = "hook"         // hooks add it
	NoteSchema       Note = "schema"       // the schema that the answer has to fit, or how it did not
	NoteReminder     Note = "reminder"     // said between two steps; the newest alone is sent
	NoteSummary      Note = "summary"      // stands for messages no longer sent
)

// Reasoning is the model's thought. Text may be "" (withheld). Opaque is the wire's proof
// of it (signature, encrypted content), kept byte for byte. Form is the wire's word for its
// shape, such as "thinking".
type Reasoning struct {
	Text   string `json:"text,omitempty"`
	Form   string `json:"form,omitempty"`
	Opaque string `json:"opaque,omitempty"`
}

// FormSession is the Form of a part with a provider's own session: a broken reply keeps it.
const FormSession = "cli_session"

// Image is an image for models that see. Data is raw, not base64. Name is its file's, may
// be "". Session files hold Bytes and SHA256 (hexadecimal) in place of Data, which is a
// file beside the session.
type Image struct {
	MediaType string `json:"media_type"`
	Data      []byte `json:"data,omitempty"`
	Name      string `json:"name,omitempty"`
	Bytes     int    `json:"bytes,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
}

// Len is the number of bytes of the image, whether they are here or in a file.
func (i Image) Len() int { return max(len(i.Data), i.Bytes) }

// ToolCall is the model's wish to run a tool. Input is always a JSON object without
// duplicate keys. If the model sent another text, Raw keeps it, Input is {} or has the last
// values, and the call is answered with the problem and never run.
type ToolCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Raw    string          `json:"raw,omitempty"`
	Opaque string          `json:"opaque,omitempty"`
}

// ToolResult answers the call with the same id.
type ToolResult struct {
	CallID  string  `json:"call_id"`
	Name    string  `json:"name"`
	Text    string  `json:"text"`
	Images  []Image `json:"images,omitempty"`
	IsError bool    `json:"is_error,omitempty"`
	File    string  `json:"file,omitempty"` // where the whole output is, when Text was cut
	By      string  `json:"by,omitempty"`   // the hook that answered the question about the call; no wire sends it
	// Effect is that of the call, or nil; no wire sends it.
	Effect *Effect `json:"effect,omitempty"`
}

// Effect lists the effects of a tool's call apart from its result.
type Effect struct {
	Files   []string `json:"files,omitempty"`   // the files it changed
	Command string   `json:"command,omitempty"` // the command it ran
	End     string   `json:"end,omitempty"`     // how the command ended, a few words
	// Decided is the user's decision, one sentence: an answer, a call refused.
	Decided string `json:"decided,omitempty"`
}

func (Text) partType() string       { return "text" }
func (Reasoning) partType() string  { return "reasoning" }
func (Image) partType() string      { return "image" }
func (ToolCall) partType() string   { return "tool_call" }
func (ToolResult) partType() string { return "tool_result" }

// UserText makes a user message of text followed by the attachments.
func UserText(text string, attachments ...Part) Message {
	return Message{Role: RoleUser, Parts: append([]Part{Text{Text: text}}, attachments...)}
}

// Text joins the message's text parts.
func (m Message) Text() string {
	if len(m.Parts) == 1 { // most answers; they can be long, so no copy is made
		t, _ := m.Parts[0].(Text)
		return t.Text
	}
	var b strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Own reports whether artoo itself says the message, in the user's place.
func (m Message) Own() bool {
	if m.Role != RoleUser || len(m.Parts) == 0 {
		return false
	}
	t, _ := m.Parts[0].(Text)
	return t.Note != ""
}

// Calls lists the message's tool calls in order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

type messageJSON[P any] struct {
	Role      Role   `json:"role"`
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model,omitempty"`
	Answered  string `json:"answered,omitempty"`
	InsteadOf string `json:"instead_of,omitempty"`
	Partial   bool   `json:"partial,omitempty"`
	Parts     []P    `json:"parts"`
}

// MarshalJSON writes each part as an object whose first key is "type".
func (m Message) MarshalJSON() ([]byte, error) {
	out := messageJSON[Part]{Role: m.Role, Provider: m.Provider, Model: m.Model, Answered: m.Answered,
		InsteadOf: m.InsteadOf, Partial: m.Partial, Parts: []Part{}}
	line, err := Marshal(out)
	if err != nil {
		return nil, err
	}
	// The parts are put between the brackets by hand: a long answer would be
	// copied three times more if each level were encoded on its own.
	line = line[:len(line)-len("]}")]
	for i, p := range m.Parts {
		if i > 0 {
			line = append(line, ',')
		}
		if line, err = appendPart(line, p); err != nil {
			return nil, err
		}
	}
	return append(line, "]}"...), nil
}

// UnmarshalJSON reads the form of MarshalJSON. A part of an unknown type is an error.
func (m *Message) UnmarshalJSON(data []byte) error {
	var in messageJSON[partJSON]
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*m = Message{Role: in.Role, Provider: in.Provider, Model: in.Model, Answered: in.Answered, InsteadOf: in.InsteadOf, Partial: in.Partial}
	if len(in.Parts) > 0 {
		m.Parts = make([]Part, len(in.Parts))
	}
	for i := range in.Parts {
		var err error
		if m.Parts[i], err = in.Parts[i].part(); err != nil {
			return err
		}
	}
	return nil
}

// partJSON has the fields of every kind of part, so that a message is read in one pass.
type partJSON struct {
	Type      string          `json:"type"`
	Note      Note            `json:"note"`
	Text      string          `json:"text"`
	Form      string          `json:"form"`
	Opaque    string          `json:"opaque"`
	Skill     string          `json:"skill"`
	MediaType string          `json:"media_type"`
	Data      []byte          `json:"data"`
	Bytes     int             `json:"bytes"`
	SHA256    string          `json:"sha256"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Raw       string          `json:"raw"`
	CallID    string          `json:"call_id"`
	Images    []Image         `json:"images"`
	IsError   bool            `json:"is_error"`
	File      string          `json:"file"`
	By        string          `json:"by"`
	Effect    *Effect         `json:"effect"`
}

func (p *partJSON) part() (Part, error) {
	switch p.Type {
	case "text":
		return Text{Note: p.Note, Text: p.Text, Opaque: p.Opaque, Skill: p.Skill}, nil
	case "reasoning":
		return Reasoning{Text: p.Text, Form: p.Form, Opaque: p.Opaque}, nil
	case "image":
		return Image{MediaType: p.MediaType, Data: p.Data, Name: p.Name, Bytes: p.Bytes, SHA256: p.SHA256}, nil
	case "tool_call":
		return ToolCall{ID: p.ID, Name: p.Name, Input: p.Input, Raw: p.Raw, Opaque: p.Opaque}, nil
	case "tool_result":
		return ToolResult{CallID: p.CallID, Name: p.Name, Text: p.Text, Images: p.Images, IsError: p.IsError, File: p.File,
			By: p.By, Effect: p.Effect}, nil
	}
	return nil, fmt.Errorf("unknown message part %q", p.Type)
}

func appendPart(line []byte, p Part) ([]byte, error) {
	body, err := Marshal(p)
	if err != nil {
		return nil, err
	}
	line = fmt.Appendf(line, `{"type":%q`, p.partType())
	if string(body) != "{}" {
		line = append(line, ',')
	}
	return append(line, body[1:]...), nil
}

// Marshal encodes v without escaping <, > and &: prompt caches compare bytes.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// CleanJSON replaces invalid UTF-8 and lone surrogates in a JSON text, which strict parsers
// refuse and encoding/json accepts.
func CleanJSON(raw []byte) []byte {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	return escapes().ReplaceAllFunc(raw, func(escape []byte) []byte {
		if len(escape) == len(`\ud800`) {
			return []byte(`\ufffd`)
		}
		return escape
	})
}

// escapes are a whole pair of surrogates, a surrogate alone, or any other escape.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.`)
})

// DuplicateKey finds a key that one object of a JSON text has twice, at any depth.
func DuplicateKey(raw []byte) (key string, twice bool) {
	if !json.Valid(raw) {
		return "", false
	}
	return duplicateIn(json.NewDecoder(bytes.NewReader(raw)), func(key string) string { return key })
}

// AmbiguousKey is DuplicateKey for a text that is decoded into a struct: encoding/json takes "Answer" for "answer", and the
// last of the two would count. It also takes the long s for an s, and only ToUpper changes that letter.
func AmbiguousKey(raw []byte) (key string, twice bool) {
	if !json.Valid(raw) {
		return "", false
	}
	return duplicateIn(json.NewDecoder(bytes.NewReader(raw)), func(key string) string { return strings.ToLower(strings.ToUpper(key)) })
}

// duplicateIn finds a key whose form another key of its object has, too.
func duplicateIn(d *json.Decoder, form func(key string) string) (key string, twice bool) {
	token, err := d.Token()
	open, nested := token.(json.Delim)
	if err != nil || !nested {
		return "", false
	}
	keys := map[string]bool{}
	for d.More() {
		if open == '{' {
			token, _ := d.Token()
			name, _ := token.(string)
			if keys[form(name)] {
				return name, true
			}
			keys[form(name)] = true
		}
		if key, twice := duplicateIn(d, form); twice {
			return key, true
		}
	}
	_, _ = d.Token() // the end of the object or list
	return "", false
}

// Texts of repair in the places where something has to stand.
const (
	noResult     = "interrupted, no result"
	noStart      = "(The start of this conversation is not available.)"
	continueText = "Continue."
)

// Repair returns the history in the shape that every API accepts. It begins with a user
// message and does not end with an assistant's. Every call has exactly one result after its
// message, in order: results are moved, made up as errors, or dropped. IDs are unique,
// names valid, inputs objects. Empty parts and messages go; a partial message keeps text
// and its provider's session. Strings are valid UTF-8. Opaque payloads stay. Messages stay
// as they are, and are returned if nothing is wrong. The result for a longer history begins
// with that for a shorter one, so that caches hold. Repair is pure and linear.
func Repair(messages []Message) []Message { return repair(messages, false) }

// RepairPaused is Repair for a history that ends with a reply that a server paused.
func RepairPaused(messages []Message) []Message { return repair(messages, true) }

func repair(messages []Message, paused bool) []Message {
	if len(messages) == 0 {
		return messages
	}
	r := repairer{
		paused:  paused,
		last:    len(messages) - 1,
		used:    make(map[string]bool),
		again:   make(map[string]int),
		waiting: make(map[string][]*slot),
	}
	for _, m := range messages {
		r.add(m)
	}
	return r.finish(messages)
}

type slot struct {
	call   ToolCall
	result *Message // nil until it came
	source int
}

// turn is a message of the repaired history with the results that follow it.
type turn struct {
	message Message
	source  int // index in the original history
	slots   []*slot
}

type repairer struct {
	turns   []turn
	used    map[string]bool    // call ids given out
	again   map[string]int     // how often an id was given out once more
	waiting map[string][]*slot // slots without a result, by the original call ID
	read    int                // messages seen
	last    int                // index of the last message
	paused  bool               // such a reply may be the last message
	changed bool
}

func (r *repairer) add(m Message) {
	source := r.read
	r.read++
	role := m.Role
	switch role {
	case RoleUser, RoleAssistant, RoleTool:
	default:
		role = RoleUser
		r.changed = true
	}
	t := turn{message: m, source: source}
	t.message.Role = role
	var parts []Part
	results, cut := 0, false
	for _, p := range m.Parts {
		if result, ok := p.(ToolResult); ok {
			results++
			r.result(m, result, source, len(m.Parts) == 1 && role == RoleTool)
			continue
		}
		kept, same := r.part(p, &t, m.Partial)
		cut = cut || !same
		if kept != nil {
			parts = append(parts, kept)
		}
	}
	if role == RoleTool {
		if results != 1 || len(m.Parts) != 1 {
			r.changed = true
		}
		return
	}
	if results > 0 || cut {
		r.changed = true
		t.message.Parts = parts
	}
	stays := r.paused && source == r.last && len(t.message.Parts) > 0
	if !stays && !slices.ContainsFunc(t.message.Parts, func(p Part) bool { _, ok := p.(Reasoning); return !ok }) {
		r.changed = true // empty, or nothing but reasoning
		return
	}
	r.turns = append(r.turns, t)
}

// part returns the part as it may be sent, or nil, and whether it is the very same.
func (r *repairer) part(p Part, t *turn, partial bool) (kept Part, same bool) {
	role := t.message.Role
	if role == RoleTool {
		return nil, false
	}
	switch p := p.(type) {
	case Text:
		fixed := p
		fixed.Text = validUTF8(p.Text)
		if partial || role != RoleAssistant {
			fixed.Opaque = "" // a payload is the model's own
		}
		if fixed.Opaque == "" && strings.TrimSpace(fixed.Text) == "" {
			return nil, false
		}
		return fixed, fixed == p
	case Image:
		if role != RoleUser || !usable(p) {
			return nil, false
		}
		return p, true
	case Reasoning:
		if role != RoleAssistant || partial && p.Form != FormSession {
			return nil, false
		}
		fixed := p
		fixed.Text = validUTF8(p.Text)
		return fixed, fixed == p
	case ToolCall:
		if role != RoleAssistant || partial {
			return nil, false
		}
		fixed := r.call(p, t)
		return fixed, fixed.ID == p.ID && fixed.Name == p.Name && fixed.Raw == p.Raw && bytes.Equal(fixed.Input, p.Input)
	}
	return nil, false
}

func (r *repairer) call(c ToolCall, t *turn) ToolCall {
	fixed := c
	fixed.ID = r.id(c.ID)
	fixed.Name = ToolName(c.Name, 128)
	fixed.Raw = validUTF8(c.Raw)
	if !isObject(c.Input) {
		if c.Raw == "" {
			fixed.Raw = validUTF8(string(c.Input))
		}
		fixed.Input = json.RawMessage("{}")
	} else {
		fixed.Input = CleanJSON(c.Input)
	}
	// A later result answers this message's calls, not an earlier one's with the same id.
	if open := r.waiting[c.ID]; len(open) > 0 && !slices.Contains(t.slots, open[0]) {
		delete(r.waiting, c.ID)
	}
	s := &slot{call: fixed}
	t.slots = append(t.slots, s)
	r.waiting[c.ID] = append(r.waiting[c.ID], s)
	return fixed
}

// result puts a result into the oldest slot that waits for it. alone: m holds nothing else.
func (r *repairer) result(m Message, result ToolResult, source int, alone bool) {
	open := r.waiting[result.CallID]
	if len(open) == 0 {
		r.changed = true
		return
	}
	s := open[0]
	r.waiting[result.CallID] = open[1:]
	fixed := result
	fixed.CallID, fixed.Name = s.call.ID, s.call.Name
	fixed.Text = validUTF8(result.Text)
	if slices.ContainsFunc(result.Images, func(img Image) bool { return !usable(img) }) {
		fixed.Images = slices.DeleteFunc(slices.Clone(result.Images), func(img Image) bool { return !usable(img) })
	}
	same := fixed.CallID == result.CallID && fixed.Name == result.Name && fixed.Text == result.Text &&
		len(fixed.Images) == len(result.Images)
	s.source = source
	if same && alone {
		s.result = &m
		return
	}
	r.changed = true
	s.result = &Message{Role: RoleTool, Parts: []Part{fixed}}
}

func (r *repairer) finish(original []Message) []Message {
	out := make([]Message, 0, len(original)+2)
	emit := func(m Message, source int) {
		if source != len(out) {
			r.changed = true // moved, or something before it came or went
		}
		out = append(out, m)
	}
	if len(r.turns) > 0 && r.turns[0].message.Role != RoleUser {
		emit(UserText(noStart), -1)
	}
	for _, t := range r.turns {
		emit(t.message, t.source)
		for _, s := range t.slots {
			if s.result == nil {
				missing := ToolResult{CallID: s.call.ID, Name: s.call.Name, Text: noResult, IsError: true}
				emit(Message{Role: RoleTool, Parts: []Part{missing}}, -1)
				continue
			}
			emit(*s.result, s.source)
		}
	}
	if n := len(out); n == 0 || out[n-1].Role == RoleAssistant && !r.paused {
		emit(UserText(continueText), -1)
	}
	if !r.changed {
		return original
	}
	return out
}

// id returns an unused call ID, which depends only on the earlier calls.
func (r *repairer) id(id string) string {
	stem := cmp.Or(strings.ToValidUTF8(id, "_"), "unknown")
	id = stem
	for r.used[id] {
		r.again[stem]++
		id = stem + "-" + strconv.Itoa(r.again[stem]+1)
	}
	r.used[id] = true
	return id
}

// usable reports whether an image can be sent at all.
func usable(img Image) bool { return len(img.Data) > 0 && img.MediaType != "" }

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func isObject(raw json.RawMessage) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(raw)
}

// Identifier is s cut to most bytes, with _ for all but ASCII letters, digits, _ and -.
func Identifier(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), most)]
}

// ToolName is a tool's name as an API takes it; models call tools by any name.
func ToolName(name string, most int) string { return cmp.Or(Identifier(name, most), "unknown") }

// Size is the image's width and height in pixels, 0 and 0 if its head does not say.
func (i Image) Size() (width, height int) {
	config, _, err := image.DecodeConfig(bytes.NewReader(i.Data))
	if err != nil {
		return 0, 0
	}
	return config.Width, config.Height
}

// Tokens estimates the cost of an image in tokens as the Messages API counts it: width × height / 750, and no more than
// for the size to which servers scale images down. Other APIs are near it.
func (i Image) Tokens() int {
	const most, least = 1600, 85
	w, h := i.Size()
	if w == 0 || h == 0 {
		return most
	}
	return int(min(max(int64(w)*int64(h)/750, least), most))
}

// Instead is the sentence that stands for an image, with why it is not here.
func (i Image) Instead(why string) string {
	name := strings.ToValidUTF8(i.Name, "\uFFFD")
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		name = strconv.Quote(name)
	}
	words := "image"
	if name != "" {
		words += " " + name
	}
	if w, h := i.Size(); w > 0 && h > 0 {
		words += fmt.Sprintf(", %dx%d", w, h)
	}
	return "[" + words + ": " + why + "]"
}

// imageLimits are the images that one request may hold.
type imageLimits struct {
	count int // images
	bytes int // limit for one image
	total int // bytes of all
	edge  int // pixels of the longer side
	crowd int // more images than this
	small int // may have no longer side than this
}

// limitsOf is the narrower gateways' limits, or those of an API that takes more.
func limitsOf(provider string) imageLimits {
	l := imageLimits{count: 50, bytes: 3_900_000, total: 14 << 20, edge: 8000, crowd: 20, small: 2000}
	if facts, _ := FactsOf(provider); facts.ManyImages {
		l.count, l.total = 100, 20<<20
	}
	return l
}

func takenTypes() []string { return []string{"image/jpeg", "image/png", "image/gif", "image/webp"} }

// FitImages replaces the images that the model must not be sent by a sentence: all for a
// model that does not see, else unusable ones and the oldest beyond the limit, a quarter of
// it at a time, so that a request stays a prefix of the next. told names the omitted images.
// Messages stay as they are, and are returned if nothing is left out.
func FitImages(messages []Message, info ModelInfo) (fit []Message, told string) {
	all := Images(messages)
	if len(all) == 0 {
		return messages, ""
	}
	f := imageFitter{limits: limitsOf(info.Provider), why: make([]string, len(all))}
	switch {
	case !info.Images:
		told = fmt.Sprintf("%s cannot see images: it gets only the name and size of %s", info.ID, counted(len(all)))
		if info.Guess {
			told += fmt.Sprintf(" (if it does see: images = true under [provider.%s.models.%q] in config.toml)",
				info.Provider,
				info.ID)
		}
		for i := range f.why {
			f.why[i] = "this model cannot see images"
		}
	default:
		if n := f.choose(all); n > 0 {
			told = fmt.Sprintf("%s left out of the request: too old, too large or of a kind that the model does not take",
				counted(n))
		}
	}
	if told == "" {
		return messages, ""
	}
	fit = slices.Clone(messages)
	for i := range fit {
		f.message(&fit[i])
	}
	return fit, told
}

// LeaveOut replaces each image that refused selects by a sentence, in a copy.
func LeaveOut(messages []Message, refused func(Image) bool) []Message {
	var f imageFitter
	for _, img := range Images(messages) {
		why := ""
		if refused(img) {
			why = "left out, the server refused it; a smaller copy may do"
		}
		f.why = append(f.why, why)
	}
	out := slices.Clone(messages)
	for i := range out {
		f.message(&out[i])
	}
	return out
}

func counted(n int) string {
	if n == 1 {
		return "1 image"
	}
	return fmt.Sprintf("%d images", n)
}

// Images are the images of a history in their order.
func Images(messages []Message) []Image {
	var all []Image
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case Image:
				all = append(all, p)
			case ToolResult:
				all = append(all, p.Images...)
			}
		}
	}
	return all
}

type imageFitter struct {
	limits imageLimits
	why    []string // one an image; "" means that it is sent
	next   int      // the image that comes next
}

func (f *imageFitter) choose(all []Image) (left int) {
	l := f.limits
	count, total := 0, 0
	for i, img := range all {
		w, h := img.Size()
		switch {
		case !slices.Contains(takenTypes(), img.MediaType):
			f.why[i] = "left out, models take JPEG, PNG, GIF and WebP"
		case len(img.Data) > l.bytes || max(w, h) > l.edge || len(all) > l.crowd && max(w, h) > l.small:
			f.why[i] = "left out, it is too large; a smaller copy can be read"
		default:
			count++
			total += len(img.Data)
		}
	}
	oldest, bytes := steps(count, l.count), steps(total, l.total)
	for i, img := range all {
		if f.why[i] == "" && (oldest > 0 || bytes > 0) {
			f.why[i] = "left out to make room; read it again if it is needed"
			oldest--
			bytes -= len(img.Data)
		}
		if f.why[i] != "" {
			left++
		}
	}
	return left
}

// steps is how much of n goes where only limit fits, in whole quarters of the limit.
func steps(n, limit int) int {
	if n <= limit {
		return 0
	}
	quarter := max(1, limit/4)
	return (n - limit + quarter - 1) / quarter * quarter
}

func (f *imageFitter) message(m *Message) {
	changed := false
	parts := slices.Clone(m.Parts)
	for i, p := range parts {
		switch p := p.(type) {
		case Image:
			if why := f.of(); why != "" {
				parts[i], changed = Text{Text: p.Instead(why)}, true
			}
		case ToolResult:
			images, text := p.Images, p.Text
			p.Images = nil
			for _, img := range images {
				why := f.of()
				if why == "" {
					p.Images = append(p.Images, img)
					continue
				}
				if text != "" {
					text += "\n"
				}
				text += img.Instead(why)
			}
			if len(p.Images) != len(images) {
				p.Text = text
				parts[i], changed = p, true
			}
		}
	}
	if changed {
		m.Parts = parts
	}
}

func (f *imageFitter) of() string {
	f.next++
	return f.why[f.next-1]
}
