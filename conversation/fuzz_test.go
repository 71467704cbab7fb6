package conversation

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"artoo/provider"
	"artoo/tool/sweep"

	"github.com/google/go-cmp/cmp"
)

// script turns bytes into a conversation: each byte or two is a thing that
// happens.
type script struct {
	t    testing.TB
	data []byte
	c    *Conversation
	said []provider.Message // messages as appended and kept, untrimmed
	call int
	// recent says that results of the last steps were once shortened.
	recent bool
	// answers says that answers in the last steps once were.
	answers bool
	gone    int // messages of the user that were left out
	// compacts has the script sum up and take back too: then only the form of the
	// history is checked.
	compacts bool
}

func (s *script) next() int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b)
}

// text is up to 12,000 bytes in one of several alphabets, most often little.
func (s *script) text() string {
	n := s.next()
	word := []string{"word ", "日本語", "a line of text\n", "🎉", "{\"k\":[1,2]},"}[n%5]
	return "x" + strings.Repeat(word, 1+n*n/16*(1+n%3)/len(word))
}

func (s *script) add(m provider.Message) {
	must(s.t, s.c.Append(m))
	s.said = append(s.said, m)
}

func (s *script) step() {
	m := provider.Message{Role: provider.RoleAssistant, Provider: "p", Model: "m"}
	shape := s.next()
	if shape&1 != 0 {
		m.Parts = append(m.Parts, provider.Reasoning{Text: s.text(), Form: "thinking",
			Opaque: strings.Repeat("c2ln", shape)})
	}
	calls := shape >> 1 & 3
	if shape&8 != 0 || calls == 0 {
		m.Parts = append(m.Parts, provider.Text{Text: s.text(), Opaque: strings.Repeat("o", shape&1)})
	}
	for range calls {
		s.call++
		m.Parts = append(m.Parts, provider.ToolCall{ID: fmt.Sprint("call", s.call), Name: "bash",
			Input: []byte(`{"command":"ls"}`)})
	}
	s.add(m)
	for _, call := range m.Calls() {
		r := provider.ToolResult{CallID: call.ID, Name: call.Name, Text: s.text(), IsError: shape&16 != 0}
		if shape&32 != 0 {
			r.Images = []provider.Image{{MediaType: "image/png", Data: []byte{1}}}
		}
		kept, err := s.c.AppendToolResult(r)
		must(s.t, err)
		s.said = append(s.said, provider.Message{Role: provider.RoleTool, Parts: []provider.Part{kept}})
	}
}

func (s *script) run() {
	s.add(user(s.text()))
	for len(s.data) > 0 {
		op := s.next()
		if s.compacts && op%8 == 7 {
			s.compact(op)
			continue
		}
		switch op % 16 {
		case 0:
			s.add(user(s.text()))
		case 1:
			s.add(provider.UserText(s.text(), provider.Image{MediaType: "image/png", Data: []byte{2}},
				provider.Text{Text: s.text()}))
		case 2:
			s.add(provider.Message{Role: provider.RoleAssistant, Partial: true,
				Parts: []provider.Part{provider.Text{Text: s.text()}}})
		case 3:
			sum := s.c.EstimatedTokens()
			s.c.Messages()
			s.c.Observe(provider.Usage{Input: sum * (50 + s.next()) / 100, Output: s.next()})
		case 4:
			s.c.SetBudget(500 + 60*s.next())
		case 5, 6, 7:
			s.trim(s.c.Trim, trimShare*float64(s.c.Budget()))
		case 8:
			s.trim(func() (Trimmed, error) { return s.c.TrimHard(true) }, hardShare*float64(s.c.EstimatedTokens())+1)
		default:
			s.step()
		}
	}
}

