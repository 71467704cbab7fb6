package screen

import (
	"strings"
	"testing"
	"time"

	"artoo/tool/sweep"
)

func TestCodeCostsFewBytes(t *testing.T) {
	t.Parallel()
	dense := strings.Repeat("# Head of a section\n\n"+
		"Some **bold** and `code` and *em* words with [a link](http://x.y/z) here.\n\n- item **one**\n- item `two`\n"+
		"\n| a | bcd |\n|---|---|\n| 1 | **2** |\n\n", 120)
	prose := strings.Repeat("The discount week comes from the wall clock, so the test depends on the day it runs. ",
		240)
	heads := strings.Repeat("## A b c d e f g h i j\n\n", 900)
	all := strings.Repeat(readTour(t)+dense[:400]+prose[:400], 6) // 20 KB of all constructs
	for name, src := range map[string]string{"dense": dense, "prose": prose, "tour": readTour(t), "headings": heads,
		"all": all} {
		plain := len(pieces(t, MarkdownOptions{}, src))
		color := len(pieces(t, MarkdownOptions{Color: true, Links: true}, src))
		if plain*10 > len(src)*13 || color > len(src)*3 {
			t.Errorf("%s: %d bytes of source became %d, with colour %d", name, len(src), plain, color)
		}
	}
	for _, row := range strings.Split(pieces(t, MarkdownOptions{Width: wide(33)}, dense+prose), "\n") {
		if strings.HasSuffix(row, " ") {
			t.Fatalf("trailing blank: %q", row)
		}
	}
}

// The time limit is far above linear work, and far below quadratic work. Four
// times the text may take twelve times as long, where quadratic work would take
// sixteen times, and a fifth of a second more for the machine's other work. One
// of three tries has to hold.
func TestAnyMarkdownTakesLinearTime(t *testing.T) {
	size := sweep.Less(1 << 14)
	units := []string{"[", "(", "[(", "*a", "*_", "**a _b ", "`", "` ``", "<a:", "<", "中[", "中`", "中*_",
		"[中](", "a\u0301", "\u200b", "\\", "&lt;", "|", "> ", "- ", "#", "1", "~", "[a](", "!["}
	for _, i := range sweep.Cases(t, 4, 2*len(units)) {
		unit, sep := units[i/2], []string{"", "\n"}[i%2]
		var short, long time.Duration
		for range 3 {
			short, long = renderTime(t, unit, sep, size), renderTime(t, unit, sep, 4*size)
			if long <= 12*short+200*time.Millisecond {
				break
			}
		}
		if long > 12*short+200*time.Millisecond {
			t.Errorf("%q %q: %d bytes took %v, %d %v", unit, sep, size, short, 4*size, long)
		}
	}
}

func renderTime(t *testing.T, unit, sep string, size int) time.Duration {
	t.Helper()
	src := strings.Repeat(unit, 200)
	src = strings.Repeat(src+sep, size/len(src))
	begin := time.Now()
	m := NewMarkdown(MarkdownOptions{Out: to(&strings.Builder{}), Color: true, Width: wide(1000)})
	for i := 0; i < len(src); i += 20 {
		m.Add(src[i:min(i+20, len(src))])
	}
	m.Close()
	return time.Since(begin)
}
