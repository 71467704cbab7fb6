package provider

import (
	"encoding/json"
	"slices"
)

// scanMessage reads a message as MarshalJSON writes it; ok is false for one of another
// form, and for images, which are long. Long sessions are read at the start of the
// program.
func scanMessage(data []byte) (m Message, ok bool) {
	s := Scanner{Data: data}
	s.Object(func(name []byte) {
		switch string(name) {
		case "role":
			m.Role = Role(s.String())
		case "provider":
			m.Provider = s.String()
		case "model":
			m.Model = s.String()
		case "answered":
			m.Answered = s.String()
		case "partial":
			m.Partial = s.Bool()
		case "parts":
			if m.Parts != nil { // encoding/json leaves in the parts what those before had
				s.Fail()
			}
			s.Array(func() { m.Parts = append(m.Parts, scanPart(&s)) })
		default:
			s.Fail()
		}
	})
	m.Role = knownRole(m.Role)
	return m, s.Done()
}

// knownRole is the role without a copy of its own for each message.
func knownRole(r Role) Role {
	for _, known := range []Role{RoleUser, RoleAssistant, RoleTool} {
		if r == known {
			return known
		}
	}
	return r
}

// scanPart reads a part; nil fails the scanner.
func scanPart(s *Scanner) Part {
	var p partJSON
	s.Object(func(name []byte) {
		switch string(name) {
		case "type":
			p.Type = s.String()
		case "note":
			p.Note = Note(s.String())
		case "text":
			p.Text = s.String()
		case "form":
			p.Form = s.String()
		case "opaque":
			p.Opaque = s.String()
		case "id":
			p.ID = s.String()
		case "name":
			p.Name = s.String()
		case "input":
			p.Input = slices.Clone(json.RawMessage(s.Raw()))
		case "raw":
			p.Raw = s.String()
		case "call_id":
			p.CallID = s.String()
		case "is_error":
			p.IsError = s.Bool()
		case "file":
			p.File = s.String()
		case "effect":
			if p.Effect != nil || json.Unmarshal(s.Raw(), &p.Effect) != nil {
				s.Fail()
			}
		default:
			s.Fail()
		}
	})
	part, err := p.part()
	if err != nil || p.Type == "image" {
		s.Fail()
	}
	return part
}
