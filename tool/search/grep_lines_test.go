package search

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// slowSearch is the required answer of lineSearch, found the simple way.
func slowSearch(re *regexp.Regexp, text string, context, keep int) string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	show := make([]byte, len(lines))
	count := 0
	for i, line := range lines {
		if !re.MatchString(strings.TrimSuffix(line, "\n")) {
			continue
		}
		if count++; count > keep {
			count = keep
			continue
		}
		for j := max(0, i-context); j <= min(len(lines)-1, i+context); j++ {
			if show[j] == 0 {
				show[j] = '-'
			}
		}
		show[i] = ':'
	}
	var b strings.Builder
	for i, line := range lines {
		if show[i] != 0 {
			fmt.Fprintf(&b, "%d%c%s\n", i+1, show[i], strings.TrimSuffix(line, "\n"))
		}
	}
	fmt.Fprintf(&b, "%d in all\n", count)
	return b.String()
}

// searchIn searches the content of r, as a file of a tree is searched.
func searchIn(ctx context.Context, s *lineSearch, r io.Reader, keep int) (fileHits, error) {
	s.begin(keep)
	have, ended, err := s.fill(r, 0)
	if err != nil {
		return s.hits, err
	}
	return s.from(ctx, r, 0, have, ended)
}

func TestLineSearchAgainstTheSimpleWay(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	patterns := []string{"ab", "a|bc", "(?i)AB|c", "^b", "c$", "^$", "[ab]c+", "(ab|ba)c?", "a.*c", "(?i)ſ",
		"x{2,}", "b(a|cc)b", "(?i)kb", "(?i)ak|é", "k|\u212ac"}
	letters := []string{"a", "b", "c", "x", "A", "B", "a", "b", "k", "K", "\u212a", "é"}
	for round := range 3000 {
		var b strings.Builder
		for range random.IntN(30) {
			for range random.IntN(8) {
				b.WriteString(letters[random.IntN(len(letters))])
			}
			b.WriteByte('\n')
		}
		text := b.String()
		if random.IntN(2) == 0 {
			text = strings.TrimSuffix(text, "\n")
		}
		pattern := patterns[random.IntN(len(patterns))]
		compiled, err := compilePattern(pattern, false, false)
		if err != nil {
			t.Fatal(err)
		}
		context, keep := random.IntN(4), random.IntN(6)
		// A buffer that holds a few lines only, so that all happens at its edges.
		s := lineSearch{pattern: compiled, context: context, buf: make([]byte, 70+random.IntN(60))}
		hits, err := searchIn(t.Context(), &s, strings.NewReader(text), keep)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, l := range hits.lines {
			mark := ':'
			if l.Kind == HitContext {
				mark = '-'
			}
			got += fmt.Sprintf("%d%c%s\n", l.Num, mark, l.Text)
		}
		got += fmt.Sprintf("%d in all\n", hits.count)
		if diff := cmp.Diff(slowSearch(compiled.re, text, context, keep), got); diff != "" {
			t.Fatalf("round %d: %q, context %d, keep %d, in %q:\n%s", round, pattern, context, keep, text, diff)
		}
	}
}

func TestMultilineSearch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ pattern, text, want string }{
		{"b.c", "ab\ncd\nb c\n", "1 2+ 3"},
		{"^x", "x\nax\nx", "1 3"},
		{`\Ax`, "x\nx\n", "1"},
		{"a\n", "a\na\nb\n", "1 2"},
		{"(?m)$", "a\nb\n", "1 2"},
		{"x*", "\n\n", "1 2"},
		{"a(.*z)?", "a\na\na\n", "1 2 3"},
		{"b\na", "b\na b\na\n", "1 2+"},
	} {
		p, err := compilePattern(test.pattern, false, true)
		if err != nil {
			t.Fatal(err)
		}
		s := lineSearch{pattern: p}
		hits, err := s.whole(t.Context(), []byte(test.text), 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range hits.lines {
			mark := ""
			if l.Kind == HitRest {
				mark = "+"
			}
			got = append(got, fmt.Sprint(l.Num)+mark)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q in %q: %s", test.pattern, test.text, diff)
		}
	}
}
