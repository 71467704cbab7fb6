package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/config"
	"artoo/provider"
	"artoo/ui/screen"
)

// TestAPriceThatIsSaidInPart: the catalogue has the missing parts of a price; without a
// known price, one that lacks input or output counts as unknown.
func TestAPriceThatIsSaidInPart(t *testing.T) {
	known := &provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	for name, test := range map[string]struct {
		known *provider.Price
		said  config.Price
		want  *provider.Price
	}{
		"all": {nil, config.Price{Input: new(0.5), Output: new(1.5), CacheRead: new(0.1),
			CacheWrite: new(0.6)}, &provider.Price{Input: 0.5, Output: 1.5, CacheRead: 0.1, CacheWrite: 0.6}},
		"free": {known, config.Price{Input: new(0.0), Output: new(0.0)}, new(provider.Price)},
		"both, of a new model": {nil, config.Price{Input: new(0.5), Output: new(1.5)},
			&provider.Price{Input: 0.5, Output: 1.5}},
		"both, of a known model": {known, config.Price{Input: new(1.0), Output: new(2.0)},
			&provider.Price{Input: 1, Output: 2}},
		"input, of a new model":  {nil, config.Price{Input: new(0.5)}, nil},
		"output, of a new model": {nil, config.Price{Output: new(0.5)}, nil},
		"output, of a known model": {known, config.Price{Output: new(9.0)},
			&provider.Price{Input: 3, Output: 9, CacheRead: 0.3, CacheWrite: 3.75}},
		"cache, of a known model": {known, config.Price{CacheRead: new(0.5)},
			&provider.Price{Input: 3, Output: 15, CacheRead: 0.5, CacheWrite: 3.75}},
		"nothing, of an unknown one": {nil, config.Price{}, nil},
	} {
		got := merge(provider.ModelInfo{Price: test.known}, config.Model{Price: &test.said}).Price
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if !known.Equal(provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}) {
		t.Errorf("the catalogue's own was changed: %+v", *known)
	}
}

// A cap counts by the price that is known. A price from long ago, by the clock of the
// run, is said once; one that the user set or the server gives is not old.
func TestAnOldPriceUnderACapIsSaidOnce(t *testing.T) {
	day := time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC)
	listed := func(date string) provider.ModelInfo {
		return provider.ModelInfo{ID: "m", Price: new(provider.Price), PriceFrom: provider.Source{Name: "list", Date: date}}
	}
	for name, test := range map[string]struct {
		cost, daily float64
		model       provider.ModelInfo
		want        string
	}{
		"61 days":         {1, 0, listed("2026-10-31"), "the price of m is 61 days old"},
		"61 days, daily":  {0, 1, listed("2026-10-31"), "artoo models --update"},
		"60 days":         {1, 0, listed("2026-11-01"), "the price of m is 60 days old"},
		"59 days":         {1, 0, listed("2026-11-02"), ""},
		"no cap":          {0, 0, listed("2026-01-01"), ""},
		"the user's own":  {1, 0, provider.ModelInfo{PriceFrom: provider.Source{Name: provider.FromConfig}}, ""},
		"of the future":   {1, 0, listed("2027-05-05"), ""},
		"the price of no": {1, 0, provider.ModelInfo{}, ""},
	} {
		var shown bytes.Buffer
		m := &models{session: &session{began: day, cfg: &config.Config{Settings: config.Settings{MaxCost: config.Number(test.cost), DailyCost: config.Number(test.daily)}},
			screen: screen.New(screen.Options{Out: io.Discard, Err: &shown, Profile: screen.Plain})}}
		m.warnOfOldPrice(test.model)
		m.warnOfOldPrice(test.model)
		got := strings.Join(strings.Fields(shown.String()), " ")
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") || strings.Count(got, "days old") > 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
