package permission

import (
	"testing"

	"artoo/tool"
)

// A call that touches several paths is allowed by a rule that covers all of them, and
// denied or asked about by one that covers any.
func TestARuleForACallWithSeveralPaths(t *testing.T) {
	t.Parallel()
	both, docs := []string{"/p/docs/a.md", "/p/src/b.go"}, []string{"/p/docs/a.md", "/p/docs/b.md"}
	for _, row := range []struct {
		name             string
		allow, ask, deny string
		paths            []string
		verdict          Verdict
	}{
		{"allow covers one of two", "write(docs/**)", "", "", both, Ask},
		{"the other first", "write(src/**)", "", "", both, Ask},
		{"allow covers both", "write(docs/**)", "", "", docs, Run},
		{"deny covers one of two", "write", "", "write(docs/**)", both, Refuse},
		{"deny covers the second", "write", "", "write(src/**)", both, Refuse},
		{"ask covers one of two", "write", "write(src/**)", "", both, Ask},
		{"none covers any", "write(lib/**)", "", "", both, Ask},
	} {
		p := &Policy{Mode: ModeAsk, Root: "/p"}
		for text, rules := range map[string]*[]Rule{row.allow: &p.AllowRules, row.ask: &p.AskRules,
			row.deny: &p.DenyRules} {
			if text == "" {
				continue
			}
			r, err := ParseRule(text)
			if err != nil {
				t.Fatal(err)
			}
			*rules = []Rule{r}
		}
		p.Bind(nil)
		for _, name := range []string{"apply_patch", "write"} {
			if got := p.Decide(name, tool.Access{Kind: tool.KindWrite, Paths: row.paths}); got.Verdict != row.verdict {
				t.Errorf("%s: %s is %s, not %s", row.name, name, got.Verdict, row.verdict)
			}
		}
	}
}
