package config

import (
	"errors"
	"strings"
	"testing"
)

// withVariable loads the settings with one variable set.
func withVariable(t *testing.T, variable string) *Config {
	t.Helper()
	name, value, _ := strings.Cut(variable, "=")
	t.Setenv(name, value)
	c := mustLoad(t, LoadOptions{})
	t.Setenv(name, "")
	return c
}

func TestSettingsThatComeLaterSaySo(t *testing.T) {
	for _, name := range []string{"ARTOO_DAILY_COST=1", "ARTOO_SCHEMA=x.json", "ARTOO_SANDBOX=on"} {
		c := withVariable(t, name)
		var e *Error
		if _, err := c.Later(); !errors.As(err, &e) || e.Kind != "usage" || e.Hint == "" {
			t.Errorf("%s: %v, want a usage error with a hint", name, err)
		}
	}
	for _, name := range []string{"ARTOO_COMPACT=auto"} {
		c := withVariable(t, name)
		if warnings, err := c.Later(); err != nil || len(warnings) != 1 {
			t.Errorf("%s: %q, %v, want one warning", name, warnings, err)
		}
	}
	for _, name := range []string{"ARTOO_QUIET=0", "ARTOO_NOTIFY=bell", "ARTOO_EDIT_MODE=vi"} {
		if warnings, err := withVariable(t, name).Later(); err != nil || len(warnings) != 0 {
			t.Errorf("%s: %q, %v", name, warnings, err)
		}
	}
}

// What is refused or does nothing yet is told where it is described, too.
func TestSettingsThatComeLaterAreDescribedSo(t *testing.T) {
	for _, o := range Options() {
		switch o.Key {
		case "daily_cost", "schema", "sandbox", "compact":
			if !strings.Contains(o.Meaning, "later version") {
				t.Errorf("%s: %q", o.Key, o.Meaning)
			}
		}
	}
}
