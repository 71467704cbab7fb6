package export

import (
	"encoding/json"
	"strings"

	"artoo/provider"
	"artoo/tool/diff"
)

// said is a message as it is shown and exported in JSON: with the results that came later.
type said struct {
	Role     provider.Role `json:"role"` // user or assistant
	Provider string        `json:"provider,omitempty"`
	Model    string        `json:"model,omitempty"`
	Answered string        `json:"answered,omitempty"` // where another model than that did
	Partial  bool          `json:"partial,omitempty"`
	Items    []*item       `json:"items"`
}

// heading is the heading of a message of the user's, "" of an answer.
func (s said) heading() string {
	switch {
	case s.Role != provider.RoleUser:
		return ""
	case len(s.Items) > 0 && s.Items[0].Note == provider.NoteSummary:
		return "Summary"
	}
	return "You"
}

// item is a piece of a message.
type item struct {
	Type   string          `json:"type"` // text, reasoning, image, call
	Text   string          `json:"text,omitempty"`
	Note   provider.Note   `json:"note,omitempty"` // set on text that artoo wrote in the user's place
	Image  *imageInfo      `json:"image,omitempty"`
	ID     string          `json:"id,omitempty"` // id of a call
	Name   string          `json:"name,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	Raw    string          `json:"raw,omitempty"` // input as the model sent it, when it was not an object
	Result *outcome        `json:"result,omitempty"`
}

// outcome is the result of a call.
type outcome struct {
	Text    string      `json:"text"`
	IsError bool        `json:"is_error,omitempty"`
	File    string      `json:"file,omitempty"` // where the whole is, when the text was cut
	Images  []imageInfo `json:"images,omitempty"`
}

// imageInfo stands for an image, whose data is left out.
type imageInfo struct {
	MediaType string `json:"media_type"`
	Bytes     int    `json:"bytes"`
}

func imageInfoOf(i provider.Image) imageInfo { return imageInfo{i.MediaType, i.Len()} }

// transcript brings each call together with its result.
func transcript(messages []provider.Message) []said {
	all := []said{}
	open := map[string][]*item{} // calls without a result, by id
	for _, m := range messages {
		s := said{Role: m.Role, Provider: m.Provider, Model: m.Model, Answered: m.Answered, Partial: m.Partial,
			Items: []*item{}}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.Text:
				s.Items = append(s.Items, &item{Type: "text", Text: p.Text, Note: p.Note})
			case provider.Reasoning:
				if p.Text != "" {
					s.Items = append(s.Items, &item{Type: "reasoning", Text: p.Text})
				}
			case provider.Image:
				image := imageInfoOf(p)
				s.Items = append(s.Items, &item{Type: "image", Image: &image})
			case provider.ToolCall:
				call := &item{Type: "call", ID: p.ID, Name: p.Name, Input: p.Input, Raw: p.Raw}
				call.unwrap()
				s.Items = append(s.Items, call)
				open[p.ID] = append(open[p.ID], call)
			case provider.ToolResult:
				call := &item{Type: "call", ID: p.CallID, Name: p.Name}
				if waiting := open[p.CallID]; len(waiting) > 0 {
					call, open[p.CallID] = waiting[0], waiting[1:]
				} else { // its call was lost with a damaged line
					s.Role, s.Items = provider.RoleAssistant, append(s.Items, call)
				}
				call.Result = &outcome{Text: p.Text, IsError: p.IsError, File: p.File}
				for _, i := range p.Images {
					call.Result.Images = append(call.Result.Images, imageInfoOf(i))
				}
			}
		}
		if m.Role != provider.RoleTool || len(s.Items) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// unwrap makes of a call of mcp_call the one that it meant, by the name that it has elsewhere.
func (c *item) unwrap() {
	var in struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if c.Name != "mcp_call" || json.Unmarshal(c.Input, &in) != nil || !strings.HasPrefix(in.Tool, "mcp__") {
		return
	}
	if c.Name, c.Input = in.Tool, in.Arguments; c.Input == nil {
		c.Input = json.RawMessage("{}")
	}
}

// input holds the names of calls' arguments, whatever the tool.
type input struct {
	Command string `json:"command"`
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	URL     string `json:"url"`
	Query   string `json:"query"`
	Content string `json:"content"`
	replacement
	Edits []replacement `json:"edits"`
}

type replacement struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
}

func (c *item) arguments() (in input, ok bool) {
	err := json.Unmarshal(c.Input, &in)
	return in, err == nil
}

// object is the object of a call, in the words of its input.
func (c *item) object() string {
	in, ok := c.arguments()
	for _, text := range []string{in.Command, in.Pattern, in.URL, in.Query} {
		switch {
		case !ok || text == "":
		case in.Path == "":
			return text
		default:
			return text + " in " + in.Path
		}
	}
	switch {
	case ok && in.Path != "":
		return in.Path
	case c.Raw != "":
		return c.Raw
	case len(c.Input) == 0 || string(c.Input) == "{}":
		return ""
	}
	return string(c.Input)
}

// change is the change that a call was to make, as a diff without line numbers, which are
// unknown; "" without a change.
func (c *item) change() string {
	in, ok := c.arguments()
	if !ok {
		return ""
	}
	edits := in.Edits
	if in.replacement != (replacement{}) {
		edits = append(edits, in.replacement)
	}
	if in.Content != "" {
		edits = append(edits, replacement{New: in.Content})
	}
	var parts []string
	for _, e := range edits {
		if text := lineDiff(e.Old, e.New); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

func lineDiff(before, after string) string {
	var b strings.Builder
	hunks := false
	for line := range strings.Lines(diff.Compare("", "", closed(before), closed(after)).String()) {
		if !hunks || strings.HasPrefix(line, "@@") { // headers, and where each hunk would be
			hunks = hunks || strings.HasPrefix(line, "@@")
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// closed ends a text with a newline, so that the diff has nothing to say of it.
func closed(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
