package wire

import (
	"strings"
	"testing"
)

// TestReasoningInMarksIsReasoning wherever the pieces are cut.
func TestReasoningInMarksIsReasoning(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"<think>hm, a < b</think>\n\nYes. </think>": {"hm, a < b", "Yes. </think>"},
		"\n <think>\nhm\n</think>Yes.":              {"\nhm\n", "Yes."},
		"Yes. <think>no</think>":                    {"", "Yes. <think>no</think>"},
		"<thinking>no":                              {"", "<thinking>no"},
		"<thi":                                      {"", "<thi"},
		"  ":                                        {"", "  "},
		"<think>hm </thi":                           {"hm </thi", ""},
		"":                                          {"", ""},
	} {
		for size := 1; size <= len(text)+1; size++ {
			var think Thinker
			var got [2]strings.Builder
			add := func(thought, answer string) {
				got[0].WriteString(thought)
				got[1].WriteString(answer)
			}
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				add(think.Split(rest[:n]))
				rest = rest[n:]
			}
			add(think.End())
			if got[0].String() != want[0] || got[1].String() != want[1] {
				t.Errorf("%q in pieces of %d: %q and %q", text, size, got[0].String(), got[1].String())
			}
		}
	}
}
