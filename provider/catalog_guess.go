package provider

import "strings"

// The window that nearly every model with tools has, the reply every server
// grants, and the window without which nothing can be done.
const (
	guessContext = 128_000
	guessOutput  = 8_192
	leastContext = 4_096
)

// demoModel is the one that no list has.
func demoModel() ModelInfo {
	return ModelInfo{ID: "demo", Provider: "demo", Name: "the scripted demo", Context: guessContext, MaxOutput: guessOutput,
		Price: new(Price), PriceFrom: Source{Name: FromNature}, Tools: true}
}

// guess makes up the facts of a model that is not in the catalogue.
func guess(vendor, id string) ModelInfo {
	info := ModelInfo{Provider: vendor, Context: guessContext, MaxOutput: guessOutput, Tools: true}
	if maker, f := familyOf(id); maker != "" {
		info.MaxOutput, info.Images, info.Reasoning = f.MaxOutput, f.Images, f.Reasoning
		if info.Provider == "" && !f.Open {
			info.Provider = maker
		}
	}
	if info.Provider == "" && seesByName(id) {
		info.Images = true
	}
	info.ID, info.Name, info.Guess, info.ContextFrom = id, id, true, Source{Name: FromGuess}
	return info
}

// seesByName knows open models that see by a word of their names: anyone may
// serve them, under nearly any name.
func seesByName(id string) bool {
	id = strings.ToLower(id)
	for _, word := range []string{"llava", "vision", "pixtral", "moondream", "internvl", "minicpm-v", "-vl",
		"2vl", "2.5vl", "3vl"} {
		if strings.Contains(id, word) {
			return true
		}
	}
	return false
}
