package cli

import (
	"slices"
	"strings"
)

// nested are variables by which the tools know that they run inside each other,
// and then refuse or behave differently.
var nested = []string{
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID",
	"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI",
	"GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_IDE_SERVER_PORT", "GEMINI_CLI_IDE_WORKSPACE_PATH",
}

// Environ is the environment of the named provider's tool: scrubbed, which has
// no credentials, without the marks of a session around it, and with the
// variables that the tool itself logs in by, taken from all. The keys of its
// vendor's API, which artoo's own providers use and which would be charged, are
// given only where pass names them; withheld are those that are set and were
// not.
func Environ(name string, scrubbed, all, pass []string) (environ, withheld []string) {
	d := dialectOf(name)
	if d == nil {
		return scrubbed, nil
	}
	for _, kv := range scrubbed {
		if key, _, _ := strings.Cut(kv, "="); !slices.Contains(nested, key) && !slices.Contains(d.own, key) && !slices.Contains(d.keys, key) {
			environ = append(environ, kv)
		}
	}
	for _, kv := range all {
		key, value, _ := strings.Cut(kv, "=")
		switch isKey := slices.Contains(d.keys, key); {
		case value == "":
		case slices.Contains(d.own, key), isKey && slices.Contains(pass, key):
			environ = append(environ, kv)
		case isKey:
			withheld = append(withheld, key)
		}
	}
	return environ, withheld
}
