package ollama

import "testing"

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                             "http://127.0.0.1:11434",
		" localhost ":                  "http://localhost:11434",
		"localhost:1234":               "http://localhost:1234",
		":1234":                        "http://127.0.0.1:1234",
		"1.2.3.4":                      "http://1.2.3.4:11434",
		"0.0.0.0":                      "http://127.0.0.1:11434",
		"0.0.0.0:1234":                 "http://127.0.0.1:1234",
		"::":                           "http://[::1]:11434",
		"[::]:1234":                    "http://[::1]:1234",
		"::1":                          "http://[::1]:11434",
		"[::1]:1234":                   "http://[::1]:1234",
		"[::1]":                        "http://[::1]:11434",
		"host:99999":                   "http://host:11434",
		"host:word":                    "http://host:11434",
		"http://host":                  "http://host:80",
		"https://host":                 "https://host:443",
		"https://host:1234/":           "https://host:1234",
		"https://host/gate/of/it/":     "https://host:443/gate/of/it",
		"host/gate":                    "http://host:11434/gate",
		"ollama.com":                   "https://ollama.com:443",
		`"localhost:1234"`:             "http://localhost:1234",
		"http://localhost:11434/v1":    "http://localhost:11434",
		"http://localhost:11434/v1/":   "http://localhost:11434",
		"http://localhost:11434/api":   "http://localhost:11434",
		"http://localhost:11434/x/api": "http://localhost:11434/x",
	} {
		if got := Address(in); got != want {
			t.Errorf("%q is at %s, want %s", in, got, want)
		}
	}
}
