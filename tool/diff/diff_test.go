package diff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"artoo/tool/diff"
	"artoo/tool/sweep"
)

// TestAnyHunkIsWhereItSays applies diffs of random texts at the very lines that their headers name.
func TestAnyHunkIsWhereItSays(t *testing.T) {
	t.Parallel()
	for _, seed := range sweep.Cases(t, 1000, 10_000) {
		random := rand.New(rand.NewPCG(uint64(seed), 41))
		before := randomText(random)
		after := changedNearby(random, before)
		u := diff.Compare("a", "b", before, after)
		if got, err := applied(before, u.String()); err != nil || got != after {
			t.Fatalf("seed %d: %q to %q: %v, got %q by\n%s", seed, before, after, err, got, u)
		}
		now := strings.SplitAfter(after, "\n")
		for _, h := range u.Hunks {
			at := h.ToLine - 1
			for _, line := range h.Lines {
				if line.Kind == diff.Delete {
					continue
				}
				if now[at] != line.Content {
					t.Fatalf("seed %d: line %d is %q, the diff says %q", seed, at+1, now[at], line.Content)
				}
				at++
			}
		}
	}
}

// lines are such as make a diff hard to read, and to place.
var lines = []string{"same", "same", "same", "other", "", "-- x", "++ x", "@@ -1 +1 @@", " x", "-x", "+x", "\\ No newline at end of file", "x\r", "é", "\xff"}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString(lines[r.IntN(len(lines))] + "\n")
	}
	return maybeUnended(r, b.String())
}

func maybeUnended(r *rand.Rand, text string) string {
	if r.IntN(4) == 0 {
		return strings.TrimSuffix(text, "\n")
	}
	return text
}

// changedNearby is the text after some changes, each a few lines below the one before.
func changedNearby(r *rand.Rand, before string) string {
	now := slices.Collect(strings.Lines(before))
	if n := len(now); n > 0 && !strings.HasSuffix(now[n-1], "\n") {
		now[n-1] += "\n"
	}
	at := r.IntN(len(now) + 1)
	for range 1 + r.IntN(5) {
		removed := min(r.IntN(3), len(now)-at)
		var added []string
		for range r.IntN(4) {
			added = append(added, lines[r.IntN(len(lines))]+"\n")
		}
		now = slices.Replace(now, at, at+removed, added...)
		at = min(at+len(added)+r.IntN(9), len(now))
	}
	return maybeUnended(r, strings.Join(now, ""))
}

// applied is the text after a diff, of which each hunk has to fit where its header says.
func applied(before, unified string) (after string, err error) {
	old, done := slices.Collect(strings.Lines(before)), 0
	var now []string
	_, unified, _ = strings.Cut(unified, "\n+++ b\n")
	all := slices.Collect(strings.Lines(unified))
	for len(all) > 0 {
		from, to, olds, news := header(all[0])
		from, to = max(from, 1), max(to, 1) // an empty side is at line 0
		now = append(now, old[done:from-1]...)
		if done = from - 1; len(now) != to-1 {
			return "", fmt.Errorf("%q is on line %d", all[0], len(now)+1)
		}
		for all = all[1:]; olds+news > 0; {
			kind, line := all[0][0], all[0][1:]
			if all = all[1:]; len(all) > 0 && strings.HasPrefix(all[0], "\\") {
				line, all = strings.TrimSuffix(line, "\n"), all[1:]
			}
			if kind != '+' {
				if old[done] != line {
					return "", fmt.Errorf("line %d is %q, not %q", done+1, old[done], line)
				}
				done, olds = done+1, olds-1
			}
			if kind != '-' {
				now, news = append(now, line), news-1
			}
		}
	}
	return strings.Join(append(now, old[done:]...), ""), nil
}

// header reads "@@ -from,olds +to,news @@", where a missing number of lines is 1.
func header(line string) (from, to, olds, news int) {
	side := func(s string) (at, n int) {
		if _, err := fmt.Sscanf(s, "%d,%d", &at, &n); err != nil {
			_, _ = fmt.Sscanf(s, "%d", &at)
			n = 1
		}
		return at, n
	}
	fields := strings.Fields(line)
	from, olds = side(fields[1][1:])
	to, news = side(fields[2][1:])
	return from, to, olds, news
}
