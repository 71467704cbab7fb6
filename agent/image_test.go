package agent_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

// sent counts the images of a request, and the sentences in the place of others.
func sent(r provider.Request) (images, sentences int) {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.Image:
				images++
			case provider.Text:
				sentences += strings.Count(p.Text, ": this model cannot see images]")
			case provider.ToolResult:
				images += len(p.Images)
				sentences += strings.Count(p.Text, ": this model cannot see images]")
			}
		}
	}
	return images, sentences
}

func TestImagesGoToModelsThatSee(t *testing.T) {
	look := makeTool("look", tool.KindRead, func(context.Context, string, io.Writer) (tool.Result, error) {
		return tool.Result{Text: "a picture", Images: []tool.Image{{MediaType: "image/png", Data: []byte("\x89PNG"), Name: "a.png"}}}, nil
	})
	refusal := &provider.Error{Kind: provider.KindInvalid, Code: provider.CodeNoImages, Message: "image input is not supported", Status: 500}
	p := &fake.Provider{Steps: []fake.Step{
		fake.Call("c1", "look", `{}`), fake.Say("seen"),
		fake.Say("not seen"),
		fake.Say("seen again"),
		{Err: refusal}, fake.Say("without"), fake.Say("without again"),
	}}
	a := newAgent(p, look)
	a.Info.Images = true
	cb := &recorder{}
	attached := provider.Image{MediaType: "image/png", Data: []byte("\x89PNG"), Name: "b.png"}
	if _, err := a.SendMessage(t.Context(), "look", cb, attached); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		sees bool
		text string
	}{{false, "and now"}, {true, "and now?"}, {true, "what?"}, {false, "still?"}} {
		if step.text != "still?" { // nobody says it again after the refusal
			a.Info.Images = step.sees
		}
		if _, err := send(t, a, cb, step.text); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range [][2]int{{1, 0}, {2, 0}, {0, 2}, {2, 0}, {2, 0}, {0, 2}, {0, 2}} {
		if images, sentences := sent(p.Requests()[i]); images != want[0] || sentences != want[1] {
			t.Errorf("request %d: %d images and %d sentences, want %v", i, images, sentences, want)
		}
	}
	if p.Left() != 0 {
		t.Errorf("%d steps left", p.Left())
	}
	var told []string
	for _, n := range cb.notices {
		if n.Kind != agent.NoticeInfo || !strings.Contains(n.Text, "cannot see images: it is told the name and size of 2 images") {
			t.Errorf("%+v", n)
		}
		told = append(told, n.Text)
	}
	if len(told) != 2 {
		t.Errorf("told %q, want one notice each time that images begin to be left out", told)
	}
	if kept, ok := a.Conversation.Messages()[0].Parts[1].(provider.Image); !ok || kept.Name != "b.png" {
		t.Error("the history lost its images")
	}
}
