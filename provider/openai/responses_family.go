package openai

import (
	"strings"

	"artoo/provider"
)

// modelFamily is what requests to a family of OpenAI's models may hold; else they get a 400.
type modelFamily struct {
	reasons bool // takes an effort, a summary and the encrypted reasoning
	known   bool // the family is in the table; else the least is assumed that any takes
	off     string
	low     string
	highest string
}

// familyOf reads a model's ID. An unknown gpt- is like the newest.
func familyOf(model string) modelFamily {
	id := strings.TrimPrefix(strings.ToLower(model), "ft:")
	id = id[strings.LastIndexByte(id, '/')+1:]
	isO := len(id) > 1 && id[0] == 'o' && id[1] >= '1' && id[1] <= '9'
	rest, isGPT := strings.CutPrefix(id, "gpt-")
	codex := strings.Contains(id, "codex")
	newest := modelFamily{reasons: true, known: true, off: "none", low: "low", highest: "xhigh"}
	switch {
	case isO, strings.HasPrefix(id, "codex-"), strings.HasPrefix(rest, "oss"):
		return modelFamily{reasons: true, known: true, off: "low", low: "low", highest: "high"}
	case strings.HasPrefix(id, "chatgpt-"), isGPT && (strings.HasPrefix(rest, "3") || strings.HasPrefix(rest, "4")),
		isGPT && strings.Contains(rest, "-chat"):
		return modelFamily{known: true}
	case !isGPT:
		return modelFamily{off: "none", low: "low", highest: "xhigh"}
	case rest == "5-pro" || strings.HasPrefix(rest, "5-pro-"):
		return modelFamily{reasons: true, known: true, off: "high", low: "high", highest: "high"}
	case rest == "5" || strings.HasPrefix(rest, "5-"):
		newest.off, newest.highest = "minimal", "high"
	case strings.HasPrefix(rest, "5.1") && !strings.Contains(rest, "codex-max"):
		newest.highest = "high"
	case strings.Contains(rest, "-pro"):
		newest.off, newest.low = "medium", "medium"
	}
	if codex {
		newest.off = "low"
	}
	return newest
}

// effort is the family's word for an effort, "" where none is sent.
func (f modelFamily) effort(e provider.Effort) string {
	if f.known && !f.reasons {
		return ""
	}
	switch e {
	case provider.EffortOff:
		return f.off
	case provider.EffortLow:
		return f.low
	case provider.EffortMedium:
		if f.low == "high" {
			return f.low // a family that knows no other
		}
		return "medium"
	case provider.EffortHigh:
		return "high"
	case provider.EffortMax:
		return f.highest
	}
	return ""
}

// takesTemperature reports whether a request with this effort may set a temperature.
func (f modelFamily) takesTemperature(effort string) bool {
	return !f.reasons || effort == "none"
}
