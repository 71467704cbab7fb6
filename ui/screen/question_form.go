package screen

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"artoo/agent"
	"artoo/tool/mcp"
	texts "artoo/tool/text"
)

// FormField prints a question for one field of a server's form, also when Quiet is set, and
// returns the line to ask with. Of the first field, and of a form without fields, it also shows
// the server's message.
func (s *Screen) FormField(q agent.Question, i int) (prompt string) {
	form := *q.Form
	lay := s.layout
	var b strings.Builder
	if i == 0 {
		b.WriteString(lay.prose(lay.oneLine(line("the MCP server "+form.Asker()+" asks: "+form.Message)), lay.before("question: ")))
	}
	if len(form.Fields) == 0 {
		s.asks(q, b.String())
		return lay.asks() + answering + lay.words("[yes, no, cancel] ", "Type yes, no or cancel. ")
	}
	f := form.Fields[i]
	name := f.Name
	if f.Title != "" && f.Title != f.Name {
		name += " (" + f.Title + ")"
	}
	head := fmt.Sprintf("%s, for %s", name, form.Server)
	if len(form.Fields) > 1 {
		head = fmt.Sprintf("%d of %d: %s", i+1, len(form.Fields), head)
	}
	if f.Description != "" {
		head += ": " + f.Description
	}
	b.WriteString(lay.prose(line(head), lay.before("")))
	var choices []string
	for _, c := range f.Choices {
		text := c.Value
		if c.Title != "" && c.Title != c.Value {
			text += ": " + c.Title
		}
		choices = append(choices, text)
	}
	b.WriteString(lay.numbered(choices))
	if f.Default != nil {
		b.WriteString(lay.prose(line("the server suggests: "+FieldText(f.Default)+" (type default to take it)"), lay.before("")))
	}
	s.asks(q, b.String())
	keys := strings.Join(fieldKeys(f), ", ")
	return lay.asks() + answering + lay.words("["+keys+"] ", "Type "+keys+". ")
}

// asks prints the text of a question.
func (s *Screen) asks(q agent.Question, text string) {
	s.do(func(t *transcript) {
		t.beginAsking()
		Approval{q}.begin(t)
		t.must(text)
	})
}

// fieldKeys are the answers that a field takes.
func fieldKeys(f mcp.Field) []string {
	keys := []string{map[mcp.FieldType]string{
		mcp.BooleanField: "yes, no", mcp.NumberField: "a number", mcp.IntegerField: "a whole number",
		mcp.ChoiceField:  fmt.Sprintf("1-%d", len(f.Choices)),
		mcp.ChoicesField: fmt.Sprintf("numbers from 1-%d with commas", len(f.Choices)),
	}[f.Type]}
	if keys[0] == "" {
		keys[0] = cmp.Or(map[string]string{"date": "a date like 2026-01-31", "date-time": "a time like 2026-01-31T09:30:00Z",
			"email": "an email address", "uri": "an address like https://example.org"}[f.Format], "your words")
	}
	if f.Default != nil {
		keys = append(keys, "default")
	}
	if !f.Required {
		keys = append(keys, "skip")
	}
	return append(keys, "cancel")
}

// FieldText is a value of a form in words.
func FieldText(value any) string {
	if list, ok := value.([]any); ok {
		var words []string
		for _, v := range list {
			words = append(words, fmt.Sprint(v))
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprint(value)
}

// AddressQuestion asks whether an address that a server wants to be visited is opened. Its texts
// come from outside.
type AddressQuestion struct{ Server, Message, URL string }

func (q AddressQuestion) host() string {
	u, err := url.Parse(q.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

func (q AddressQuestion) show(b *asking) {
	b.what = "address"
	b.remark("the MCP server " + b.oneRow(q.Server) + " asks: " + strings.TrimSuffix(b.oneRow(texts.Clip(q.Message, 1000)), "."))
	address, host := b.oneRow(q.URL), b.oneRow(q.host())
	before := b.lay.words(b.lay.body(), "address: ")
	rows := b.lay.fold([]string{address}, before, b.lay.body(), b.cut)
	if b.cut && host != "" {
		rows[0] = strings.Replace(rows[0], host, b.lay.ink(bold).Sprint(host), 1)
	}
	b.rows(rows)
	b.remark("the host is " + host)
	if Disguised(q.host()) {
		b.remark("warning: this host has letters that are not ASCII, and may look like another one")
	}
}

// Disguised reports whether a host may look like another one: it is written in punycode, or has
// characters that are not ASCII.
func Disguised(host string) bool {
	return !texts.IsASCII(host) || slices.ContainsFunc(strings.Split(strings.ToLower(host), "."),
		func(label string) bool { return strings.HasPrefix(label, "xn--") })
}

func (q AddressQuestion) prompt(lay *layout) string { return lay.confirmLine(q, "open", q.host()) }

func (q AddressQuestion) keys() [][2]string {
	return [][2]string{{"y", "open it in the browser"}, {"n", "do not open it; the server gets a no"}}
}

func (q AddressQuestion) decided(yes bool) string {
	if yes {
		return "yes"
	}
	return "not opened"
}
