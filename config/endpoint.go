package config

// Endpoint is the address the settings name for a provider and where it was
// named; "" means the provider's own. ARTOO_BASE_URL counts for the chosen
// provider only. The order is the usual one, environment over file. The
// address of ollama may be in the form OLLAMA_HOST takes, without a scheme.
// The error is a *Error for a variable that holds no address.
func (c *Config) Endpoint(name string) (address, source string, err error) {
	general := c.BaseURL != "" && (c.Provider == "" || c.Provider == name)
	if general && c.origins["base_url"].rank >= fromEnvironment {
		return c.BaseURL, c.Origin("base_url"), nil
	}
	if k, ok := findKnown(name); ok && k.urlVar != "" {
		if text, _ := c.lookup(k.urlVar); text != "" {
			if _, err := checkURL(text); err != nil && name != "ollama" {
				return "", "", &Error{Kind: kindUsage, Where: k.urlVar, Why: err.Error(), Err: err, Hint: "unset " + k.urlVar}
			}
			return text, k.urlVar, nil
		}
	}
	if general {
		return c.BaseURL, c.Origin("base_url"), nil
	}
	if p, ok := c.Providers[name]; ok && p.BaseURL != "" {
		return p.BaseURL, p.Origin, nil
	}
	return "", "", nil
}
