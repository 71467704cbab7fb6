package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"artoo/provider"
	"artoo/provider/providertest"
)

// dailyCap bounds the spending of eight runs together, in US dollars, and dailyPrice is
// the price of a million tokens.
const (
	dailyCap   = 1.0
	dailyPrice = 2.0
)

// TestEightProgramsShareOneDaysMoney runs artoo eight times at once under one cap of the
// day. Each would go on for ever; the server uses all the tokens that a reply may have,
// and its bills together stay below the cap.
func TestEightProgramsShareOneDaysMoney(t *testing.T) {
	t.Parallel()
	program := buildProgram(t, moduleDir)
	var mu sync.Mutex
	billed, requests := 0.0, 0
	handler := &providertest.Handler{NoList: true, Next: func(n int, r providertest.Request) providertest.Reply {
		var asked struct {
			Max  int `json:"max_tokens"`
			Most int `json:"max_completion_tokens"`
		}
		if err := json.Unmarshal(r.Body, &asked); err != nil || asked.Max+asked.Most == 0 {
			t.Errorf("a request without a bound of its reply: %v", err)
		}
		usage := provider.Usage{Input: len(r.Body) / 5, Output: asked.Max + asked.Most}
		mu.Lock()
		defer mu.Unlock()
		billed += float64(usage.Input+usage.Output) * dailyPrice / 1e6
		requests++
		return providertest.Chat(providertest.Call(fmt.Sprintf("c%d", n), "read", fmt.Sprintf(`{"path":"a.txt","offset":%d}`, n+1)),
			providertest.Usage(usage))
	}}
	srv := providertest.Serve(t, handler)
	project := t.TempDir()
	env := home(t, "container=test", "ARTOO_BASE_URL="+srv.URL+"/v1", "ARTOO_MODEL=test-model",
		fmt.Sprintf("ARTOO_DAILY_COST=%g", dailyCap))
	config := filepath.Join(project, "config.toml")
	err := errors.Join(os.WriteFile(filepath.Join(project, "a.txt"), bytes.Repeat([]byte("line\n"), 3000), 0o600),
		os.WriteFile(config, fmt.Appendf(nil, "[provider.compatible.models.test-model]\ncontext = 32768\n"+
			"price = { input = %g, output = %g }\n", dailyPrice, dailyPrice), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	var runs sync.WaitGroup
	var told [8]bytes.Buffer
	var ended [8]error
	for i := range told {
		runs.Go(func() {
			cmd := exec.Command(program, "-p", "--config", config, "read on and on")
			cmd.Dir, cmd.Env, cmd.Stderr = project, env, &told[i]
			ended[i] = cmd.Run()
		})
	}
	runs.Wait()
	for i, err := range ended {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != 7 || !strings.Contains(told[i].String(), "ARTOO_DAILY_COST") {
			t.Errorf("run %d: %v\n%s", i, err, &told[i])
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if billed > dailyCap || billed < dailyCap/2 || requests < 24 {
		t.Errorf("%d requests were billed $%.4f of the $%g that the day may cost", requests, billed, dailyCap)
	}
	t.Logf("%d requests, $%.4f", requests, billed)
}
