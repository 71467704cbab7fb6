package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kelseyhightower/envconfig"
)

// TestTheDefectsOfEnvconfigAreThoseWeKnow holds the library to the claims of the package comment: where one of these
// fails, a rule of Settings can go.
func TestTheDefectsOfEnvconfigAreThoseWeKnow(t *testing.T) {
	type nested struct{ Name string }
	for _, test := range []struct {
		defect, env, value string
		spec               any
		defective          func(spec any, err error) bool
	}{
		{"the tag envconfig also reads the name without prefix", "OUR_PAGER", "less",
			&struct {
				Pager string `envconfig:"our_pager"`
			}{}, func(spec any, _ error) bool {
				return spec.(*struct {
					Pager string `envconfig:"our_pager"`
				}).Pager == "less"
			}},
		{"the tag default overwrites what was set", "", "",
			&struct {
				Pager string `default:"less"`
			}{"more"}, func(spec any, _ error) bool {
				return spec.(*struct {
					Pager string `default:"less"`
				}).Pager == "less"
			}},
		{"an empty variable overwrites what was set", "DEFECT_PAGER", "",
			&struct{ Pager string }{"more"}, func(spec any, _ error) bool { return spec.(*struct{ Pager string }).Pager == "" }},
		{"the text of an error shows the value", "DEFECT_LIMIT", "secret",
			&struct{ Limit int }{}, func(_ any, err error) bool { return err != nil && strings.Contains(err.Error(), "secret") }},
		{"a plain list is replaced, and cut at every comma", "DEFECT_RULES", "write(a,b)",
			&struct{ Rules []string }{[]string{"first"}}, func(spec any, _ error) bool {
				return slices.Equal(spec.(*struct{ Rules []string }).Rules, []string{"write(a", "b)"})
			}},
		{"a plain bool does not know yes and on", "DEFECT_QUIET", "yes",
			&struct{ Quiet bool }{}, func(_ any, err error) bool { return err != nil }},
		{"a plain duration needs a unit", "DEFECT_WAIT", "90",
			&struct{ Wait time.Duration }{}, func(_ any, err error) bool { return err != nil }},
		{"a nested struct adds its name to the variable", "DEFECT_USER_NAME", "me",
			&struct{ User nested }{}, func(spec any, _ error) bool { return spec.(*struct{ User nested }).User.Name == "me" }},
		{"a nil pointer to a struct is allocated", "", "",
			&struct{ User *nested }{}, func(spec any, _ error) bool { return spec.(*struct{ User *nested }).User != nil }},
	} {
		t.Run(test.defect, func(t *testing.T) {
			if test.env != "" {
				t.Setenv(test.env, test.value)
			}
			if err := envconfig.Process("DEFECT", test.spec); !test.defective(test.spec, err) {
				t.Errorf("it is gone: %+v, %v", test.spec, err)
			}
		})
	}
}

func TestTheErrorOfAVariableHidesWhatEnvconfigShows(t *testing.T) {
	world(t)
	t.Setenv("ARTOO_MAX_TURNS", "many")
	_, err := load(LoadOptions{})
	wantError(t, err, "usage", `ARTOO_MAX_TURNS: "many" is not a whole number`)
	if strings.Contains(err.Error(), "envconfig") {
		t.Error(err)
	}
}

func TestAnEmptyVariableCountsAsNotSet(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600, "[ui]\npager = \"more\"\n", home, ".config", "artoo", "config.toml")
	t.Setenv("ARTOO_PAGER", "")
	if c := mustLoad(t, LoadOptions{}); c.Pager != "more" {
		t.Errorf("the pager is %q", c.Pager)
	}
}

// Only the variables that are given count, not those of the process.
func TestTheVariablesOfARunAreGiven(t *testing.T) {
	home := world(t)
	t.Setenv("ARTOO_PAGER", "of the process")
	c, err := Load(LoadOptions{Environ: []string{"HOME=" + home, "ARTOO_MAX_TURNS=7"}})
	if err != nil || c.Pager != "" || c.MaxTurns != 7 || c.Origin("max_turns") != "ARTOO_MAX_TURNS" {
		t.Errorf("%q, %d turns of %s, %v", c.Pager, c.MaxTurns, c.Origin("max_turns"), err)
	}
}
