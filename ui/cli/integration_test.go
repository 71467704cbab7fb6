//go:build integration

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/provider"
)

// A run costs a few thousand tokens with each provider; it may take as long as a
// slow model on a bad day.
const integrationTime = 3 * time.Minute

// TestIntegration holds a short conversation with each real provider whose key
// is set: `make integration`. Models are the providers' current defaults, or
// ARTOO_TEST_MODEL_NAME (ARTOO_TEST_MODEL_OPENAI=…).
func TestIntegration(t *testing.T) {
	artoo := buildProgram(t, moduleDir)
	var not []string
	for _, p := range []struct{ name, needs string }{
		{"anthropic", "ANTHROPIC_API_KEY"},
		{"openai", "OPENAI_API_KEY"},
		{"openrouter", "OPENROUTER_API_KEY"},
		{"deepseek", "DEEPSEEK_API_KEY"},
		{"compatible", "ARTOO_BASE_URL"},
	} {
		if os.Getenv(p.needs) == "" {
			not = append(not, p.name+" ("+p.needs+" is not set)")
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			talkTo(t, artoo, p.name)
		})
	}
	if len(not) > 0 {
		t.Logf("not run: %s", strings.Join(not, ", "))
	}
}

// integrationEnv is a newcomer's environment with the variables of the provider.
// ARTOO_BASE_URL and ARTOO_API_KEY would lead every provider to one server.
func integrationEnv(t *testing.T, name string) []string {
	env := home(t)
	for _, v := range os.Environ() {
		key, _, _ := strings.Cut(v, "=")
		switch key = strings.ToUpper(key); {
		case key == "ARTOO_BASE_URL", key == "ARTOO_API_KEY", key == "ARTOO_MODEL":
			if name == "compatible" {
				env = append(env, v)
			}
		case strings.HasSuffix(key, "_API_KEY"), strings.HasSuffix(key, "_BASE_URL"), strings.HasSuffix(key, "_PROXY"),
			key == "SSL_CERT_FILE", key == "ARTOO_CA_FILE":
			env = append(env, v)
		}
	}
	return env
}

// oneRun has the fields of the result object that the test needs.
type oneRun struct {
	Result   string `json:"result"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Turns    int    `json:"turns"`
	ExitCode int    `json:"exit_code"`
	Usage    provider.Usage
	Error    json.RawMessage `json:"error"`
	Requests []struct {
		ID string `json:"id"`
	} `json:"requests"`
}

// talkTo has the model read a number that it cannot know, and add to it.
func talkTo(t *testing.T, artoo, name string) {
	dir, number := t.TempDir(), 10_000+rand.IntN(80_000)
	if err := os.WriteFile(filepath.Join(dir, "number.txt"), fmt.Appendf(nil, "The number is %d.\n", number),
		0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-p", "-o", "json", "--provider", name, "--max-turns", "6", "--max-time", "150s"}
	if model := os.Getenv("ARTOO_TEST_MODEL_" + strings.ToUpper(name)); model != "" {
		args = append(args, "--model", model)
	}
	args = append(args,
		"Read the file number.txt with your read tool, add 1 to the number in it, and answer with the sum in digits and nothing else.")

	ctx, cancel := context.WithTimeout(context.Background(), integrationTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, artoo, args...)
	var out, said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, integrationEnv(t, name), &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var got oneRun
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("stdout is no result: %v\n%s\nstderr: %s", err, out.Bytes(), said.Bytes())
	}
	if err != nil || got.ExitCode != 0 || string(got.Error) != "null" {
		t.Fatalf("exit %d, %v, error %s\nstderr: %s", got.ExitCode, err, got.Error, said.Bytes())
	}
	if digits := strings.NewReplacer(",", "", ".", "", " ", "", "\u202f",
		"").Replace(got.Result); !strings.Contains(digits, fmt.Sprint(number+1)) {
		t.Errorf("the answer to %d + 1 is %q", number, got.Result)
	}
	if got.Provider != name || got.Turns < 2 || len(got.Requests) < got.Turns {
		t.Errorf("%s answered in %d steps and %d requests; want %s, a call and an answer\nstderr: %s", got.Provider,
			got.Turns, len(got.Requests), name, said.Bytes())
	}
	if got.Usage.Prompt() <= 0 || got.Usage.Output <= 0 || got.Usage.Estimated {
		t.Errorf("usage %+v", got.Usage)
	}
	t.Logf("%s: %d steps, %d tokens in, %d out", got.Model, got.Turns, got.Usage.Prompt(), got.Usage.Output)
}
