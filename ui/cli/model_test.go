package cli

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/config"
	"artoo/conversation"
	"artoo/provider"
	"artoo/ui"
)

// TestAPriceThatIsSaidInPart: what is left out is the catalogue's, and where it
// has none nothing costs nothing because of it.
func TestAPriceThatIsSaidInPart(t *testing.T) {
	known := &provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	for name, test := range map[string]struct {
		known *provider.Price
		said  config.Price
		want  *provider.Price
	}{
		"all":                        {nil, config.Price{Input: new(0.5), Output: new(1.5), CacheRead: new(0.1), CacheWrite: new(0.6)}, &provider.Price{Input: 0.5, Output: 1.5, CacheRead: 0.1, CacheWrite: 0.6}},
		"free":                       {known, config.Price{Input: new(0.0), Output: new(0.0)}, new(provider.Price)},
		"both, of a new model":       {nil, config.Price{Input: new(0.5), Output: new(1.5)}, &provider.Price{Input: 0.5, Output: 1.5}},
		"both, of a known model":     {known, config.Price{Input: new(1.0), Output: new(2.0)}, &provider.Price{Input: 1, Output: 2}},
		"input, of a new model":      {nil, config.Price{Input: new(0.5)}, nil},
		"output, of a new model":     {nil, config.Price{Output: new(0.5)}, nil},
		"output, of a known model":   {known, config.Price{Output: new(9.0)}, &provider.Price{Input: 3, Output: 9, CacheRead: 0.3, CacheWrite: 3.75}},
		"cache, of a known model":    {known, config.Price{CacheRead: new(0.5)}, &provider.Price{Input: 3, Output: 15, CacheRead: 0.5, CacheWrite: 3.75}},
		"nothing, of an unknown one": {nil, config.Price{}, nil},
	} {
		got := merge(provider.ModelInfo{Price: test.known}, config.Model{Price: &test.said}).Price
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if *known != (provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}) {
		t.Errorf("the catalogue's own was changed: %+v", *known)
	}
}

// describes answers with one description after another, the last of them for ever.
type describes []provider.ModelInfo

func (d *describes) Describe(context.Context, string) (provider.ModelInfo, error) {
	info := (*d)[0]
	if len(*d) > 1 {
		*d = (*d)[1:]
	}
	return info, nil
}

// TestAGuessDoesNotUndoWhatATurnLearned: a server that does not tell the window is
// asked before each turn; a model that refused pictures in the turn before still
// does not see, until the server knows better.
func TestAGuessDoesNotUndoWhatATurnLearned(t *testing.T) {
	talks := conversation.New(conversation.Config{}, nil)
	a := &app{cfg: &config.Config{}, desk: &ui.Desk{Agent: &agent.Agent{Conversation: talks}}}
	a.cfg.MaxTokens, a.cfg.MaxContextTokens = 1000, 50_000
	ag := a.desk.Agent
	guess := provider.ModelInfo{Context: 40_000, Images: true, Guess: true}
	ag.Describe = a.describer(&describes{guess, guess, {Context: 20_000, Images: true}}, config.Choice{Provider: "compatible", Model: "m"})
	ag.Describe(t.Context())
	if !ag.Info.Images || talks.Budget() != 39_000 {
		t.Fatalf("a guess is not taken over: %+v, budget %d", ag.Info, talks.Budget())
	}
	ag.Info.Images = false
	talks.SetBudget(30_000)
	ag.Describe(t.Context())
	if ag.Info.Images || talks.Budget() != 30_000 {
		t.Errorf("what was learned is lost: %+v, budget %d", ag.Info, talks.Budget())
	}
	ag.Describe(t.Context())
	if !ag.Info.Images || talks.Budget() != 19_000 || ag.Describe != nil {
		t.Errorf("what the server knows is not taken over: %+v, budget %d", ag.Info, talks.Budget())
	}
}
