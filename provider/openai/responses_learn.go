package openai

import (
	"fmt"
	"maps"
	"strings"

	"artoo/provider"
)

// fields are parts of a request that some models, or some accounts, do not take.
type fields uint8

const (
	fieldTemperature fields = 1 << iota
	fieldEffort
	fieldSummary   // of the reasoning; only for organisations that OpenAI has verified
	fieldEncrypted // the encrypted reasoning
	fieldItemIDs   // the ids of the items that the model made
)

// limits are what requests to a model leave out by now.
type limits struct {
	fields
	dead map[string]bool // reasoning items, as they came
}

// refusals are the words with which a field is refused. What a family of models
// takes is in a table (see modelFamily); these are for what the table cannot know.
var refusals = [...]struct {
	words string
	field fields
}{
	{"'temperature'", fieldTemperature},
	{"'reasoning.effort'", fieldEffort},
	{"'reasoning.summary'", fieldSummary},
	{"reasoning summaries", fieldSummary},
	{"encrypted content is not supported", fieldEncrypted},
	{"item with id", fieldItemIDs}, // … not found: some servers look for it, though nothing is stored
	{"duplicate item found", fieldItemIDs},
}

// lostReasoning are the words with which a server refuses the reasoning of a
// history: it cannot read what another key or organisation was given, or it does
// not find it beside the item that belongs to it.
var lostReasoning = [...]string{
	"item with id", "invalid_encrypted_content", "could not be verified", "could not be decrypted",
	"without its required following item", "without its required 'reasoning' item", "item_id mismatch",
}

// without is what requests to a model leave out by now. The map in it is the
// caller's own.
func (p *Responses) without(model string) limits {
	p.mu.Lock()
	defer p.mu.Unlock()
	return limits{fields: p.refused[model], dead: maps.Clone(p.dead)}
}

// learn remembers what the server refused. It reports whether the request, which
// was made without some, may succeed now, and what the user must know. What was
// not even sent is no news, so this cannot go on for ever.
func (p *Responses) learn(e *provider.Error, req provider.Request, without limits) (learned bool, notice string) {
	said := strings.ToLower(e.Code + " " + e.Message)
	for _, r := range refusals {
		if without.fields&r.field != 0 || !strings.Contains(said, r.words) {
			continue
		}
		if e.Kind != provider.KindInvalid && r.field != fieldItemIDs { // an item that is not found is a 404
			continue
		}
		p.mu.Lock()
		if p.refused == nil {
			p.refused = map[string]fields{}
		}
		p.refused[req.Model] |= r.field
		p.mu.Unlock()
		switch {
		case r.field == fieldTemperature:
			notice = req.Model + " does not take a temperature: it is left out"
		case r.field == fieldEffort && req.Effort != "":
			notice = fmt.Sprintf("%s does not take the effort %s: it thinks as it does by itself", req.Model, req.Effort)
		}
		return true, notice
	}
	for _, words := range lostReasoning {
		if strings.Contains(said, words) {
			return p.giveUpReasoning(req, without)
		}
	}
	return false, ""
}

// giveUpReasoning leaves out all the reasoning that a refused request held: the
// server does not say which item it minds, and without any it takes the rest.
func (p *Responses) giveUpReasoning(req provider.Request, without limits) (learned bool, notice string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead == nil {
		p.dead = map[string]bool{}
	}
	for _, m := range req.Messages {
		if m.Provider != p.Name || m.Model != req.Model || m.Partial {
			continue // was not sent
		}
		for _, part := range m.Parts {
			r, ok := part.(provider.Reasoning)
			if !ok || without.dead[r.Opaque] {
				continue
			}
			if _, ok := replayable(r); ok {
				p.dead[r.Opaque], learned = true, true
			}
		}
	}
	return learned, "the server no longer takes the reasoning of this conversation so far: it is left out"
}
