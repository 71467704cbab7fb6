package builtin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"artoo/tool"
)

// keyFile is a file with a private key in it, whose lines from 3 to 6 are the key.
func keyFile() (text string, body []string) {
	for i := range 3 {
		body = append(body, strings.Repeat(fmt.Sprintf("a%dB/", i), 16))
	}
	body = append(body, "Zg==")
	return "tls:\n  key: |\n    -----BEGIN " + "PRIVATE KEY-----\n    " + strings.Join(body, "\n    ") +
		"\n    -----END " + "PRIVATE KEY-----\nport: 1\n", body
}

// findsKeys finds private keys as a whole, as package redact does.
func findsKeys(text string) (found []tool.Secret) {
	from, to := strings.Index(text, "-----BEGIN "), strings.Index(text, "-----END ")
	if from < 0 || to < from {
		return nil
	}
	return []tool.Secret{{From: from, To: to + len("-----END "), Mark: "‹secret:aaaabbbbcccc›"}}
}

func TestPartOfAPrivateKeyIsMasked(t *testing.T) {
	text, body := keyFile()
	for _, ends := range []string{"\n", "\r\n"} {
		w := newFileWorld(t, map[string]string{"conf.yaml": strings.ReplaceAll(text, "\n", ends),
			"other.txt": strings.Join(body, "\n")})
		w.env.Secrets = findsKeys
		leaks := func(text string) bool {
			return slices.ContainsFunc(body, func(line string) bool { return strings.Contains(text, line) })
		}
		for offset := 4; offset <= 9; offset++ {
			_, got, err := w.call(Read(), in{"path": "conf.yaml", "offset": offset, "limit": 2})
			if err != nil || leaks(got.Text) || strings.Contains(got.Text, "secret:") != (offset <= 7) {
				t.Errorf("from %d: %q, %v", offset, got.Text, err)
			}
		}
		for _, pattern := range []string{"a1B", "Zg==", "B/a"} {
			_, got, err := w.call(Grep(), in{"pattern": pattern, "path": "conf.yaml"})
			if err != nil || leaks(got.Text) || !strings.Contains(got.Text, "secret:") {
				t.Errorf("%s: %q, %v", pattern, got.Text, err)
			}
		}
		// From its begin it is whole, and masked outside; what is no key stays.
		if _, got, err := w.call(Read(), in{"path": "conf.yaml"}); err != nil || !leaks(got.Text) {
			t.Errorf("%q, %v", got.Text, err)
		}
		for _, call := range []in{{"pattern": "a1B", "path": "other.txt"}, {"pattern": "port|tls", "path": "conf.yaml"}} {
			if _, got, err := w.call(Grep(), call); err != nil || strings.Contains(got.Text, "secret:") {
				t.Errorf("%q, %v", got.Text, err)
			}
		}
	}
}
