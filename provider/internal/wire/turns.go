package wire

import (
	"slices"

	"artoo/provider"
)

// Turn holds the messages of one side before the other's, for APIs whose roles must take turns.
type Turn struct {
	Model bool // it is the model that speaks
	// Parts are at least one. Results stand in front of everything else; calls have objects as arguments, and names and
	// IDs that the API takes.
	Parts []provider.Part
}

// Turns joins the messages of a request to the provider of the given name. Reasoning that is not the model's own, or that
// keep refuses, is left out, and so are blank texts.
func Turns(name string, req provider.Request, l Learned, nameLimit, idLimit int, keep func(provider.Reasoning) bool) (turns []Turn) {
	ids := IDsOf(name, req, idLimit)
	for _, m := range req.Messages {
		turn := Turn{Model: m.Role == provider.RoleAssistant}
		own := ids.Own(m)
		for _, p := range m.Parts {
			switch q := p.(type) {
			case provider.Text:
				if Blank(q.Text) {
					continue
				}
			case provider.Reasoning:
				if !turn.Model || !own || l.Forgotten(q.Opaque) || !keep(q) {
					continue
				}
			case provider.ToolCall:
				if !turn.Model || m.Partial {
					continue
				}
				q.ID, q.Name = ids.Call(q.ID, m.Provider), provider.ToolName(q.Name, nameLimit)
				q.Input, _ = Object(q.Input)
				p = q
			case provider.Image:
				if turn.Model {
					continue
				}
			case provider.ToolResult:
				if turn.Model {
					continue
				}
				q.CallID = ids.Result(q.CallID)
				if Blank(q.Text) {
					q.Text = ""
					if len(q.Images) == 0 {
						q.Text = "(no output)"
					}
				}
				p = q
			}
			turn.Parts = append(turn.Parts, p)
		}
		if n := len(turns); n > 0 && turns[n-1].Model == turn.Model {
			turns[n-1].Parts = append(turns[n-1].Parts, turn.Parts...)
		} else if len(turn.Parts) > 0 {
			turns = append(turns, turn)
		}
	}
	for _, turn := range turns {
		slices.SortStableFunc(turn.Parts, func(a, b provider.Part) int { return place(a) - place(b) })
	}
	return turns
}

// place is that of a part in its turn.
func place(p provider.Part) int {
	if _, result := p.(provider.ToolResult); result {
		return 0
	}
	return 1
}

// LeftOut is the sentence in place of an image whose format these APIs refuse, or "".
func LeftOut(img provider.Image) string {
	switch img.MediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return ""
	}
	return "(an image of type " + img.MediaType + " was left out: this model takes JPEG, PNG, GIF and WebP)"
}
