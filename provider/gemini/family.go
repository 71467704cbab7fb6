package gemini

import (
	"strconv"
	"strings"

	"artoo/provider"
)

// family is what can be read out of a model's id, such as gemini-2.5-flash-lite,
// gemini-3.1-pro-preview, models/gemini-flash-latest.
type family struct {
	gemini bool
	kind   string // pro, flash, lite or another word
	// version is major*100+minor; an alias without one is the newest.
	version int
}

const newest = 99_99

func parseFamily(model string) family {
	_, rest, found := strings.Cut(strings.ToLower(model), "gemini")
	f := family{gemini: found, version: newest}
	if !found {
		return f
	}
	words := strings.FieldsFunc(rest, func(r rune) bool { return r == '-' || r == '_' || r == '/' || r == ':' })
	for _, w := range words {
		major, minor, _ := strings.Cut(w, ".")
		n, err := strconv.Atoi(major)
		switch {
		case err == nil && f.version == newest && n < 100:
			m, err := strconv.Atoi(minor)
			if err != nil || m < 0 || m > 99 {
				m = 0
			}
			f.version = n*100 + m
		case w == "pro", w == "flash" && f.kind == "", w == "lite":
			f.kind = w
		}
	}
	return f
}

// thinks reports whether the family reasons before it answers; the others refuse
// any word about it.
func (f family) thinks() bool { return f.gemini && f.version >= 205 }

// byLevel reports whether the effort is a word (from 3 on) and not a number of
// tokens.
func (f family) byLevel() bool { return f.gemini && f.version >= 300 }

// needsSignatures reports whether the first call of each step must carry one.
func (f family) needsSignatures() bool { return f.byLevel() }

// nestsImages reports whether the images of a tool's result stand inside of it.
func (f family) nestsImages() bool { return f.byLevel() }

// thinkingConfig says how hard to think; either a budget or a level, never both.
type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitempty"`
	Budget          *int   `json:"thinkingBudget,omitempty"`
	Level           string `json:"thinkingLevel,omitempty"`
}

// think maps an effort to the family's words, nil to none. An unset effort only
// asks to see the reasoning: how much there is is then the model's own choice.
// limit is the reply's, which includes the reasoning; 0 when it has none.
func (f family) think(effort provider.Effort, limit int) *thinkingConfig {
	switch {
	case !f.thinks():
		return nil
	case effort == "" && f.kind == "lite" && !f.byLevel():
		return nil // it does not think unless told to, and refuses to show what is not there
	case effort == "":
		return &thinkingConfig{IncludeThoughts: true}
	case f.byLevel():
		return &thinkingConfig{IncludeThoughts: true, Level: f.level(effort)}
	}
	budget := f.budget(effort, limit)
	return &thinkingConfig{IncludeThoughts: budget != 0, Budget: &budget}
}

// level is the word for an effort. Pro cannot do without thinking, and the first
// of its line knew no middle.
func (f family) level(effort provider.Effort) string {
	switch effort {
	case provider.EffortOff:
		if f.kind == "pro" {
			return "LOW"
		}
		return "MINIMAL"
	case provider.EffortLow:
		return "LOW"
	case provider.EffortMedium:
		if f.kind == "pro" && f.version == 300 {
			return "HIGH"
		}
		return "MEDIUM"
	}
	return "HIGH"
}

// The budgets that 2.5 takes, in tokens.
const (
	leastPro  = 128
	leastLite = 512
	mostPro   = 32_768
	mostFlash = 24_576
)

// budget is a share of the reply's tokens, within what the model takes.
func (f family) budget(effort provider.Effort, limit int) int {
	least, most := 0, mostFlash
	switch f.kind {
	case "pro":
		least, most = leastPro, mostPro // it cannot do without
	case "lite":
		least = leastLite
	}
	if effort == provider.EffortOff && f.kind != "pro" {
		return 0
	}
	if limit <= 0 {
		limit = most
	}
	return min(max(limit*effort.Share()/100, least), most)
}
