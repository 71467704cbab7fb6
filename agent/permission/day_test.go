package permission

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/files"
	"artoo/tool/sweep"
)

// dayPolicy is the policy of a project with the files for the lines of testdata/day.txt. Programs installed on this
// machine do not matter.
func dayPolicy(t *testing.T, mode Mode, trusts bool) *Policy {
	t.Helper()
	root, p := harmlessTree(t, mode)
	for _, name := range []string{"Makefile", "scripts/gen.py", "node_modules/.bin/tsc"} {
		putFile(t, filepath.Join(root, filepath.FromSlash(name)), "x\n")
	}
	p.Confinement = Confinement{Sandbox: true, Layer: true, ByEntry: true}
	p.TrustsPrograms, p.World.Environ = trusts, nil
	return p
}

// TestADayAsksLittleBeforehand counts the questions before the lines of a day's work.
// All that a line's own programs cause is one question, since the answers a and A
// speak of every own program of the project.
func TestADayAsksLittleBeforehand(t *testing.T) {
	t.Parallel()
	lines := linesOf(t, "day.txt")
	if len(lines) != 40 {
		t.Fatalf("a day has %d lines, not 40", len(lines))
	}
	for _, row := range []struct {
		mode   Mode
		trusts bool
		hosts  string
		most   int
	}{
		{ModeAsk, true, "", 8}, {ModeEdits, true, "", 8}, {ModeAuto, true, "", 8},
		{ModeAsk, false, "", 9}, {ModeEdits, false, "", 9}, {ModeAuto, false, "", 9},
		{ModeAsk, true, "@npm @pypi", 6}, {ModeEdits, true, "@npm @pypi", 6}, {ModeAuto, true, "@npm @pypi", 6},
		{ModeAsk, false, "@npm @pypi", 7}, {ModeEdits, false, "@npm @pypi", 7}, {ModeAuto, false, "@npm @pypi", 7},
	} {
		p := dayPolicy(t, row.mode, row.trusts)
		p.Confinement.Proxy = true
		p.Fetches = func(set string) (Fetches, error) { return Fetches{Hosts: []Host{{Name: set + ".example"}}}, nil }
		for set := range strings.FieldsSeq(row.hosts) {
			p.AllowRules = append(p.AllowRules, Rule{Tool: hostsTool, Arg: set, HasArg: true})
		}
		var asked []string
		own := 0
		for _, line := range lines {
			d := p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: line, Dir: p.Root})
			switch {
			case d.Verdict == Refuse:
				t.Errorf("%s: %s is refused: %s", row.mode, line, d.Reason())
			case d.Verdict == Ask && d.Place == PlaceLayer && d.Has(OwnPrograms):
				own++
			case d.Verdict == Ask:
				asked = append(asked, line+"   ("+d.Reason()+")")
			}
		}
		questions := len(asked) + min(own, 1)
		t.Logf("%s, trusted %v: %d questions, %d lines run own programs; the others:\n%s",
			row.mode, row.trusts, questions, own, strings.Join(asked, "\n"))
		if questions > row.most {
			t.Errorf("%s, trusted %v, hosts %q: %d questions, more than %d",
				row.mode, row.trusts, row.hosts, questions, row.most)
		}
		if row.trusts && own > 0 {
			t.Errorf("%s: %d lines ask about own programs that are trusted", row.mode, own)
		}
	}
}

// confinements are the ways to hold commands, by the kinds of machine.
var confinements = map[string]Confinement{
	"layers":                    {Sandbox: true, Layer: true, ByEntry: true},
	"namespaces without layers": {Sandbox: true, ByEntry: true},
	"Landlock":                  {Sandbox: true, Network: true},
	"none":                      {},
	"external":                  {External: true},
}

// The lines of a day, by kind: reading, system programs, the project's own programs, and lines that need more than the
// sandbox.
var dayOf = map[string]string{
	"reading": `git status|git diff --stat|rg -n TODO .|git log --oneline -5`,
	"system": `sed -n 1,80p main.go|cat package.json / jq .scripts|gofmt -l .|gofmt -w main.go|node -e "console.log(1)"|curl -s http://localhost:8080/health|mkdir -p out && cp a.txt out/|
		sed -i s/hello/bye/ a.txt|git add -A|git commit -m "work"|git switch -c feature|ps aux|lsof -i :8080|kill %9|env / sort / head`,
	"loss": "rm -rf out",
	"outside": `npm ci|pip install requests|docker ps|docker compose up -d|curl -s https://api.github.com/repos/x/y|git push origin HEAD|
		git pull --rebase|gh pr create --fill`,
}

