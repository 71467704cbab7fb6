package secret

import (
	"strings"
	"testing"
)

// examples hold a key each, split so that no scanner takes this file for a leak.
func examples() map[string]string {
	long := strings.Repeat("aB3", 20)
	return map[string]string{
		"openai":     "sk-" + "proj-" + long,
		"anthropic":  "sk-" + "ant-api03-" + long,
		"stripe":     "sk_" + "live_" + long[:24],
		"github":     "gh" + "p_" + long[:36],
		"github new": "github" + "_pat_" + long[:30],
		"gitlab":     "glp" + "at-" + long[:20],
		"aws":        "AK" + "IA" + "ABCDEFGHIJ234567",
		"google":     "AI" + "za" + long[:35],
		"slack":      "xo" + "xb-" + "123456789012-abc",
		"jwt":        "ey" + "J" + long[:20] + ".eyJ" + long[:20] + "." + long[:10],
		"age":        "AGE-SECRET-" + "KEY-1" + strings.Repeat("Q2", 20),
		"pem":        "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIE" + long + "\n-----END RSA PRIVATE KEY-----",
	}
}

func TestMask(t *testing.T) {
	marks := map[string]bool{}
	for name, key := range examples() {
		for _, around := range [][2]string{{"", ""}, {"key=", " and more"}, {`{"k":"`, `"}`}, {"a\n", "\nb"}} {
			text := around[0] + key + around[1]
			got := Mask(text)
			if !Holds(text) || strings.Contains(got, key[len(key)/2:]) || !strings.HasPrefix(got, around[0]+"‹secret:") || !strings.HasSuffix(got, "›"+around[1]) {
				t.Errorf("%s: %q becomes %q", name, text, got)
			}
			if again := Mask(text); again != got {
				t.Errorf("%s: two marks for one key, %q and %q", name, got, again)
			}
		}
		marks[Mask(key)] = true
	}
	if len(marks) < len(examples())-1 { // two of 65536 may meet
		t.Errorf("%d marks for %d keys", len(marks), len(examples()))
	}
}

func TestMaskLeavesTheRest(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"plain":                                 "plain",
		"https://host/path":                     "https://host/path",
		"task-force-of-twenty-and-more-people":  "task-force-of-twenty-and-more-people",
		"sk-short":                              "sk-short",
		"go to https://me:" + "hunter22@host/x": "go to https://me:" + Mark("hunter22") + "@host/x",
		"Authorization: Bearer " + strings.Repeat("x", 24) + "\n": "Authorization: Bearer " + Mark(strings.Repeat("x", 24)) + "\n",
	} {
		if got := Mask(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if Holds(text) != (want != text) {
			t.Errorf("Holds(%q) is %v", text, Holds(text))
		}
	}
	two := "a " + "sk-" + strings.Repeat("1", 30) + " b " + "sk-" + strings.Repeat("2", 30) + " c"
	if got := Mask(two); strings.Count(got, "‹secret:") != 2 || !strings.HasPrefix(got, "a ‹") || !strings.Contains(got, "› b ‹") || !strings.HasSuffix(got, "› c") {
		t.Errorf("two keys become %q", got)
	}
}
