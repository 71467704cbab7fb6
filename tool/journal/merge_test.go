package journal

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// mergeLines is Config.Merge for files whose parts are lines "NAME=VALUE".
func mergeLines(_ context.Context, _ string, from, to, now []byte) (merged []byte, left []string, err error) {
	parts := func(data []byte) (names []string, values map[string]string) {
		values = map[string]string{}
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(line, "=")
			names, values[name] = append(names, name), value
		}
		return names, values
	}
	_, was := parts(from)
	_, shall := parts(to)
	names, is := parts(now)
	if is["broken"] != "" {
		return nil, nil, errors.New("cannot be read")
	}
	for _, name := range names {
		switch {
		case was[name] == shall[name] || is[name] == shall[name]:
		case is[name] == was[name]:
			is[name] = shall[name]
		default:
			left = append(left, name)
		}
		if is[name] != "" {
			merged = append(merged, (name + "=" + is[name])...)
		}
	}
	return merged, left, nil
}

// A file that is changed in parts goes back part by part, over several steps, and comes again.
func TestUndoByParts(t *testing.T) {
	p := newProject(t, map[string]string{"parts": "a=1\nb=1\nc=1\n", "other": "1\n"})
	p.cfg.Merges = func(path string) bool { return path == p.path("parts") }
	p.cfg.Merge, p.cfg.MaxFile = mergeLines, 1 // The size of one file is no limit here.
	p.reopen()
	change := func(turn int, content string) {
		t.Helper()
		dir := p.layer(map[string]string{"other": content})
		_, err := p.ApplyLayer(t.Context(), turn, "run", []LayerChange{{Path: "other", Before: p.now("other"), After: file(0o644)}},
			dir, Then{Paths: []string{"parts"}, Do: func(context.Context) error { return os.WriteFile(p.path("parts"), []byte(content), 0o644) }})
		p.ok(err)
	}
	holds := func(want string) {
		t.Helper()
		if data, err := os.ReadFile(p.path("parts")); err != nil || string(data) != want {
			t.Fatalf("parts holds %q, %v; want %q", data, err, want)
		}
	}
	apply := func(n int, redo bool, left ...string) {
		t.Helper()
		plan, err := p.Plan(t.Context(), n, redo)
		p.ok(err)
		var names []string
		for _, l := range plan.Left {
			names = append(names, l.Path)
		}
		report, err := p.Apply(t.Context(), plan)
		p.ok(err)
		if !slices.Equal(names, left) || len(report.Left) > 0 {
			t.Fatalf("left %q, then %v", names, report.Left)
		}
	}
	change(1, "a=2\nb=1\nc=1\n")
	p.write("parts", "a=2\nb=1\nc=1\nuser=1\n")
	change(2, "a=2\nb=2\nc=2\nuser=1\n")
	p.write("parts", "a=2\nb=2\nc=7\nuser=2\n")
	p.reopen()
	apply(2, false, "parts: c")
	holds("a=1\nb=1\nc=7\nuser=2\n")
	p.write("parts", "a=1\nb=1\nc=7\nuser=3\n")
	apply(1, true)
	holds("a=2\nb=2\nc=7\nuser=3\n")
	p.write("parts", "broken=1\n")
	apply(1, false, "parts")
	holds("broken=1\n")
}
