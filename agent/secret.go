package agent

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/text"
)

// maskMark matches the mark of a key, also as a model may write it in JSON.
var maskMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:‹|\\u2039)secret:[0-9a-f]{4}(?:[0-9a-f]{8})?(?:›|\\u203[aA])`)
})

// maskedEffects are effects as people see them.
func maskedEffects(e permission.Effects, mask func(string) string) *permission.Effects {
	by := map[permission.What][]permission.Entry{}
	for what, entries := range e.By {
		for _, entry := range entries {
			by[what] = append(by[what], permission.Entry{Path: mask(entry.Path), Detail: mask(entry.Detail)})
		}
	}
	e.By = by
	return &e
}

// fileHeader reports whether line i of a diff names the changed file; an added "++" never follows
// a "--- ".
func fileHeader(lines []string, i int) bool {
	return i > 0 && strings.HasPrefix(lines[i], "+++ ") && strings.HasPrefix(lines[i-1], "--- ")
}

// marked is the first mark in a call's input, "" for none: the model meant the key.
func marked(input string) string {
	return strings.NewReplacer(`\u2039`, "‹", `\u203a`, "›", `\u203A`, "›").Replace(maskMark().FindString(input))
}

// jsonText matches the texts of a JSON document, in their quotes.
var jsonText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"`) })

// maskedJSON masks a JSON document, also where it writes a key with escapes.
func (s *session) maskedJSON(document []byte) []byte {
	if s == nil || s.opt.Secrets.Mask == nil || len(document) == 0 {
		return document
	}
	out := inTexts(document, s.masked)
	if whole := []byte(s.masked(string(out))); json.Valid(whole) || !json.Valid(out) {
		return whole
	}
	return out
}

// inTexts changes the texts of a JSON document.
func inTexts(document []byte, change func(string) string) []byte {
	return jsonText().ReplaceAllFunc(document, func(quoted []byte) []byte {
		var plain string
		if json.Unmarshal(quoted, &plain) != nil {
			return quoted
		}
		if changed := change(plain); changed != plain {
			return tool.Quoted(changed)
		}
		return quoted
	})
}

// shown is a call as front ends get it. Its diff is masked already, except for the text that the call writes.
func (s *session) shown(c Call) Call {
	c.Input, c.Raw = s.maskedJSON(c.Input), s.masked(c.Raw)
	a := &c.Access
	for _, text := range []*string{&a.Object, &a.Command, &a.To, &a.Unconfined, &a.Why, &a.Address} {
		*text = s.masked(*text)
	}
	return c
}

// shownQuestion is a question as front ends get it.
func (s *session) shownQuestion(q Question) Question {
	q.Call = s.shown(q.Call)
	q.Reason, q.Plan, q.Text = s.masked(q.Reason), s.masked(q.Plan), s.masked(q.Text)
	if q.Effects != nil {
		q.Effects = maskedEffects(*q.Effects, s.masked)
	}
	if q.Form != nil {
		form := *q.Form
		form.Message = s.masked(form.Message)
		q.Form = &form
	}
	return q
}

// unmasked is an edited input, with the keys of the input that was shown in place of their marks.
func (s *session) unmasked(edited, shown []byte) []byte {
	if s == nil || s.opt.Env == nil || s.opt.Env.Secrets == nil || marked(string(edited)) == "" {
		return edited
	}
	var pairs []string
	inTexts(shown, func(text string) string {
		for _, secret := range s.opt.Env.Secrets(text) {
			pairs = append(pairs, secret.Mark, text[secret.From:secret.To])
		}
		return text
	})
	return inTexts(edited, strings.NewReplacer(pairs...).Replace)
}

// maskedDiff masks the parts that are in the file already. The model's text is shown as it is: the approver must see
// it, and it is no secret of the file.
func (s *session) maskedDiff(diff string) string {
	if s.opt.Secrets.Mask == nil || s.opt.Secrets.Mask(diff) == diff {
		return diff
	}
	lines := strings.SplitAfter(diff, "\n")
	known := map[string]bool{}
	for i := 0; i < len(lines); i++ {
		from := i
		for i < len(lines) && !(strings.HasPrefix(lines[i], "+") && !fileHeader(lines, i)) {
			i++
		}
		if from == i {
			continue
		}
		whole := s.opt.Secrets.Mask(strings.Join(lines[from:i], "")) // together: a private key has many lines
		clear(lines[from:i])
		lines[from] = whole
		for _, mark := range maskMark().FindAllString(whole, -1) {
			known[mark] = true
		}
	}
	for i, line := range lines {
		if strings.HasPrefix(line, "+") {
			m := s.opt.Secrets.Mask(line)
			unknown := func(mark string) bool { return !known[mark] }
			if !slices.ContainsFunc(maskMark().FindAllString(m, -1), unknown) {
				lines[i] = m
			}
		}
	}
	return strings.Join(lines, "")
}

// heldText masks a text that comes in pieces. It holds back a possible beginning of a key.
type heldText struct {
	mask func(string) string
	held string
}

func (h *heldText) add(piece []byte) string {
	whole := h.held + string(piece)
	cut := maskable(whole)
	h.held = whole[cut:]
	return h.mask(whole[:cut])
}

func (h *heldText) rest() string { return h.mask(h.held) }

// Bounds of live output that is held back.
const (
	longestKey   = 4 << 10 // bytes of a word that may be a key
	longestBlock = 8 << 10 // and of a private key
)

// maskable is how much of a command's output so far can be masked and shown: not a word at its
// end, Bearer without its word, or a private key that has only begun.
func maskable(output string) int {
	end := strings.LastIndexAny(output, " \t\r\n") + 1
	if before := strings.TrimRight(output[:end], " "); strings.HasSuffix(before, "earer") { // the key is the word behind it
		end = strings.LastIndexAny(before, " \t\r\n") + 1
	}
	if len(output)-end > longestKey {
		end = len(text.Cut(output, len(output)-utf8.UTFMax))
	}
	at := strings.LastIndex(output, "-----BEGIN ")
	if at < 0 || len(output)-at > longestBlock {
		return end
	}
	_, last, _ := strings.Cut(output[at:], "-----END ")
	if _, behind, whole := strings.Cut(last, "-----"); !whole || end < len(output)-len(behind) {
		end = min(end, at)
	}
	return end
}

// maskedFile is a file with marks in place of keys. It is made when the first text comes.
type maskedFile struct {
	name string
	text heldText
	file *os.File
}

func (f *maskedFile) Write(p []byte) (int, error) {
	return len(p), f.write(f.text.add(p))
}

func (f *maskedFile) write(text string) (err error) {
	if text == "" {
		return nil
	}
	if f.file == nil {
		if f.file, err = os.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
	}
	_, err = f.file.WriteString(text)
	return err
}

func (f *maskedFile) Close() error {
	err := f.write(f.text.rest())
	if f.file == nil {
		return err
	}
	return f.file.Close()
}

func (s *session) keepOutput(id string) (io.WriteCloser, string, error) {
	dir := s.outputDir()
	if dir == "" {
		return nil, "", nil
	}
	name := filepath.Join(dir, "background-"+id+"-"+rand.Text()[:6]+".txt")
	return &maskedFile{name: name, text: heldText{mask: s.masked}}, name, nil
}
