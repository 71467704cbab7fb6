package screen

import "artoo/agent"

// spokenCall is a call in a sentence.
func (s *Screen) spokenCall(c agent.Call, result string) string {
	text := "tool: " + callVerb(c)
	if object := s.object(c); object != "" {
		text += " " + object
	}
	if result != "" {
		text += ", " + result
	}
	return s.wrap(text+".", "", "")
}
