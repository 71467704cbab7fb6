package config

import (
	"os"

	"artoo/provider"
)

// Endpoint is the address the settings name for a provider and where it was
// named; "" means the provider's own. ARTOO_BASE_URL counts for the chosen
// provider only. The order is the usual one, environment over file. The
// address of a local server may be one without a scheme, as its variable takes it.
// The error is a *Error for a variable that holds no address.
func (c *Config) Endpoint(name string) (address, source string, err error) {
	general := c.BaseURL != "" && (c.Provider == "" || c.Provider == name)
	if general && c.origins["base_url"].rank >= fromEnvironment {
		return c.BaseURL, c.Origin("base_url"), nil
	}
	if f, _ := provider.FactsOf(name); f.URLVar != "" {
		if text, _ := os.LookupEnv(f.URLVar); text != "" {
			if err := checkURL(text); err != nil && f.Local == nil {
				return "", "", because(kindUsage, f.URLVar, err.Error(), err, "unset "+f.URLVar)
			}
			return text, f.URLVar, nil
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
