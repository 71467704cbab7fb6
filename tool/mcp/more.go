package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resource is something that a server lets be read.
type Resource struct{ URI, Name, Title, Description string }

// Prompt is a text that a server offers to the user.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
}

// PromptArgument is a value that a prompt takes.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// Message is a part of a prompt. Role is user or assistant.
type Message struct {
	Role    string
	Content Content
}

// Resources lists a server's resources and templates of them.
func (m *Manager) Resources(ctx context.Context, server string) ([]Resource, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, err
	}
	return exchange(ctx, s, CallOptions{}, func(ctx context.Context, l *link, _ *openCall) (list []Resource, err error) {
		if caps := l.session.InitializeResult().Capabilities; caps == nil || caps.Resources == nil {
			return nil, nil
		}
		room := newRoom()
		err = pages(func(cursor string) (string, error) {
			r, err := takenOut(ctx, func(ctx context.Context) (*sdk.ListResourcesResult, error) {
				return l.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
			})
			if err != nil {
				return "", err
			}
			for _, x := range r.Resources {
				if x == nil || !room.take(x.URI, x.Name, x.Title, x.Description, x.MIMEType) {
					continue
				}
				list = append(list, Resource{URI: x.URI, Name: x.Name, Title: x.Title, Description: x.Description})
			}
			return r.NextCursor, nil
		})
		if err != nil {
			return nil, err
		}
		err = pages(func(cursor string) (string, error) {
			r, err := takenOut(ctx, func(ctx context.Context) (*sdk.ListResourceTemplatesResult, error) {
				return l.session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
			})
			if err != nil {
				return "", err
			}
			for _, x := range r.ResourceTemplates {
				if x == nil || !room.take(x.URITemplate, x.Name, x.Title, x.Description, x.MIMEType) {
					continue
				}
				list = append(list, Resource{URI: x.URITemplate, Name: x.Name, Title: x.Title, Description: x.Description})
			}
			return r.NextCursor, nil
		})
		if hasCode(err, codeNoMethod) { // many servers have resources, but no templates
			err = nil
		}
		return list, err
	})
}

const (
	codeNoMethod    = -32601
	codeWrongParams = -32602
)

// pages reads pages until the last one, or as many as are taken.
func pages(next func(cursor string) (string, error)) error {
	cursor := ""
	for range maxPages {
		var err error
		if cursor, err = next(cursor); err != nil || cursor == "" || len(cursor) > maxCursor {
			return err
		}
	}
	return nil
}

// room is how much of a list is taken still: as many entries and bytes as of a catalogue of tools.
type room struct{ entries, bytes int }

func newRoom() *room { return &room{maxTools, maxCatalogue} }

// take reports whether there is room for an entry with these texts.
func (r *room) take(texts ...string) bool {
	r.entries--
	for _, t := range texts {
		r.bytes -= len(t)
	}
	return r.entries >= 0 && r.bytes >= 0
}

// ReadResource reads a resource.
func (m *Manager) ReadResource(ctx context.Context, server, uri string, o CallOptions) (Result, error) {
	s, err := m.find(server)
	if err != nil {
		return Result{}, err
	}
	return exchange(ctx, s, o, func(ctx context.Context, l *link, call *openCall) (out Result, err error) {
		r, err := rounds(ctx, s, call, func(in sdk.InputResponseMap, state string) (*sdk.ReadResourceResult, error) {
			p := &sdk.ReadResourceParams{URI: uri, InputResponses: in, RequestState: state}
			p.SetProgressToken(call.token)
			return takenOut(ctx, func(ctx context.Context) (*sdk.ReadResourceResult, error) { return l.session.ReadResource(ctx, p) })
		}, func(r *sdk.ReadResourceResult) (sdk.InputRequestMap, string, bool) {
			return r.InputRequests, r.RequestState, r.NeedsInput()
		})
		if err != nil {
			return out, err
		}
		for _, c := range r.Contents {
			if c != nil {
				out.Content = append(out.Content, resource(c))
			}
		}
		return out, nil
	})
}

// Prompts lists a server's prompts.
func (m *Manager) Prompts(ctx context.Context, server string) ([]Prompt, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, err
	}
	return exchange(ctx, s, CallOptions{}, func(ctx context.Context, l *link, _ *openCall) (list []Prompt, err error) {
		if caps := l.session.InitializeResult().Capabilities; caps == nil || caps.Prompts == nil {
			return nil, nil
		}
		room := newRoom()
		err = pages(func(cursor string) (string, error) {
			r, err := takenOut(ctx, func(ctx context.Context) (*sdk.ListPromptsResult, error) {
				return l.session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
			})
			if err != nil {
				return "", err
			}
			for _, x := range r.Prompts {
				if x == nil || !room.take(x.Name, x.Title, x.Description) {
					continue
				}
				p := Prompt{Name: x.Name, Title: x.Title, Description: x.Description}
				for _, a := range x.Arguments {
					if a == nil || !room.take(a.Name, a.Description) {
						continue
					}
					p.Arguments = append(p.Arguments, PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
				}
				list = append(list, p)
			}
			return r.NextCursor, nil
		})
		return list, err
	})
}

// GetPrompt is a prompt with its values filled in.
func (m *Manager) GetPrompt(ctx context.Context, server, name string, args map[string]string, o CallOptions) ([]Message, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, err
	}
	return exchange(ctx, s, o, func(ctx context.Context, l *link, call *openCall) (list []Message, err error) {
		r, err := rounds(ctx, s, call, func(in sdk.InputResponseMap, state string) (*sdk.GetPromptResult, error) {
			p := &sdk.GetPromptParams{Name: name, Arguments: args, InputResponses: in, RequestState: state}
			p.SetProgressToken(call.token)
			return l.session.GetPrompt(ctx, p)
		}, func(r *sdk.GetPromptResult) (sdk.InputRequestMap, string, bool) {
			return r.InputRequests, r.RequestState, r.NeedsInput()
		})
		if hasCode(err, codeWrongParams) {
			return nil, &Error{Server: s.Name, Kind: KindUsage, Why: "refuses the prompt " + oneLine(name), Err: err, Hint: "artoo mcp prompt " + s.Name + " lists its prompts"}
		}
		if err != nil {
			return nil, err
		}
		for _, x := range r.Messages {
			if c, ok := content(x.Content); ok {
				list = append(list, Message{Role: string(x.Role), Content: c})
			}
		}
		return list, nil
	})
}
