//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"artoo/provider"
)

const (
	geminiInit = `{"type":"init","session_id":"g-1","model":"auto"}`
	geminiGood = `{"type":"result","status":"success","stats":{"total_tokens":54,"input_tokens":33,"output_tokens":14,"cached":10,"models":{"gemini-router":{"output_tokens":2},"gemini-3-pro":{"output_tokens":12}}}}`
)

func TestGeminiAnswers(t *testing.T) {
	s := newStandIn(t, GeminiName, events(geminiInit, `{"type":"message","role":"user","content":"ECHO"}`,
		`{"type":"message","role":"assistant","content":"Let me look.","delta":true}`,
		`{"type":"tool_use","tool_name":"run_shell_command","tool_id":"1","parameters":{"command":"ls"}}`,
		`{"type":"tool_result","tool_id":"1","status":"error","error":{"type":"x","message":"denied"}}`,
		`{"type":"error","severity":"warning","message":"loop detected"}`,
		`{"type":"message","role":"assistant","content":"Hel","delta":true}`,
		`{"type":"message","role":"assistant","content":"lo.","delta":true}`, geminiGood))
	o := s.ask(user("hi"))
	o.want(t, "Hello.")
	if o.text != "Let me look.Hello." {
		t.Errorf("streamed %q", o.text)
	}
	if want := []string{"run_shell_command: ls", "run_shell_command failed: denied"}; !slices.Equal(o.steps, want) {
		t.Errorf("steps %q", o.steps)
	}
	if want := []string{"gemini: loop detected"}; !slices.Equal(o.notices, want) {
		t.Errorf("notices %q", o.notices)
	}
	if u := o.done.Usage; u.Input != 23 || u.CacheRead != 10 || u.Output != 21 || o.done.Message.Model != "gemini-3-pro" {
		t.Errorf("usage %+v of %s", u, o.done.Message.Model)
	}
	args := strings.Fields(s.given("args", 1))
	policy, ok := strings.CutPrefix(args[3], "--admin-policy=")
	if args[3] = ""; !ok || !slices.Equal(args, []string{"--prompt=", "--output-format=stream-json",
		"--approval-mode=plan", "", "--allowed-mcp-server-names=none"}) {
		t.Errorf("arguments %q, policy %q", args, policy)
	}
	if _, err := os.Stat(policy); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the policy is left: %v", err)
	}
}

// The tool looks for commands and files to include in its prompt.
func TestGeminiAndClaudePromptsAreNoCommands(t *testing.T) {
	s := newStandIn(t, GeminiName,
		events(geminiInit, `{"type":"message","role":"assistant","content":"Hello.","delta":true}`, geminiGood))
	s.ask(user("/quit me")).want(t, "Hello.")
	if got := s.given("stdin", 1); got != "The user's message:\n\n/quit me" {
		t.Errorf("gemini was told %q", got)
	}
	c := newStandIn(t, ClaudeName, events(claudeInit, claudeText("Hello."), claudeGood))
	c.ask(user(" /compact")).want(t, "Hello.")
	if got := c.given("stdin", 1); got != "The user's message:\n\n /compact" {
		t.Errorf("claude was told %q", got)
	}
}

func TestGeminiStatusErrorWithExit0(t *testing.T) {
	s := newStandIn(t, GeminiName, events(geminiInit,
		`{"type":"message","role":"assistant","content":"Hel","delta":true}`,
		`{"type":"result","status":"error","stats":{"input_tokens":5,"output_tokens":1,"total_tokens":6}}`))
	o := s.ask(user("hi"))
	o.fails(t, provider.KindProvider, "empty or invalid")
	if o.err.Usage.Input != 5 {
		t.Errorf("usage %+v", o.err.Usage)
	}
}

func TestGeminiIsStartedAgainAfterExit173(t *testing.T) {
	s := newStandIn(t, GeminiName, events(geminiInit,
		`{"type":"result","status":"error","error":{"type":"x","message":"[API Error: {\"error\":{\"code\":429,\"message\":\"You exceeded your current quota, please check your plan and billing details. Please retry in 34.5s.\",\"status\":\"RESOURCE_EXHAUSTED\"}}]"}}`)+"exit 173\n")
	o := s.ask(user("hi"))
	o.fails(t, provider.KindRateLimit, "exceeded your current quota")
	if o.err.Status != 429 {
		t.Errorf("status %d, again after %s", o.err.Status, o.err.RetryAfter)
	}
}

func TestGeminiExitStatuses(t *testing.T) {
	for _, c := range []struct {
		stderr string
		exit   string
		kind   provider.ErrorKind
		hint   string
	}{
		{"Please set an Auth method in your settings.json", "41", provider.KindAuth,
			"gemini, and choose how to log in there"},
		{"Error: the folder is untrusted", "55", provider.KindConfig, "artoo trust, once you have looked at the project; or start gemini in this directory and trust it there"},
		{"Reached max session turns for this session.", "53", provider.KindCap, "another message"},
		{"Attempt 1 failed. Giving up", "173", provider.KindRateLimit, ""}, // 429 & 0xff
		{"", "247", provider.KindOverloaded, ""},
		{"", "244", provider.KindProvider, "shows the error"},
		{"something else", "52", provider.KindConfig, "--model"},
		{"[API Error: fetch failed]", "1", provider.KindNetwork, "HTTPS_PROXY"},
	} {
		s := newStandIn(t, GeminiName, "echo '"+c.stderr+"' >&2\nexit "+c.exit+"\n")
		o := s.ask(user("hi"))
		if o.err == nil || o.err.Kind != c.kind || !strings.Contains(o.err.Hint, c.hint) || o.err.Message == "" {
			t.Errorf("%s: %+v", c.stderr, o.err)
		}
	}
}
