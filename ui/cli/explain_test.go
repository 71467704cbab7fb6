package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"artoo/config"
	"artoo/tool/environ"
)

// TestTheFirstQuestionsOfAUserExplainTheSandbox counts them over sessions, where a count can be kept.
func TestTheFirstQuestionsOfAUserExplainTheSandbox(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	file := filepath.Join(state, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		state     string
		ephemeral bool
		want      []bool
	}{
		{filepath.Join(state, "new"), false, []bool{true, true, true, false, false}},
		{filepath.Join(state, "none"), true, []bool{true, true, true, true, true}},
		{file, false, []bool{true, true, true, true, true}},
	} {
		var got []bool
		for range c.want {
			cfg := &config.Config{Paths: config.FindPaths(environ.Vars{"HOME=" + state, "XDG_STATE_HOME=" + c.state})}
			cfg.Ephemeral = config.Switch(c.ephemeral)
			got = append(got, (&session{cfg: cfg}).explain())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.state, got)
		}
	}
}
