package permission

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
	"artoo/tool/files"
)

// Said is a call of a kept session, with what a person said about it.
type Said struct {
	Tool, Object string
	// Dir is absolute; the call is seen from it. Narrow is the narrowest rule that would allow it; "" for none.
	Dir, Narrow string
	// Yes means that a yes was typed, No that the call was refused. A call that was not asked about has neither.
	Yes, No bool
}

// Suggestion is a rule that would have answered questions.
type Suggestion struct {
	Rule string `json:"rule"`
	// Questions counts the typed yeses that it would have saved, Calls are the calls to which they were typed. Also are
	// other calls of the sessions that it covers.
	Questions int      `json:"questions"`
	Calls     []string `json:"calls"`
	Also      []string `json:"also"`
	Remark    string   `json:"remark,omitempty"`

	call Said
}

// Suggest are the smallest rules that would have answered the typed yeses: one for each call, and in place of those for
// lines that begin with the same two words one for all of them, if it is accepted. None is for runs outside the
// sandbox, for a host alone, or covers a call that was refused.
func (p *Policy) Suggest(said []Said) []Suggestion {
	lines := map[string][]Said{}
	var first []string
	for _, s := range said {
		if start := p.startOf(s); s.Yes && start != "" {
			if lines[start] == nil {
				first = append(first, start)
			}
			lines[start] = append(lines[start], s)
		}
	}
	list := []Suggestion{}
	for _, start := range first {
		group := lines[start]
		if s, ok := p.suggest(prefixOf(group), group, said); ok {
			list = append(list, s)
			continue
		}
		seen := map[string]bool{}
		for _, one := range group {
			if s, ok := p.suggest(one.Narrow, []Said{one}, said); ok && !seen[s.Rule] {
				list = append(list, s)
			}
			seen[one.Narrow] = true
		}
	}
	slices.SortStableFunc(list, func(a, b Suggestion) int { return cmp.Compare(b.Questions, a.Questions) })
	return list
}

// startOf is what a call begins with: calls of one start may share a rule. It is "" for a call that gets no rule.
func (p *Policy) startOf(s Said) string {
	r, err := ParseRule(s.Narrow)
	if err != nil || r.Outside || !r.HasArg || r.Tool != "bash" && r.Tool != hostsTool && !writes(r.Tool) {
		return ""
	}
	d := p.Decide(s.Tool, s.access(p.Root))
	outside := d.Place == PlaceHost && p.Confinement.Sandbox && r.Tool == "bash"
	if outside || d.Has(RuleAllows) || d.Has(RulesAllow) {
		return ""
	}
	words, ok := line.Words(s.Object)
	if r.Tool != "bash" || !ok || len(words) < 3 {
		return s.Narrow
	}
	return words[0] + " " + words[1]
}

// access is the call as the policy sees it.
func (s Said) access(root string) tool.Access {
	// Suggest passes over a rule that cannot be read.
	r, _ := ParseRule(s.Narrow)
	if writes(r.Tool) {
		file := r.Arg
		if !filepath.IsAbs(file) {
			file = filepath.Join(root, file)
		}
		return tool.Access{Kind: tool.KindWrite, Object: s.Object, Paths: []string{path.Clean(file)}}
	}
	return tool.Access{Kind: tool.KindRun, Object: s.Object, Command: s.Object, Dir: s.Dir}
}

// prefixOf is the rule for all lines that begin as these do; "" where one line alone is there, or the words are quoted,
// name an interpreter or throw work away.
func prefixOf(group []Said) string {
	words, _ := line.Words(group[0].Object)
	different := false
	for _, s := range group[1:] {
		own, _ := line.Words(s.Object)
		n := 0
		for n < min(len(words), len(own)) && words[n] == own[n] {
			n++
		}
		words, different = words[:n], different || s.Object != group[0].Object
	}
	start := strings.Join(words, " ")
	quoted := func(s Said) bool { return !strings.HasPrefix(s.Object, start) || strings.Contains(start, "*") }
	switch {
	case !different, len(words) < 2, slices.ContainsFunc(group, quoted):
		return ""
	case line.Interprets(path.Base(words[0])), line.In("xargs env timeout nice sudo", words[0]):
		return ""
	}
	r := Rule{Tool: "bash", Arg: start + ":*", HasArg: true}
	if what, _ := (line.Command{Words: r.fixedWords()}).Destroys(); what != "" {
		return ""
	}
	return r.String()
}

// suggest is a rule that covers these calls with what else it covers; ok is false where it is not to be had.
func (p *Policy) suggest(rule string, calls, said []Said) (out Suggestion, ok bool) {
	r, err := ParseRule(rule)
	if err != nil || r.Tool != hostsTool && r.Tool != "bash" && files.HasMeta(r.Arg) {
		return out, false
	}
	for _, s := range calls {
		if _, err := p.Covers(rule, s.Tool, s.access(p.Root)); err != nil || p.covers(r, calls[0].Dir, s) != coversAll {
			return out, false
		}
	}
	out = Suggestion{Rule: r.String(), Remark: r.Remark(), Also: []string{}, call: calls[0]}
	for _, s := range said {
		covers := p.covers(r, calls[0].Dir, s)
		switch {
		case s.No && covers != coversNone:
			return out, false
		case covers != coversAll:
		case s.Yes:
			out.Questions++
			out.Calls = add(out.Calls, s.Object)
		default:
			out.Also = add(out.Also, s.Object)
		}
	}
	out.Also = slices.DeleteFunc(out.Also, func(object string) bool { return slices.Contains(out.Calls, object) })
	return out, true
}

func add(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// How much of a call a rule covers: nothing, a part of its line, or all that needs a rule.
const (
	coversNone = iota
	coversPart
	coversAll
)

// covers reports how much of a call an allow rule covers by itself, whatever the mode and the sandbox.
func (p *Policy) covers(r Rule, dir string, s Said) int {
	if r.Tool == hostsTool {
		if s.Narrow == r.String() || s.No && strings.HasSuffix(r.Arg, " for "+s.Object) {
			return coversAll
		}
		return coversNone
	}
	alone := Policy{Mode: ModeAsk, Root: p.Root, Dir: p.Dir, Shell: p.Shell, World: p.World}
	alone.AllowRules = []Rule{r.bind(dir, nil)}
	d := alone.Decide(s.Tool, s.access(p.Root))
	switch {
	case d.Has(RuleAllows), d.Has(RulesAllow):
		return coversAll
	case slices.ContainsFunc(d.Parts, func(part Part) bool { return part.Rule != "" }):
		return coversPart
	}
	return coversNone
}

// Allow allows the rule in the session of a policy, as the answer to a question does.
func (s Suggestion) Allow(p *Policy) error {
	return p.AllowInSession(s.Rule, s.call.Tool, s.call.access(p.Root))
}
