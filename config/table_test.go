package config

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheTagsOfSettingsAreRight checks the assumptions of describe.
func TestTheTagsOfSettingsAreRight(t *testing.T) {
	t.Parallel()
	known := []string{"toml", "split_words", "ignored", "flag", "preset", "shown", "choices", "synonym", "max", "zero",
		"empty", "unsplit", "meaning"}
	pair := regexp.MustCompile(`([a-z_]+):"(?:[^"\\]|\\.)*" ?`)
	settings := reflect.TypeFor[Settings]()
	for i := range settings.NumField() {
		f := settings.Field(i)
		if f.Name == "_" {
			if f.Tag.Get("section") == "" || f.Tag.Get("group") == "" {
				t.Errorf("the heading %s lacks section or group", f.Tag)
			}
			continue
		}
		if rest := pair.ReplaceAllString(string(f.Tag), ""); rest != "" {
			t.Errorf("%s: %q is no tag", f.Name, rest)
		}
		for _, tag := range pair.FindAllStringSubmatch(string(f.Tag), -1) {
			if !slices.Contains(known, tag[1]) {
				t.Errorf("%s: nobody reads the tag %s", f.Name, tag[1])
			}
		}
		if most := f.Tag.Get("max"); most != "" {
			if _, err := strconv.ParseFloat(most, 64); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
	}
}

// TestVariablesAndOptionsAgree sets each variable, which envconfig names by the
// field, so that a field's name and a variable's cannot differ.
func TestVariablesAndOptionsAgree(t *testing.T) {
	for _, o := range Options() {
		if o.Env == "" {
			continue
		}
		t.Run(o.Env, func(t *testing.T) {
			home := world(t)
			text := o.example("")
			switch o.Key {
			case "config":
				text = writeFile(t, 0o600, "", home, "my.toml")
			case "profile":
				writeFile(t, 0o600, "[profile."+text+"]\n", home, ".config", "artoo", "config.toml")
			case "provider":
				text = "openai"
			case "shell_timeout_max":
				text = "1h"
			}
			t.Setenv(o.Env, text)
			c := mustLoad(t, LoadOptions{})
			if c.Origin(o.Key) != o.Env || len(c.Warnings) > 0 {
				t.Errorf("from %s; warnings %q", c.Origin(o.Key), c.Warnings)
			}
			if f := reflect.ValueOf(c.Settings).Field(o.field); f.IsZero() {
				t.Errorf("%s leaves its field zero", o.Env)
			}
		})
	}
}

// TestAnEmptyVariableLeavesWhatTheFileSays for every kind of value.
func TestAnEmptyVariableLeavesWhatTheFileSays(t *testing.T) {
	const file = "[provider]\nmodel = \"m\"\ntemperature = 1\noffline = true\neffort = \"low\"\n[agent]\nmax_turns = 7\nmax_time = \"9s\"\n" +
		"system = \"s\"\ntools = [\"read\"]\n[permissions]\nallow = [\"a\"]\n[ui]\nstdin_max = 3\n"
	want := mustFile(t, file)
	for _, o := range Options() {
		if o.Env != "" {
			t.Setenv(o.Env, "")
		}
	}
	got := mustLoad(t, LoadOptions{})
	if diff := cmp.Diff(want.Settings, got.Settings); diff != "" || got.Origin("model") != "config.toml line 2" {
		t.Errorf("model from %s; %s", got.Origin("model"), diff)
	}
}

func TestUnprefixedVariablesAreNotRead(t *testing.T) {
	world(t)
	t.Setenv("MODEL", "wrong")
	t.Setenv("PROVIDER", "openai")
	if c := mustLoad(t, LoadOptions{}); c.Model != "" || c.Provider != "" {
		t.Errorf("model %q, provider %q", c.Model, c.Provider)
	}
}

func TestOptionsAreWellFormed(t *testing.T) {
	t.Parallel()
	keys, flags, shorts := map[string]bool{}, map[string]bool{}, map[string]bool{}
	lower := regexp.MustCompile(`^[a-z][a-z_]*$`)
	dashed := regexp.MustCompile(`^[a-z][a-z-]*$`)
	for _, o := range Options() {
		once := func(set map[string]bool, name string) {
			if name != "" && set[name] {
				t.Errorf("%s: %s is used twice", o.Key, name)
			}
			set[name] = true
		}
		once(keys, o.Key)
		once(flags, o.Flag)
		once(shorts, o.Short)
		for _, a := range o.Aliases {
			once(keys, a)
		}
		if !lower.MatchString(o.Key) || (o.Flag != "" && !dashed.MatchString(o.Flag)) {
			t.Errorf("%s, --%s: badly spelt", o.Key, o.Flag)
		}
		if o.Flag == "" && o.Env == "" {
			t.Errorf("%s can be set nowhere but in the file", o.Key)
		}
		if o.Meaning == "" || strings.HasSuffix(o.Meaning, ".") || o.Group == "" || o.Section == "" {
			t.Errorf("%s: meaning, group or section is wrong", o.Key)
		}
		if o.Flag != "" && (o.Arg == "") != (o.Kind == KindBool) {
			t.Errorf("%s: only switches have no word for their value", o.Key)
		}
		if (o.Kind == KindEnum) != (len(o.Choices) > 0) {
			t.Errorf("%s: choices and kind differ", o.Key)
		}
	}
}

// TestExamplesAreRight proves that the values in hints would be accepted.
func TestExamplesAreRight(t *testing.T) {
	world(t)
	for _, o := range Options() {
		c := mustLoad(t, LoadOptions{})
		if err := (loader{c}).assign(&o, []string{o.example("")}); err != nil {
			t.Errorf("%s: the example %q: %v", o.Key, o.example(""), err)
		}
		if _, err := parseDocument("x", []byte(o.Key+" = "+o.exampleTOML(""))); err != nil {
			t.Errorf("%s: %v", o.Key, err)
		}
	}
}
