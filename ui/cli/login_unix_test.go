//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/provider/providertest"
	"artoo/ui/prompt/prompttest"
)

// atLogin runs artoo login in a shell on a terminal, answers the question, and
// returns the terminal's text up to its settings and exit status.
func atLogin(t *testing.T, answers ...[2]string) (shown, home string) {
	t.Helper()
	cmd := onTerminal(t, []providertest.Reply{providertest.Anthropic(providertest.Text("hi"))}, "login")
	// The kernel flushes the terminal's queues after it has sent the signal of Ctrl-C, and so
	// loses the shell's output of that moment; noflsh prevents this.
	cmd.Path, cmd.Args = "/bin/sh",
		[]string{"sh", "-c", `stty noflsh; trap : INT; artoo login; echo "ended with $?"; stty -a; echo over`}
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=", "DBUS_SESSION_BUS_ADDRESS=autolaunch:")
	for _, kv := range cmd.Env {
		if dir, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = dir
		}
	}
	tty, err := prompttest.StartPTY(cmd, 80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	shown = watch(t, cmd, tty, append(answers, [2]string{"over", ""})...)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v; the terminal shows\n%s", err, shown)
	}
	return shown, home
}

// TestAKeyIsTypedUnseen: it is neither on the terminal nor in the shell's hands,
// and the terminal echoes again afterwards, also after Ctrl-C.
func TestAKeyIsTypedUnseen(t *testing.T) {
	t.Parallel()
	const key = "sk-ant-api03-4711-0123456789"
	shown, home := atLogin(t, [2]string{"API key of anthropic (not shown while you type): ", key + "\r"})
	if strings.Contains(shown, "4711") || !strings.Contains(shown, "is stored in") ||
		!strings.Contains(shown, "ended with 0") || !echoes(shown) {
		t.Errorf("the terminal shows\n%s", shown)
	}
	data, err := os.ReadFile(filepath.Join(home, ".local", "share", "artoo", "credentials.toml"))
	if err != nil || !strings.Contains(string(data), key) {
		t.Errorf("stored is %q, %v", data, err)
	}
	for name, typed := range map[string]string{"at once": "\x03", "in the middle": "sk-4711\x03"} {
		shown, _ = atLogin(t, [2]string{"API key of anthropic (not shown while you type): ", typed})
		if strings.Contains(shown, "4711") || !strings.Contains(shown, "ended with 130") || !echoes(shown) {
			t.Errorf("Ctrl-C %s: the terminal shows\n%s", name, shown)
		}
	}
	if shown, _ = atLogin(t, [2]string{"API key of anthropic (not shown while you type): ", "\x04"}); !strings.Contains(shown,
		"no key was entered") || !strings.Contains(shown, "ended with 3") || !echoes(shown) {
		t.Errorf("Ctrl-D: the terminal shows\n%s", shown)
	}
}

// echoes reports whether the output of stty says that the terminal echoes keys.
func echoes(stty string) bool {
	for _, word := range strings.FieldsFunc(stty, func(r rune) bool { return strings.ContainsRune(" ;\r\n", r) }) {
		if word == "echo" {
			return true
		}
	}
	return false
}