// trim trims and checks the reported numbers.
func (s *script) trim(trim func() (Trimmed, error), goal float64) {
	t, c := s.t, s.c
	before, budget, was := c.EstimatedTokens(), c.Budget(), cloned(c.Messages())
	trimmed, err := trim()
	if err != nil && !isFull(err) {
		t.Fatal(err)
	}
	after := c.EstimatedTokens()
	if isFull(err) { // A trim that would not suffice is not made.
		if after != before || trimmed != (Trimmed{}) || !reflect.DeepEqual(c.Messages(), was) {
			t.Fatalf("%+v, %d -> %d tokens, and it does not fit", trimmed, before, after)
		}
		return
	}
	s.recent = s.recent || trimmed.Recent > 0
	s.answers = s.answers || trimmed.RecentTexts > 0
	s.gone += trimmed.Messages
	if trimmed == (Trimmed{}) {
		if before > budget || after != before {
			t.Fatalf("%d of %d tokens and nothing done", before, budget)
		}
		return
	}
	if trimmed.Before != before || trimmed.After != after || after > before {
		t.Fatalf("claims %d -> %d, is %d -> %d", trimmed.Before, trimmed.After, before, after)
	}
	if sum := sizeOfAll(c.items); sum != c.size {
		t.Fatalf("the size is %+v, not %+v", sum, c.size)
	}
	// Compact makes what it can; Trim says so where the user's latest message alone does not fit.
	if err == nil && after > budget && budget > 0 && len(stepsOf(c.items)) > 0 {
		t.Fatalf("%d of %d tokens and no error", after, budget)
	}
	// Only when all that may go is gone may it stay above three quarters.
	if steps := len(stepsOf(c.items)); float64(after) > goal+1 && steps > keptSteps && trimmed.String() != "" {
		t.Fatalf("%d tokens with %d steps left, the goal is %.0f", after, steps, goal)
	}
	s.check()
}

// cloned is a copy that no change of messages, their parts or the bytes in these affects. Texts are shared, which makes
// comparing fast.
func cloned(messages []provider.Message) []provider.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Parts = slices.Clone(out[i].Parts)
		for k, part := range out[i].Parts {
			switch p := part.(type) {
			case provider.Image:
				p.Data = bytes.Clone(p.Data)
				out[i].Parts[k] = p
			case provider.ToolResult:
				p.Images = slices.Clone(p.Images)
				for n := range p.Images {
					p.Images[n].Data = bytes.Clone(p.Images[n].Data)
				}
				out[i].Parts[k] = p
			case provider.ToolCall:
				p.Input = bytes.Clone(p.Input)
				out[i].Parts[k] = p
			}
		}
	}
	return out
}

// check compares the history with all messages said.
func (s *script) check() {
	t, got := s.t, s.c.Messages()
	if !s.compacts && (len(got) == 0 || got[0].Role != provider.RoleUser && s.gone == 0) {
		t.Fatal("does not start with the user")
	}
	var open []provider.ToolCall
	for i, m := range got {
		if len(m.Parts) == 0 {
			t.Fatalf("message %d is empty", i)
		}
		if m.Role != provider.RoleTool && len(open) > 0 {
			t.Fatalf("message %d comes before the results of %v", i, open)
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.Text:
				if strings.TrimSpace(p.Text) == "" || !utf8.ValidString(p.Text) {
					t.Fatalf("message %d: text %q", i, p.Text)
				}
			case provider.ToolResult:
				if len(open) == 0 || open[0].ID != p.CallID || p.Name != open[0].Name ||
					strings.TrimSpace(p.Text) == "" || !utf8.ValidString(p.Text) {
					t.Fatalf("message %d: result %+v while %v wait", i, p, open)
				}
				open = open[1:]
			}
		}
		open = append(open, m.Calls()...)
	}
	if len(open) > 0 {
		t.Fatalf("no results of %v", open)
	}
	if s.compacts {
		return
	}
	s.checkUsers(got)
	s.checkRecent(got)
}

func usersOf(messages []provider.Message) (users []provider.Message) {
	for _, m := range messages {
		if m.Role == provider.RoleUser {
			users = append(users, m)
		}
	}
	return users
}

func (s *script) checkUsers(messages []provider.Message) {
	t, want, got := s.t, usersOf(s.said), usersOf(messages)
	if len(got) != len(want)-s.gone || len(got) == 0 {
		t.Fatalf("%d messages of the user, %d were left out, %d are left", len(want), s.gone, len(got))
	}
	want = want[s.gone:] // the oldest went
	for i := range want {
		// The mark and the text kept around it are longer than that.
		whole := i == len(want)-1 || len(want[i].Text()) <= 640
		for n, p := range want[i].Parts {
			switch p := p.(type) {
			case provider.Image:
				if i == len(want)-1 && !reflect.DeepEqual(got[i].Parts[n], any(p)) {
					t.Fatal("the latest message lost its image")
				}
			case provider.Text:
				now := got[i].Parts[n].(provider.Text).Text
				if whole && now != p.Text {
					t.Fatalf("message %d of the user became %.200q", i, now)
				}
				if now[:50%len(now)] != p.Text[:50%len(now)] {
					t.Fatalf("message %d of the user begins %.60q", i, now)
				}
			}
		}
	}
}

