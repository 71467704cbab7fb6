package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/config"
	"artoo/provider"
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
	if *known != (provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}) {
		t.Errorf("the catalogue's own was changed: %+v", *known)
	}
}
