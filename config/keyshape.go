package config

import (
	"strings"

	"artoo/provider"
)

// CheckKeyShape looks whether a text can be a key of the named provider. What
// cannot be one, or is plainly another provider's, is an *Error of kind auth;
// doubt is a line that says what a key looks like, "" when there is none. An
// address of the user's own may take any key.
func (c *Config) CheckKeyShape(name string, key Secret) (doubt string, err error) {
	text := strings.TrimSpace(key.Reveal())
	fail := func(why, hint string) (string, error) {
		return "", wrong(kindAuth, name, why, hint)
	}
	if text == "" {
		return fail("no key came", "artoo login "+name+", and paste the key; or artoo login "+name+" --stdin < FILE")
	}
	if _, err := checkKey(text, name); err != nil {
		return "", err
	}
	if address, _, err := c.Endpoint(name); err != nil || address != "" {
		return "", err
	}
	for _, quote := range []string{`"`, "'", "Bearer", "export", "="} {
		if strings.HasPrefix(text, quote) {
			return fail("the key begins with "+quote, "only the key itself, without quotes or name")
		}
	}
	own, _ := provider.FactsOf(name)
	for _, no := range own.NotKeys {
		if strings.HasPrefix(text, no.Prefix) {
			return fail(no.Why, no.Hint)
		}
	}
	owner, longest := keyOwner(text)
	switch mine := longestPrefix(text, own.KeyPrefixes); {
	case owner != name && longest > max(mine, len("sk-")): // several providers' keys begin so
		return fail("this looks like a key of "+owner, "artoo login "+owner)
	case mine == 0 && len(own.KeyPrefixes) > 0:
		return "a key of " + name + " mostly begins with " + own.KeyPrefixes[0], nil
	}
	return "", nil
}

// keyOwner is the provider whose keys begin most like the text, and with how many
// bytes.
func keyOwner(text string) (name string, longest int) {
	for _, f := range provider.Known() {
		if n := longestPrefix(text, f.KeyPrefixes); n > longest {
			name, longest = f.Name, n
		}
	}
	return name, longest
}

func longestPrefix(text string, prefixes []string) (longest int) {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			longest = max(longest, len(p))
		}
	}
	return longest
}
