package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"artoo/agent"
)

// spokenCall is a call in a sentence.
func (s *Screen) spokenCall(c agent.Call, result string) string {
	text := "tool: " + callVerb(c)
	if object := s.object(c); object != "" {
		text += " " + object
	}
	if result != "" {
		text += ", " + spokenSize(result)
	}
	return s.wrap(text+".", "", "")
}

// size is how the size of a change is written.
var size = regexp.MustCompile(`^\+(\d+) -(\d+)$`)

// spokenSize says the size of a change in words; other results are words
// already.
func spokenSize(result string) string {
	if m := size.FindStringSubmatch(result); m != nil {
		return lineCount(m[1]) + " added, " + m[2] + " removed"
	}
	return result
}

func lineCount(n string) string {
	if n == "1" {
		return "1 line"
	}
	return n + " lines"
}

// spokenCommand says a command: one line in the sentence, more between two
// sentences, so that its end is heard.
func (s *Screen) spokenCommand(b *strings.Builder, verb string, shown []string, more int, cut bool) {
	if len(shown) == 1 && more == 0 {
		b.WriteString(s.head(verb, s.short(shown[0], cut)) + "\n")
		return
	}
	fmt.Fprintf(b, "%s:\n", s.head(verb, count(len(shown)+more, "line")))
	for _, l := range shown {
		b.WriteString(s.short(l, cut) + "\n")
	}
	s.more(b, more)
	b.WriteString("end command.\n")
}

// spokenInput says each field of a call's input in a line, "name: value";
// what is nested stays JSON. input is valid.
func spokenInput(input []byte) string {
	d := json.NewDecoder(bytes.NewReader(input))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return string(input)
	}
	var b strings.Builder
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return string(input)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return string(input)
		}
		text := string(value)
		if value[0] == '"' && json.Unmarshal(value, &text) != nil {
			return string(input)
		}
		fmt.Fprintf(&b, "%v: %s\n", name, text)
	}
	return strings.TrimRight(b.String(), "\n")
}

// spokenKeys says what the letters of a question mean; capitals and marks by
// name, since a voice makes no difference between a and A.
func (s *Screen) spokenKeys(rows [][2]string) string {
	var b strings.Builder
	for _, r := range rows {
		key := r[0]
		switch key {
		case "":
			key = "or"
		case "A":
			key = "capital A"
		case "?":
			key = "question mark"
		}
		b.WriteString(s.wrap(key+": "+line(r[1])+".", "", ""))
	}
	return b.String()
}
