package sweep

import (
	"slices"
	"testing"
)

// silent logs nothing, so that its sweeps are not counted.
type silent struct{ testing.TB }

func (silent) Logf(string, ...any) {}

func TestAnySampleIsChosenByTheSeed(t *testing.T) {
	t.Setenv(Variable, "20260101")
	one, again := Cases(silent{t}, 10, 1000), Cases(silent{t}, 10, 1000)
	t.Setenv(Variable, "20260102")
	if other := Cases(silent{t}, 10, 1000); !slices.Equal(one, again) || slices.Equal(one, other) || !slices.IsSorted(one) || slices.Contains(one, 1000) {
		t.Errorf("%v, %v, and with another seed %v", one, again, other)
	}
}

func TestAnySweepIsWholeWhereThatIsAsked(t *testing.T) {
	t.Setenv(Variable, "all")
	if got := Cases(silent{t}, 1, 3); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("%v", got)
	}
}
