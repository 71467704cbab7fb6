package gemini

import (
	"net/http"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// formThought marks a thought: a text part that says that it is one.
const formThought = "thought"

// Done implements wire.Decoder. A reply without a finishReason is one that broke
// off.
func (d *decoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.Usage, Detail: d.detail}
	if d.stop == "" {
		return done, wire.ErrCut
	}
	if len(d.parts) == 0 && stopReason(d.stop, false) == provider.StopComplete {
		// A slip of these models: the same request mostly gets an answer.
		return done, &provider.Error{Kind: provider.KindProvider, Code: d.stop, Message: "the model answered with nothing"}
	}
	var parts []provider.Part
	for _, g := range d.parts {
		switch g.kind {
		case "call":
			c := wire.NewCall(g.id, g.name, g.arguments())
			c.Opaque = g.signature
			parts = append(parts, c)
		case formThought:
			parts = append(parts, provider.Reasoning{Text: g.text.String(), Form: formThought, Opaque: g.signature})
		default:
			parts = append(parts, provider.Text{Text: g.text.String(), Opaque: g.signature})
		}
	}
	done.Message = d.Message(parts)
	done.Stop = stopReason(d.stop, len(done.Message.Calls()) > 0)
	if done.Stop == provider.StopRefusal && done.Detail == "" {
		done.Detail = stoppedBy(d.stop)
	}
	return done, nil
}

// stopReason maps the words for the end. That there are calls to run is told by
// the calls: the word beside them is STOP as well.
func stopReason(word string, calls bool) provider.StopReason {
	switch word {
	case "MAX_TOKENS":
		return provider.StopMaxTokens
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER", "NO_IMAGE", "MODEL_ARMOR":
		return provider.StopRefusal
	}
	if calls {
		return provider.StopToolUse
	}
	return provider.StopComplete
}

// stoppedBy words the end of a reply that a filter stopped.
func stoppedBy(word string) string {
	why := ""
	switch word {
	case "RECITATION", "IMAGE_RECITATION":
		why = "it came too close to a text that others own"
	case "LANGUAGE":
		why = "it is in a language that the model does not have"
	case "SPII":
		why = "it holds data of a person"
	case "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "MODEL_ARMOR", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT":
		why = "its safety filter objects"
	default:
		return "the provider stopped the reply (" + word + ")"
	}
	return "the provider stopped the reply: " + why + " (" + word + ")"
}

// failed is the error that some words for the end stand for, nil for the others:
// the model's own slips, which another try mends, and a reply that stopped for a
// reason nobody names.
func failed(word, message string) *provider.Error {
	what := ""
	switch word {
	case "MALFORMED_FUNCTION_CALL":
		what = "the model wrote a call that cannot be read"
	case "UNEXPECTED_TOOL_CALL":
		what = "the model called a tool that it was not given"
	case "TOO_MANY_TOOL_CALLS":
		what = "the model made too many calls in a row"
	case "MALFORMED_RESPONSE":
		what = "the model wrote an answer that cannot be read"
	case "OTHER":
		what = "the server broke the reply off without saying why"
	case "MISSING_THOUGHT_SIGNATURE":
		return &provider.Error{Kind: provider.KindInvalid, Status: http.StatusBadRequest, Code: word,
			Message: "the history is missing a thought_signature"}
	default:
		return nil
	}
	if message != "" {
		what += ": " + message
	}
	return &provider.Error{Kind: provider.KindProvider, Code: word, Message: what}
}

// blocked is the error for a prompt that a filter stopped.
func blocked(reason, message string) *provider.Error {
	what := "the request was blocked: " + reason
	if message != "" {
		what += ": " + message
	}
	return &provider.Error{Kind: provider.KindRefused, Code: reason, Message: what}
}
