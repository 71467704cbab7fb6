package journal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// TestUndoOfAnyScriptLosesNothing plays random scripts, as shell commands do, undoes them, and looks for each content
// from before: it is in its place, or the script itself destroyed it and that is named; the script's own files are
// somewhere.
func TestUndoOfAnyScriptLosesNothing(t *testing.T) {
	t.Parallel()
	for _, seed := range sweep.Cases(t, 20, 200) {
		script(t, uint64(seed))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func script(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	files := map[string]string{}
	for i, path := range []string{"a", "b", "d/x", "d/y", "d/.env", "d/big", "d/sub/z", "d/out/o", "e/.env", "e/big", "e/f"} {
		files[path] = content(i, path)
	}
	p := newProject(t, files)
	p.write("d/huge", "")
	needs.Thing(t, "files with holes", os.Truncate(p.path("d/huge"), 2<<30))
	p.cfg.MaxFile = 4096
	p.cfg.Denied = func(path string) bool { return filepath.Base(path) == ".env" }
	p.cfg.Ignored = func(context.Context) (ignored []string, err error) {
		for path := range lookAt(t, p.root) {
			if filepath.Base(path) == "out" {
				ignored = append(ignored, path+"/")
			}
		}
		return ignored, nil
	}
	p.reopen()
	start := p.look()
	var said []string
	p.command(1, func() {
		for i := range 1 + r.IntN(8) {
			all := []string{}
			for path := range p.look() {
				if path != "." {
					all = append(all, path)
				}
			}
			if len(all) == 0 {
				return
			}
			slices.Sort(all)
			from, to := all[r.IntN(len(all))], all[r.IntN(len(all))]+fmt.Sprint("-", r.IntN(3))
			var err error
			switch what := r.IntN(6); what {
			case 0, 1, 2:
				err = os.Rename(p.path(from), p.path(to))
				said = append(said, "mv "+from+" "+to)
			case 3:
				err = os.RemoveAll(p.path(from))
				said = append(said, "rm -r "+from)
			default:
				path := filepath.Join(filepath.Dir(to), []string{".env", "big", "made"}[r.IntN(3)])
				err = os.WriteFile(p.path(path), []byte(content(100+i, path)), 0o644)
				said = append(said, "write "+path)
			}
			if err != nil {
				said = append(said, "("+err.Error()+")")
			}
		}
	})
	end := p.look()
	plan, err := p.Plan(t.Context(), 1, false)
	if err != nil {
		if end := p.look(); difference(end, start) != "" && !strings.Contains(difference(end, start), "out") {
			t.Errorf("%v: %v", said, err)
		}
		return
	}
	report := p.applied(plan)
	now, held := p.look(), p.quarantinedNow()
	somewhere := slices.Collect(func(yield func(string) bool) {
		for _, what := range now {
			if !yield(what) {
				return
			}
		}
	})
	somewhere = append(somewhere, held...)
	named := slices.Concat(plan.Left, plan.Cannot, report.Left, report.Cannot)
	for path, what := range start {
		if now[path] != what && !slices.ContainsFunc(named, func(l Lack) bool { return concerns(l, path) }) && !strings.Contains(path, "out") {
			t.Errorf("%v: %s is %.20q, and not named in %v", said, path, now[path], named)
		}
	}
	for path, what := range end { // undo itself destroys nothing
		if strings.HasPrefix(what, "-") && !slices.Contains(somewhere, what) {
			t.Errorf("%v: %s, %.30q, is nowhere", said, path, what)
		}
	}
	if len(named) > 0 {
		return
	}
	plan = p.planned(1, true)
	p.applied(plan)
	if d := difference(p.look(), end); d != "" {
		t.Errorf("%v: brought back: %s", said, d)
	}
}

// concerns reports whether a lack is of the path, or of one above or below it.
func concerns(l Lack, path string) bool {
	name := strings.TrimSuffix(l.Path, "/")
	return isBelow(map[string]bool{name: true}, path) || isBelow(map[string]bool{path: true}, name)
}

func content(i int, path string) string {
	if strings.HasPrefix(filepath.Base(path), "big") {
		return strings.Repeat(fmt.Sprintln("content", i), 500)
	}
	return fmt.Sprintln("content", i)
}
