package config

import "strings"

// keyShape is how a provider's keys begin.
type keyShape struct {
	provider string
	begins   string
}

// keyShapes are in an order in which the more special comes first.
func keyShapes() []keyShape {
	return []keyShape{
		{"anthropic", "sk-ant-"},
		{"openrouter", "sk-or-"},
		{"openai", "sk-proj-"},
		{"openai", "sk-svcacct-"},
		{"gemini", "AIza"},
		{"openai", "sk-"},
		{"deepseek", "sk-"},
	}
}

// CheckKeyShape looks whether a text can be a key of the named provider. What
// cannot be one, or is plainly another provider's, is an *Error of kind auth;
// doubt is a line that says what a key looks like, "" when there is none. An
// address of the user's own may take any key.
func (c *Config) CheckKeyShape(name string, key Secret) (doubt string, err error) {
	text := strings.TrimSpace(key.Reveal())
	fail := func(why, hint string) (string, error) {
		return "", &Error{Kind: kindAuth, Where: name, Why: why, Hint: hint}
	}
	if text == "" {
		return fail("no key came", "artoo login "+name+", and paste the key; or artoo login "+name+" < FILE")
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
	if name == "anthropic" && strings.HasPrefix(text, "sk-ant-oat") {
		return fail("this is the token of a subscription, which the API does not take", "a key of the console begins with sk-ant-api")
	}
	own := ""
	for _, s := range keyShapes() {
		switch {
		case s.provider == name && strings.HasPrefix(text, s.begins):
			return "", nil
		case s.provider == name && own == "":
			own = s.begins
		case s.provider != name && len(s.begins) > len("sk-") && strings.HasPrefix(text, s.begins):
			return fail("this looks like a key of "+s.provider, "artoo login "+s.provider)
		}
	}
	if own != "" {
		return "a key of " + name + " mostly begins with " + own, nil
	}
	return "", nil
}
