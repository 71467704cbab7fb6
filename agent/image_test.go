package agent_test

import (
	"context"
	"io"
	"slices"
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
	t.Parallel()
	look := makeTool("look", tool.KindRead, func(context.Context, string, io.Writer) (tool.Result, error) {
		return tool.Result{Text: "an image",
			Images: []tool.Image{{MediaType: "image/png", Data: []byte("\x89PNG"), Name: "a.png"}}}, nil
	})
	refusal := &provider.Error{Kind: provider.KindInvalid, Code: provider.CodeNoImages,
		Message: "image input is not supported", Status: 500}
	p := &fake.Provider{Steps: []fake.Step{
		fake.Call("c1", "look", `{}`), fake.Say("seen"),
		fake.Say("not seen"),
		fake.Say("seen again"),
		{Err: refusal}, fake.Say("without"), fake.Say("without again"),
	}}
	a := newAgent(p, look)
	a.Asked().Info.Images = true
	cb := &recorder{}
	attached := provider.Image{MediaType: "image/png", Data: []byte("\x89PNG"), Name: "b.png"}
	if _, err := a.SendMessage(t.Context(), "look", cb, attached); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		sees bool
		text string
	}{{false, "and now"}, {true, "and now?"}, {true, "what?"}, {false, "still?"}} {
		if step.text != "still?" { // no notice comes again after the refusal
			a.Asked().Info.Images = step.sees
		}
		mustSend(t, a, cb, step.text)
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
		if n.Kind != agent.NoticeInfo ||
			!strings.Contains(n.Text, "cannot see images: it gets only the name and size of 2 images") {
			t.Errorf("%+v", n)
		}
		told = append(told, n.Text)
	}
	if len(told) != 2 {
		t.Errorf("told %q, want one notice each time that images begin to be left out", told)
	}
	if kept, ok := a.Conversation().Messages()[0].Parts[1].(provider.Image); !ok || kept.Name != "b.png" {
		t.Error("the history lost its images")
	}
}

// TestImagesThatAreRefused has images refused for their number or content: the older half goes until the rest is taken.
// Images that come later are sent.
func TestImagesThatAreRefused(t *testing.T) {
	t.Parallel()
	image := func(n string) provider.Image {
		return provider.Image{MediaType: "image/png", Data: []byte("\x89PNG" + n)}
	}
	for name, tc := range map[string]struct {
		refuses func(images []provider.Image) bool
		sent    []int // images, by request
	}{
		"one at most": {func(images []provider.Image) bool { return len(images) > 1 }, []int{5, 2, 1, 2, 1}},
		"one of them": {func(images []provider.Image) bool {
			for _, img := range images {
				if string(img.Data) == "\x89PNG2" {
					return true
				}
			}
			return false
		}, []int{5, 2, 3}},
		"all": {func(images []provider.Image) bool { return len(images) > 0 }, []int{5, 2, 1, 0, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &fake.Provider{Then: func(req provider.Request) fake.Step {
				if tc.refuses(provider.Images(req.Messages)) {
					return fake.Step{Err: &provider.Error{Kind: provider.KindInvalid, Status: 400, Images: true,
						Message: "image refused"}}
				}
				return fake.Say("ok")
			}}
			a := newAgent(p)
			a.Asked().Info.Images = true
			cb := &recorder{}
			for _, ask := range [][]provider.Part{{image("1"), image("2"), image("3"), image("4"),
				image("5")}, {image("6")}} {
				if r, err := a.SendMessage(t.Context(), "look", cb, ask...); err != nil || r.Text != "ok" {
					t.Fatalf("%v %+v", err, r)
				}
			}
			var got []int
			for _, req := range p.Requests() {
				images := provider.Images(req.Messages)
				got = append(got, len(images))
				if len(images) > 0 && len(images) < 5 &&
					!strings.Contains(req.Messages[0].Parts[1].(provider.Text).Text, "the server refused it") {
					t.Errorf("nothing stands in the place of the first: %+v", req.Messages[0])
				}
			}
			if !slices.Equal(got, tc.sent) {
				t.Errorf("images in each request: %v, want %v", got, tc.sent)
			}
			if len(cb.notices) != len(tc.sent)-2 || !strings.Contains(cb.notices[0].Text, "3 images left out") {
				t.Errorf("told %+v", cb.notices)
			}
		})
	}
	t.Run("not their fault", func(t *testing.T) {
		refusal := fake.Step{Err: &provider.Error{Kind: provider.KindInvalid, Status: 400, Images: true,
			Message: "tool image_of: bad schema"}}
		p := &fake.Provider{Steps: []fake.Step{refusal, refusal, fake.Say("ok")}}
		a := newAgent(p)
		a.Asked().Info.Images = true
		if _, err := a.SendMessage(t.Context(), "look", &recorder{}, image("1")); provider.AsError(err) == nil ||
			len(p.Requests()) != 2 {
			t.Errorf("%v after %d requests", err, len(p.Requests()))
		}
		if _, err := send(t, a, &recorder{}, "and now?"); err != nil ||
			len(provider.Images(p.Requests()[2].Messages)) != 1 {
			t.Errorf("%v: an image that was not at fault is still left out", err)
		}
	})
	plain := &provider.Error{Kind: provider.KindInvalid, Status: 400, Images: true, Message: "no image here"}
	p := &fake.Provider{Steps: []fake.Step{{Err: plain}}}
	if _, err := send(t, newAgent(p), &recorder{}, "look"); provider.AsError(err) == nil || len(p.Requests()) != 1 {
		t.Errorf("without an image: %v after %d requests", err, len(p.Requests()))
	}
}