// The decision on each line of a day is that of Rights on its kind, in every mode,
// confinement and trust, whether or not someone can answer. A decision is made in one
// goroutine: unless all cases are wanted, each line is tried in each confinement with one mode only, and
// the modes take turns.
func TestTheRightsHoldForAnyLineOfADay(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{}
	for kind, lines := range dayOf {
		for line := range strings.SplitSeq(lines, "|") {
			kinds[strings.ReplaceAll(strings.TrimSpace(line), " / ", " | ")] = kind
		}
	}
	p, lines := dayPolicy(t, ModeAsk, false), linesOf(t, "day.txt")
	for _, denied := range []bool{false, true} { // a file may not be read; git's history is searched for each new one
		if denied {
			putFile(t, filepath.Join(p.Root, ".env"), "X=1\n")
		}
		for row, name := range slices.Sorted(maps.Keys(confinements)) {
			can := confinements[name]
			if denied && can.Layer {
				continue // a layer hides it
			}
			for n, mode := range slices.Repeat([]Mode{ModeAsk, ModeEdits, ModeAuto, ModePlan}, 2) {
				p.Mode, p.Confinement, p.TrustsPrograms = mode, can, n >= 4
				rights := map[bool]Rights{true: p.Rights(true), false: p.Rights(false)}
				for i, line := range lines {
					if !sweep.Whole(t) && (i+row)%4 != n%4 {
						continue
					}
					kind := kinds[line]
					if kind == "reading" && denied {
						continue // those that read the denied file are asked about
					}
					d := p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: line, Dir: p.Root})
					for headless, r := range rights {
						want := map[string]Fate{"reading": r.Reading, "system": r.Commands, "loss": r.Commands,
							"outside": r.Outside, "": r.Own}[kind]
						if kind == "loss" && !can.Layer && want == Unasked && mode != ModePlan {
							want = r.fate(Ask)
						}
						if got := r.fate(d.Verdict); got != want {
							t.Errorf("%s, %s, denied %t, trusted %t, headless %t: %s: %s (%s), the rights say %s",
								name, mode, denied, p.TrustsPrograms, headless, line, got, d.Reason(), want)
						}
					}
				}
			}
		}
	}
}

// A timeout is a bound: the decision on a call is the same with each. Unless all cases are wanted, each
// line is tried in each confinement with one mode, as above.
func TestNoTimeoutChangesADecisionOfAnyDay(t *testing.T) {
	t.Parallel()
	p := dayPolicy(t, ModeAsk, false)
	files, err := files.Open(files.Config{Root: p.Root})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	bash := builtin.Bash(builtin.BashOptions{Path: "/bin/bash", Confined: true, Ask: true})
	plan := func(line string, timeout int) tool.Access {
		input := map[string]any{"command": line}
		if timeout > 0 {
			input["timeout"] = timeout
		}
		data, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		access, err := bash.Plan(t.Context(), &tool.Env{Dir: p.Root, Files: files}, data)
		if err != nil {
			t.Fatal(err)
		}
		return access
	}
	lines := linesOf(t, "day.txt")
	for i, line := range lines {
		without := plan(line, 0)
		different := []tool.Access{without} // those that Decide could distinguish
		var timeouts []int
		for timeout := 1 + i; timeout <= 600; timeout += len(lines) { // each of them with one of the lines
			timeouts = append(timeouts, timeout)
		}
		for _, timeout := range append(timeouts, 1, 600) {
			access := plan(line, timeout)
			if !slices.ContainsFunc(different, func(a tool.Access) bool { return reflect.DeepEqual(a, access) }) {
				different = append(different, access)
			}
		}
		for row, name := range slices.Sorted(maps.Keys(confinements)) {
			for n, mode := range []Mode{ModeAsk, ModeEdits, ModeAuto, ModePlan} {
				if !sweep.Whole(t) && (i+row)%4 != n {
					continue
				}
				p.Mode, p.Confinement = mode, confinements[name]
				var first string
				for i, access := range different {
					if said := fmt.Sprintf("%+v", p.Decide("bash", access)); i == 0 {
						first = said
					} else if said != first {
						t.Errorf("%s, %s: %s:\n%s\nand with a timeout\n%s", name, mode, line, first, said)
					}
				}
			}
		}
	}
}
