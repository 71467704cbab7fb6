package claude

import (
	"testing"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

func TestThinkingByFamily(t *testing.T) {
	t.Parallel()
	const (
		none     = `{}`
		disabled = `{"thinking":{"type":"disabled"}}`
	)
	adaptive := func(effort, display string) string {
		return `{"thinking":{"type":"adaptive"` + display + `},"effort":"` + effort + `"}`
	}
	const shown = `,"display":"summarized"`
	enabled := func(n string) string { return `{"thinking":{"type":"enabled","budget_tokens":` + n + `}}` }
	tests := []struct {
		model     string
		off, high string
		hot       bool // takes a temperature when no effort is set
	}{
		{"claude-3-5-haiku-20241022", none, none, true},
		{"claude-3-opus-20240229", none, none, true},
		{"claude-3-7-sonnet-latest", none, enabled("6000"), true},
		{"claude-sonnet-4-20250514", none, enabled("6000"), true},
		{"claude-opus-4-1-20250805", none, enabled("6000"), true},
		{"us.anthropic.claude-haiku-4-5-20251001-v1:0", none, enabled("6000"), true},
		{"anthropic/claude-sonnet-4.5", none, enabled("6000"), true},
		{"claude-opus-4-6", none, adaptive("high", ""), true},
		{"claude-sonnet-4-6@20260101", none, adaptive("high", ""), true},
		{"claude-opus-4-7", none, adaptive("high", ""), false},
		{"claude-opus-4-8", none, adaptive("high", ""), false},
		{"claude-sonnet-5", none, adaptive("high", shown), false},
		{"claude-opus-5", disabled, adaptive("high", shown), false},
		{"claude-opus-5-5", disabled, adaptive("high", shown), false},
		{"claude-haiku-6", disabled, adaptive("high", shown), false},
		{"claude-latest", disabled, adaptive("high", shown), false},
		{"claude-mythos-5", `{"effort":"low"}`, adaptive("high", shown), false},
		{"claude-fable-5", `{"effort":"low"}`, adaptive("high", shown), false},
		{"deepseek-v4-pro", disabled, enabled("6000"), true},
	}
	for _, tc := range tests {
		t.Run(tc.model, func(t *testing.T) {
			for effort, want := range map[provider.Effort]string{"": none, provider.EffortOff: tc.off,
				provider.EffortHigh: tc.high} {
				hot := 1.0
				r := Reason(provider.Request{Options: provider.Options{Model: tc.model, Temperature: &hot, Effort: effort}}, 8000, nil, wire.Learned{})
				got, err := provider.Marshal(struct {
					Thinking *Thinking       `json:"thinking,omitempty"`
					Effort   provider.Effort `json:"effort,omitempty"`
				}{r.Thinking, r.Effort})
				if err != nil || string(got) != want {
					t.Errorf("effort %q: %s, want %s", effort, got, want)
				}
				if effort == "" && (r.Temperature != nil) != tc.hot {
					t.Errorf("temperature kept: %v, want %v", r.Temperature != nil, tc.hot)
				}
				if r.Thinking != nil && r.Thinking.Type != "disabled" && r.Temperature != nil {
					t.Errorf("effort %q: thinking with a temperature", effort)
				}
			}
		})
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		max    int
		effort provider.Effort
		want   int
	}{
		{8192, provider.EffortLow, 2048}, {8192, provider.EffortMedium, 4096}, {8192, provider.EffortHigh, 6144},
		{8192, provider.EffortMax, 7372}, {2000, provider.EffortLow, 1024}, {1600, provider.EffortMax, 1088},
		{1500, provider.EffortMax, 0}, {100, provider.EffortHigh, 0},
	} {
		r := Reason(provider.Request{Options: provider.Options{Model: "claude-sonnet-4-5", Effort: tc.effort}}, tc.max, nil, wire.Learned{})
		got := 0
		if r.Thinking != nil {
			got = r.Thinking.Budget
		}
		if got != tc.want {
			t.Errorf("%s of %d: %d, want %d", tc.effort, tc.max, got, tc.want)
		}
	}
}
