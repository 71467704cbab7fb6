package config

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kelseyhightower/envconfig"
)

// sections maps the embedded structs of Config to the sections of the file.
func sections() map[string]string {
	return map[string]string{
		"ProviderSettings": "provider", "AgentSettings": "agent", "PermissionSettings": "permissions",
		"UISettings": "ui", "SessionSettings": "session",
	}
}

func TestOptionsAndConfigAgree(t *testing.T) {
	options := map[string]Option{}
	for _, o := range Options() {
		if _, twice := options[o.field]; twice {
			t.Errorf("two options for the field %s", o.field)
		}
		options[o.field] = o
	}
	seen := map[string]bool{}
	config := reflect.TypeFor[Config]()
	for name, section := range sections() {
		group, ok := config.FieldByName(name)
		if !ok || !group.Anonymous {
			t.Fatalf("Config does not embed %s", name)
		}
		for i := range group.Type.NumField() {
			f := group.Type.Field(i)
			o, ok := options[f.Name]
			if !ok {
				t.Errorf("no option for the field %s", f.Name)
				continue
			}
			seen[f.Name] = true
			if o.Section != section {
				t.Errorf("option %s is in section %s, its field in %s", o.Key, o.Section, name)
			}
			if want := kindOf(f.Type, o); want != o.Kind {
				t.Errorf("option %s has kind %s, its field is a %s", o.Key, o.Kind, f.Type)
			}
		}
	}
	for field := range options {
		if !seen[field] {
			t.Errorf("no field for the option %s", field)
		}
	}
}

// kindOf is the kind a field's type stands for.
func kindOf(typ reflect.Type, o Option) Kind {
	switch typ {
	case reflect.TypeFor[bool]():
		return KindBool
	case reflect.TypeFor[int]():
		return KindInt
	case reflect.TypeFor[float64](), reflect.TypeFor[*float64]():
		return KindFloat
	case reflect.TypeFor[time.Duration]():
		return KindDuration
	case reflect.TypeFor[Bytes]():
		return KindBytes
	case reflect.TypeFor[[]string]():
		return KindList
	case reflect.TypeFor[string](), reflect.TypeFor[Secret]():
		if len(o.Choices) > 0 {
			return KindEnum
		}
		return KindString
	}
	return ""
}

// TestVariablesAndOptionsAgree sets each variable and asks envconfig which
// field it goes to, so that a field's name and a variable's cannot differ.
func TestVariablesAndOptionsAgree(t *testing.T) {
	world(t)
	fields := reflect.TypeFor[variables]()
	want := map[string]bool{}
	for _, o := range Options() {
		if o.Env == "" {
			continue
		}
		want[o.field] = true
		t.Run(o.Env, func(t *testing.T) {
			t.Setenv(o.Env, "x")
			var vars variables
			if err := envconfig.Process(envPrefix, &vars); err != nil {
				t.Fatal(err)
			}
			p, ok := reflect.ValueOf(vars).FieldByName(o.field).Interface().(*string)
			if !ok || p == nil || *p != "x" {
				t.Errorf("envconfig does not read %s into %s", o.Env, o.field)
			}
		})
		if !o.NoFile && o.Env != "ARTOO_"+strings.ToUpper(o.Key) {
			t.Errorf("variable %s and key %s differ", o.Env, o.Key)
		}
	}
	for i := range fields.NumField() {
		f := fields.Field(i)
		if !want[f.Name] {
			t.Errorf("no option reads the variable of the field %s", f.Name)
		}
		if _, tagged := f.Tag.Lookup("envconfig"); tagged {
			t.Errorf("%s has the tag that also reads the unprefixed variable", f.Name)
		}
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

// TestExamplesAreRight proves that what a hint proposes would be accepted.
func TestExamplesAreRight(t *testing.T) {
	world(t)
	for _, o := range Options() {
		c := mustLoad(t, LoadOptions{})
		if err := c.assign(&o, []string{o.example("")}); err != nil {
			t.Errorf("%s: the example %q: %v", o.Key, o.example(""), err)
		}
		if _, err := parseDocument("x", []byte(o.Key+" = "+o.exampleTOML(""))); err != nil {
			t.Errorf("%s: %v", o.Key, err)
		}
	}
}
