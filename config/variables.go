package config

import (
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// envPrefix is the prefix of artoo's own variables, as envconfig wants it.
const envPrefix = "ARTOO"

// variables is what envconfig fills. Every field is a pointer to the text as
// it stands in the environment: nil tells an unset variable from a set one,
// and the text is parsed where the file's and the flags' values are, with one
// set of messages. The names come from the fields; envconfig's own tag for
// names must not be used, because with it the unprefixed variable is read too.
type variables struct {
	Model          *string `split_words:"true"`
	Provider       *string `split_words:"true"`
	APIKey         *string `split_words:"true"`
	APIKeyFile     *string `split_words:"true"`
	BaseURL        *string `split_words:"true"`
	CAFile         *string `split_words:"true"`
	Offline        *string `split_words:"true"`
	Effort         *string `split_words:"true"`
	Temperature    *string `split_words:"true"`
	IdleTimeout    *string `split_words:"true"`
	RequestTimeout *string `split_words:"true"`

	MaxTokens          *string `split_words:"true"`
	MaxContextTokens   *string `split_words:"true"`
	ToolResultMaxChars *string `split_words:"true"`
	MaxTurns           *string `split_words:"true"`
	MaxCost            *string `split_words:"true"`
	MaxTotalTokens     *string `split_words:"true"`
	MaxTime            *string `split_words:"true"`
	DailyCost          *string `split_words:"true"`
	MaxRetryTime       *string `split_words:"true"`
	MaxConcurrentTools *string `split_words:"true"`
	ShellTimeout       *string `split_words:"true"`
	ShellTimeoutMax    *string `split_words:"true"`
	Compact            *string `split_words:"true"`
	Tools              *string `split_words:"true"`
	System             *string `split_words:"true"`
	AppendSystem       *string `split_words:"true"`
	AddDirs            *string `split_words:"true"`

	Approval *string `split_words:"true"`
	Allow    *string `split_words:"true"`
	Ask      *string `split_words:"true"`
	Deny     *string `split_words:"true"`
	Sandbox  *string `split_words:"true"`
	PassEnv  *string `split_words:"true"`
	Writable *string `split_words:"true"`

	Output    *string `split_words:"true"`
	Schema    *string `split_words:"true"`
	Quiet     *string `split_words:"true"`
	UI        *string `split_words:"true"`
	Color     *string `split_words:"true"`
	Status    *string `split_words:"true"`
	Notify    *string `split_words:"true"`
	History   *string `split_words:"true"`
	Pager     *string `split_words:"true"`
	EditMode  *string `split_words:"true"`
	Stdin     *string `split_words:"true"`
	StdinWait *string `split_words:"true"`
	StdinMax  *string `split_words:"true"`

	Ephemeral *string `split_words:"true"`
	Debug     *string `split_words:"true"`
	Log       *string `split_words:"true"`
	Config    *string `split_words:"true"`
	NoProject *string `split_words:"true"`
}

// readVariables returns the ARTOO_* variables that are set and not empty, by
// the key of their option.
func readVariables(options []Option) (map[string]string, error) {
	var vars variables
	if err := envconfig.Process(envPrefix, &vars); err != nil {
		return nil, fmt.Errorf("reading the environment: %w", err)
	}
	set := map[string]string{}
	fields := reflect.ValueOf(vars)
	for i := range options {
		if options[i].Env == "" {
			continue
		}
		text, ok := fields.FieldByName(options[i].field).Interface().(*string)
		if ok && text != nil && *text != "" {
			set[options[i].Key] = *text
		}
	}
	return set, nil
}

// unknownVariables warns of ARTOO_* variables that no option has; they are
// most often misspelt.
func unknownVariables(options []Option) []string {
	known := map[string]bool{}
	var names []string
	for _, o := range options {
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