func (s *script) checkRecent(messages []provider.Message) {
	items := func(messages []provider.Message) (items []item) {
		for _, m := range messages {
			items = append(items, item{msg: m})
		}
		return items
	}
	tail := func(messages []provider.Message) (kept []provider.Message) {
		items := items(messages)
		for _, m := range messages[recentFrom(items, stepsOf(items)):] {
			if m.Role == provider.RoleUser {
				continue // checked by themselves
			}
			kept = append(kept, m)
		}
		return kept
	}
	want, got := tail(s.said), tail(messages)
	if s.recent { // then the texts of the results may differ, and nothing else
		want, got = withoutResults(want), withoutResults(got)
	}
	if s.answers { // then texts before the last message may be cut, and nothing else
		want = cutLike(want, got)
	}
	if !reflect.DeepEqual(want, got) { // far faster than cmp
		s.t.Fatalf("the last steps:\n%s", cmp.Diff(want, got))
	}
}

// cutLike is want with those texts of the model as they are in got that are a beginning and the mark of a cut.
func cutLike(want, got []provider.Message) []provider.Message {
	if len(want) != len(got) {
		return want
	}
	out := slices.Clone(want)
	for i, m := range out {
		if m.Role != provider.RoleAssistant || len(m.Parts) != len(got[i].Parts) {
			continue
		}
		out[i].Parts = slices.Clone(m.Parts)
		for n, part := range m.Parts {
			said, ok := part.(provider.Text)
			now, same := got[i].Parts[n].(provider.Text)
			if kept, cut := strings.CutSuffix(now.Text, " [... shortened to save room]"); ok && same && cut &&
				strings.HasPrefix(said.Text, kept) && len(kept) > textKept/2 {
				out[i].Parts[n] = now
			}
		}
	}
	return out
}

func withoutResults(messages []provider.Message) []provider.Message {
	var out []provider.Message
	for _, m := range messages {
		if m.Role == provider.RoleTool {
			r := m.Parts[0].(provider.ToolResult)
			m.Parts = []provider.Part{provider.ToolResult{CallID: r.CallID, Name: r.Name, IsError: r.IsError}}
		}
		out = append(out, m)
	}
	return out
}

func fuzzOnce(t testing.TB, data []byte, onDisk bool) {
	cfg := Config{MaxContextTokens: 2000, ToolResultMaxChars: 3000}
	var session *Session
	st := testStore(t)
	if onDisk {
		session = st.Create(testHeader())
		cfg.OutputDir = session.OutputDir()
	}
	s := &script{t: t, data: data, c: New(cfg, session)}
	s.run()
	if !onDisk {
		return
	}
	want := encoded(t, s.c.Messages())
	must(t, session.Close())
	again, err := st.Open(session.ID())
	must(t, err)
	if len(again.Notices()) > 0 || len(again.Messages()) != len(s.said) {
		t.Fatalf("%d of %d messages in the file, %q", len(again.Messages()), len(s.said), again.Notices())
	}
	if got := encoded(t, New(cfg, again).Messages()); got != want {
		t.Fatalf("resumed:\n%s", cmp.Diff(want, got))
	}
	must(t, again.Close())
}

func FuzzTrim(f *testing.F) {
	f.Add([]byte("a conversation of bytes \x05\x09\xff\xff\xff\x05\x0a\x7f\x80\x05\x08"), false)
	f.Add([]byte{200, 9, 255, 90, 90, 90, 90, 9, 7, 120, 120, 9, 14, 33, 44, 5, 0, 250, 9, 2, 80, 9, 4, 80, 8,
		4, 0, 5}, true)
	// The report on the steps that are gone takes the history above the goal again.
	f.Add([]byte("\t\xffZZdZ\t\a3\xde\xdaCP*xx\t\x0e!,\x05\x00\xfa\t\x02PZZd\t\x04P\b"), true)
	f.Fuzz(func(t *testing.T, data []byte, onDisk bool) {
		fuzzOnce(t, data[:min(len(data), 400)], onDisk)
	})
}

func TestAnyTrim(t *testing.T) {
	t.Parallel()
	for _, seed := range sweep.Cases(t, 8, 32) {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		data := make([]byte, 50+r.IntN(300))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { fuzzOnce(t, data, seed%8 == 0) })
	}
}
