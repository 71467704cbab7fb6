package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// envPrefix is the prefix of artoo's own variables, as envconfig wants it.
const envPrefix = "ARTOO"

// setting is a setting of a config that is being made: what envconfig decodes its
// variable with.
type setting struct {
	option *Option
	config *Config
}

// Decode takes the variable's text over. An empty one counts as not set: the
// field stays as it is. The error is an *Error.
func (s setting) Decode(text string) error {
	if text == "" {
		return nil
	}
	o, texts := s.option, []string{text}
	if o.Kind == KindList {
		texts = splitList(text)
	}
	if err := s.config.assign(o, texts); err != nil {
		return because(kindUsage, o.Env, err.Error(), err, o.Env+"="+o.example(text))
	}
	s.config.noteOrigin(o, fromEnvironment, o.Env)
	s.config.noteRules(o, texts, o.Env)
	return nil
}

// applyVariables lets envconfig find and decode the variables. The struct it walks
// has the fields of Settings with their decoders, since the type of a field alone
// knows neither choices nor range. Two tags of envconfig must not be used:
// `envconfig`, which names a variable, also reads the one without prefix, so that
// DEBUG or PAGER would count, and `default` overwrites what the file set.
func (c *Config) applyVariables() error {
	before := c.chosen()
	var fields []reflect.StructField
	var settings []setting
	for _, o := range Options() {
		if o.Env != "" {
			name := reflect.TypeFor[Settings]().Field(o.field).Name
			fields = append(fields, reflect.StructField{Name: name, Type: reflect.TypeFor[setting](),
				Tag: `split_words:"true"`})
			settings = append(settings, setting{&o, c})
		}
	}
	spec := reflect.New(reflect.StructOf(fields))
	for i, s := range settings {
		spec.Elem().Field(i).Set(reflect.ValueOf(s))
	}
	err := envconfig.Process(envPrefix, spec.Interface())
	if wrong := (*envconfig.ParseError)(nil); errors.As(err, &wrong) {
		return wrong.Err // of Decode: the error around it shows the value
	}
	c.untie(before, fromEnvironment)
	return err
}

// unknownVariables warns of ARTOO_* variables that no option has; they are
// most often misspelt.
func unknownVariables() []string {
	known := map[string]bool{}
	var names []string
	for _, o := range Options() {
		if o.Env != "" {
			known[o.Env] = true
			names = append(names, o.Env)
		}
	}
	var warnings []string
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix+"_") || value == "" || known[name] {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("%s: no such variable%s", name, didYouMean(name, names)))
	}
	sort.Strings(warnings)
	return warnings
}
