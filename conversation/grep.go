package conversation

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"artoo/provider"
	"artoo/tool/text"
)

// Match is a message with the words; artoo sessions grep --json prints it.
type Match struct {
	Session Info          `json:"session"`
	Time    time.Time     `json:"time"`
	Role    provider.Role `json:"role"`
	Text    string        `json:"text"` // one line around the first of the words
}

// Around a word that was found so many characters are shown.
const (
	matchBefore = 30
	matchChars  = 120
)

// Grep finds messages with all of the words, in any case, in text, calls and results, trimmed or
// not. do gets the matches in the order of List and of the file; false skips the rest of the
// session. only chooses sessions, nil for all. Unreadable files are skipped.
func (st Store) Grep(words []string, only func(Info) bool, do func(Match) bool) error {
	infos, err := st.List()
	if err != nil {
		return err
	}
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = strings.ToLower(w)
	}
	for _, info := range infos {
		if only == nil || only(info) {
			if err := grepFile(info, lower, do); err != nil && !os.IsNotExist(err) && !os.IsPermission(err) {
				return fileError(info.Path, err)
			}
		}
	}
	return nil
}

func grepFile(info Info, words []string, do func(Match) bool) error {
	f, err := os.Open(info.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	done := false
	_, _, err = eachLine(f, func(_ place, _ int, line []byte) {
		// Lines that another program wrote are read whole: words may be escaped in them.
		if b, own := parseBeginning(line); done || own && (string(b.kind) != typeMessage || !mayHold(line, words)) {
			return
		}
		e, err := decodeEntry(line)
		record, ok := e.payload.(*messageRecord)
		if err != nil || !ok {
			return
		}
		m := record.Message
		text := searched(m)
		lower := strings.ToLower(text)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(lower, w) }) {
			done = !do(Match{info, e.Time, m.Role, around(text, words[0])})
		}
	})
	return err
}

// mayHold passes over lines quickly: a word of plain letters stands in JSON as it is.
func mayHold(line []byte, words []string) bool {
	var lower []byte
	for _, w := range words {
		if strings.ContainsFunc(w, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= utf8.RuneSelf }) {
			continue
		}
		if lower == nil {
			lower = bytes.ToLower(line)
		}
		if !bytes.Contains(lower, []byte(w)) {
			return false
		}
	}
	return true
}

func searched(m provider.Message) string {
	var b strings.Builder
	for _, part := range m.Parts {
		switch p := part.(type) {
		case provider.Text:
			b.WriteString(p.Text)
		case provider.ToolCall:
			b.WriteString(p.Name + " " + plainJSON(p.Input) + p.Raw)
		case provider.ToolResult:
			b.WriteString(p.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// plainJSON is the decoded strings of a call's input, or an input that is no object itself.
func plainJSON(input json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(input, &fields) != nil {
		return string(input)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if s, ok := fields[name].(string); ok {
			all = append(all, s)
			continue
		}
		if value, err := json.Marshal(fields[name]); err == nil {
			all = append(all, string(value))
		}
	}
	return strings.Join(all, "\n")
}

func around(said, word string) string {
	at := max(0, strings.Index(strings.ToLower(said), word))
	from := min(at, len(said)) // lower case may be of another length
	for n := 0; n < matchBefore && from > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(said[:from])
		from -= size
	}
	cut := said[from:min(len(said), from+8*matchChars)]
	line := text.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(cut, "")), " "), matchChars)
	if from > 0 {
		line = "…" + line
	}
	return line
}
