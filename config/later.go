package config

// Later says which settings this version cannot keep yet. A cap or a guard that
// would silently not hold is the error, of kind usage; what is comfort only is
// a line for stderr each.
func (c *Config) Later() (warnings []string, err error) {
	for _, l := range []struct {
		key  string
		set  bool
		hint string // what to do instead of a guard; "" marks comfort
	}{
		{"daily_cost", c.DailyCost > 0, "--max-cost caps a run"},
		{"schema", c.Schema != "", "ask for JSON in the prompt, and check it"},
		{"sandbox", c.Sandbox == "on", "ARTOO_SANDBOX=auto; commands are asked about"},
		{"compact", c.Compact == "auto", ""},
	} {
		switch {
		case !l.set:
		case l.hint == "":
			warnings = append(warnings, c.Origin(l.key)+" comes with a later version and does nothing yet")
		default:
			return warnings, &Error{Kind: kindUsage, Where: c.Origin(l.key), Why: "comes with a later version", Hint: l.hint}
		}
	}
	return warnings, nil
}
