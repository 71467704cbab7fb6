package permission

import (
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/sweep"
)

// A placeRow is a line of testdata/places.txt: the verdict in each mode, on which terms. The values of a group stand in
// a line before it:
//
//	## CLASS: MODE=EFFECT … | allow RULE | deny RULE
//
// MODE is one of artoo's where all can be confined, landlock (auto on
// Landlock beside .git) or none (ask, nothing confines). EFFECT is the place where the
// line runs unasked, ?PLACE where it runs after a yes, or deny. ␤ ends a line.
type placeRow struct {
	class, line string
	want        map[string]string
	rules       []string
}

func placeRows(t *testing.T) (rows []placeRow) {
	t.Helper()
	var group placeRow
	for _, l := range linesOf(t, "places.txt") {
		head, ok := strings.CutPrefix(l, "## ")
		if !ok {
			row := group
			row.line = strings.ReplaceAll(l, "␤", "\n")
			rows = append(rows, row)
			continue
		}
		parts := strings.Split(head, " | ")
		class, modes, ok := strings.Cut(parts[0], ": ")
		if !ok {
			t.Fatalf("a group without a class: %s", l)
		}
		group = placeRow{class: class, rules: parts[1:], want: map[string]string{}}
		for _, field := range strings.Fields(modes) {
			mode, want, _ := strings.Cut(field, "=")
			group.want[mode] = want
		}
	}
	return rows
}

// policyFor is a policy in a mode of the table, with its rules.
func (r placeRow) policyFor(t *testing.T, base *Policy, mode string) *Policy {
	t.Helper()
	p := *base
	p.session = nil
	switch mode {
	case "landlock":
		p.Mode, p.Confinement = ModeAuto, Confinement{Sandbox: true}
	case "none":
		p.Mode, p.Confinement = ModeAsk, Confinement{}
	default:
		p.Mode = Mode(mode)
	}
	for _, text := range r.rules {
		list, rule, _ := strings.Cut(text, " ")
		parsed, err := ParseRule(rule)
		if err != nil {
			t.Fatal(err)
		}
		switch list {
		case "allow":
			p.AllowRules = append(p.AllowRules, parsed)
		case "ask":
			p.AskRules = append(p.AskRules, parsed)
		case "deny":
			p.DenyRules = append(p.DenyRules, parsed)
		default:
			t.Fatalf("%s is no list of rules", list)
		}
	}
	p.Bind(nil)
	return &p
}

// spelled is a decision as the table has it.
func spelled(d Decision) string {
	place := string(d.Place)
	if d.Place == PlaceHost {
		place = "host"
	}
	switch d.Verdict {
	case Refuse:
		return "deny"
	case Ask:
		return "?" + place
	}
	return place
}

func placesPolicy(t *testing.T) *Policy {
	t.Helper()
	root, p := harmlessTree(t, ModeAsk)
	p.Confinement = Confinement{Sandbox: true, Layer: true, ByEntry: true}
	for _, name := range []string{"build.sh", "build.py", "build.js", "lost/x", ".env", "AGENTS.md", "README.md"} {
		putFile(t, filepath.Join(root, name), "x\n")
	}
	p.World.Environ = nil // Programs installed here do not matter.
	return p
}

func TestWhereAnyLineRunsInEachMode(t *testing.T) {
	t.Parallel()
	base := placesPolicy(t)
	rows := placeRows(t)
	for _, i := range sweep.Cases(t, 80, len(rows)) {
		r := rows[i]
		for mode, want := range r.want {
			d := r.policyFor(t, base, mode).Decide("bash", tool.Access{Kind: tool.KindRun, Command: r.line, Dir: base.Root})
			if got := spelled(d); got != want {
				t.Errorf("%s: %s %q: %s: %s (%s), expected %s", r.class, mode, r.rules, r.line, got, d.Reason(), want)
			}
		}
	}
	classes := map[string]int{}
	for _, r := range rows {
		first, _, _ := strings.Cut(strings.ReplaceAll(r.class, ",", " "), " ")
		classes[first]++
	}
	full := 0
	for _, n := range classes {
		if n >= 20 {
			full++
		}
	}
	if len(rows) < 400 || full < 10 {
		t.Errorf("%d lines, %d classes with 20 or more of them: %v", len(rows), full, classes)
	}
}
