package config

// Kind is the type of an option's value.
type Kind string

// The kinds; docs/configuration.md says how each is written.
const (
	KindBool     Kind = "bool"
	KindInt      Kind = "int"
	KindFloat    Kind = "float"
	KindDuration Kind = "duration"
	KindBytes    Kind = "bytes"
	KindString   Kind = "string"
	KindList     Kind = "list"
	KindEnum     Kind = "enum"
)

// Option describes one setting. The table of all options, Options, is the one
// source of the flags, the variables, the keys of the file, the help, the
// documentation and what /config shows.
type Option struct {
	Key     string // identity, and the key in the file unless NoFile
	Section string // provider, agent, permissions, ui, session
	Group   string // heading in the help
	Flag    string // long flag without dashes, "" for none
	Short   string // one letter, "" for none
	Arg     string // what the flag's value is called in the help; "" for switches
	Env     string // whole name of the variable, "" for none
	NoFile  bool   // not accepted in the file

	Kind        Kind
	Default     string // as it would be written; "" for none
	DefaultNote string // shown instead of Default where that says too little
	Choices     []string
	Synonyms    map[string]string // other words for some of the choices
	Aliases     []string          // other keys accepted in the file
	AlsoIn      string            // another section of the file in which its aliases are accepted; "" for none
	Meaning     string            // a line or two for people, lower case, without full stop

	Secret   bool    // the value is never shown
	Adds     bool    // lists of several places add up instead of replacing each other
	Unsplit  bool    // each occurrence of the flag is one element, commas and all
	Empty    bool    // the empty string is a value
	Positive bool    // zero is refused
	Max      float64 // largest number accepted; 0 for any

	field string // name of the field in Config and in variables
}

// Shown is the default as the help and the documentation show it, "" for none.
func (o *Option) Shown() string {
	if o.DefaultNote != "" {
		return o.DefaultNote
	}
	return o.Default
}

// Options is the table of all settings, in the order in which help and
// documentation show them. Each call returns a fresh copy.
func Options() []Option {
	var all []Option
	all = append(all, providerOptions()...)
	all = append(all, agentLimits()...)
	all = append(all, agentContext()...)
	all = append(all, permissionOptions()...)
	all = append(all, uiOptions()...)
	all = append(all, inputOptions()...)
	all = append(all, sessionOptions()...)
	return all
}

// FindOption returns the option with this key.
func FindOption(key string) (Option, bool) {
	for _, o := range Options() {
		if o.Key == key {
			return o, true
		}
	}
	return Option{}, false
}
