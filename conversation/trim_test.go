package conversation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"artoo/provider"

	"github.com/google/go-cmp/cmp"
)

// long is a conversation of n steps whose results are size bytes each.
func long(t testing.TB, c *Conversation, n, size int) {
	t.Helper()
	add(t, c, user("the task"))
	for i := range n {
		id := fmt.Sprintf("c%d", i)
		add(t, c, calling("", id))
		addResult(t, c, result(id, strings.Repeat("a line with out\n", size/16)))
	}
}

func TestUnderTheBudgetNothingHappens(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{MaxContextTokens: 20_000}, s)
	long(t, c, 10, 3500)
	before, file := encoded(t, c.Messages()), readFile(t, s.Path())
	trimmed, err := c.Trim()
	if err != nil || trimmed != (Trimmed{}) || trimmed.String() != "" {
		t.Errorf("%+v, %v", trimmed, err)
	}
	if encoded(t, c.Messages()) != before || readFile(t, s.Path()) != file {
		t.Error("something changed")
	}
	unlimited := New(Config{}, nil)
	long(t, unlimited, 10, 1<<16)
	if trimmed, err := unlimited.Trim(); err != nil || trimmed != (Trimmed{}) {
		t.Errorf("without a budget: %+v, %v", trimmed, err)
	}
	must(t, s.Close())
}

func TestOldResultsGoFirstAlsoInTheNewestTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := New(Config{MaxContextTokens: 10_000, OutputDir: dir}, nil)
	long(t, c, 12, 3500) // about 11,500 tokens in one turn
	trimmed, err := c.Trim()
	must(t, err)
	if trimmed.Results < 7 || trimmed.Results > 8 || trimmed.Texts+trimmed.Users+trimmed.Steps+trimmed.Recent+
		trimmed.Images != 0 {
		t.Errorf("%+v", trimmed)
	}
	if trimmed.After > 5000 || trimmed.After < 4000 || c.EstimatedTokens() != trimmed.After || trimmed.Before < 11_000 {
		t.Errorf("%+v, now %d", trimmed, c.EstimatedTokens())
	}
	first := c.Messages()[2].Parts[0].(provider.ToolResult)
	want := "[old result of bash, left out to save room. The whole is in " + filepath.Join(dir, "bash-1.txt") +
		": read or grep it if it is needed]"
	if first.Text != want || first.File != filepath.Join(dir, "bash-1.txt") || len(readFile(t, first.File)) != 3488 {
		t.Errorf("%+v", first)
	}
	if c.MessageCount() != 25 {
		t.Errorf("%d messages", c.MessageCount())
	}
	if s := trimmed.String(); !strings.HasPrefix(s, "the context was trimmed from about 11.") ||
		!strings.HasSuffix(s, " old tool results shrunk to a line") {
		t.Error(s)
	}
}

func TestAResultAlreadyInAFileKeepsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := New(Config{MaxContextTokens: 4600, ToolResultMaxChars: 2000, OutputDir: dir}, nil)
	long(t, c, 8, 3500)
	_, err := c.Trim()
	must(t, err)
	files, err := os.ReadDir(dir)
	must(t, err)
	if len(files) != 8 {
		t.Errorf("%d files for 8 results", len(files))
	}
	if r := c.Messages()[2].Parts[0].(provider.ToolResult); r.File != filepath.Join(dir, "bash-1.txt") ||
		!strings.Contains(r.Text, r.File) {
		t.Errorf("%+v", r)
	}
}

func TestTextsThenUsersThenSteps(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("a sentence of the model. ", 100)
	build := func(budget int) *Conversation {
		c := New(Config{MaxContextTokens: budget, OutputDir: t.TempDir()}, nil)
		for i := range 30 {
			words := fmt.Sprintf("message %d ", i)
			if i == 4 {
				words += strings.Repeat("pasted ", 3000)
			}
			add(t, c, user(words), said(provider.RoleAssistant, prose))
		}
		return c
	}
	c := build(24_200)
	trimmed, err := c.Trim()
	must(t, err)
	if trimmed.Texts == 0 || trimmed.Users+trimmed.Steps != 0 {
		t.Errorf("texts: %+v", trimmed)
	}
	if text := c.Messages()[1].Text(); !strings.HasPrefix(text, "a sentence of the model. a") ||
		!strings.HasSuffix(text, " [... shortened to save room]") || len(text) > 250 {
		t.Errorf("%q", text)
	}

	c = build(14_000)
	trimmed, err = c.Trim()
	must(t, err)
	if trimmed.Texts != 27 || trimmed.Users != 1 || trimmed.Steps != 0 {
		t.Errorf("users: %+v", trimmed)
	}
	pasted := c.Messages()[8].Text()
	if n := len(pasted); n > 8000 || n < 6000 || !strings.Contains(pasted, "message-1.txt") ||
		!strings.HasPrefix(pasted, "message 4 pasted") {
		t.Errorf("%d bytes: %.100q", n, pasted)
	}

	c = build(2800) // half of it for the user's old messages together
	trimmed, err = c.Trim()
	must(t, err)
	if trimmed.Steps != 27 || trimmed.Messages != 0 || trimmed.After > 2800 {
		t.Errorf("%+v, %v", trimmed, err)
	}
	messages := c.Messages()
	if len(messages) != 33 ||
		messages[0].Text() != "message 0 [What you did and answered next was left out to save room.]" ||
		messages[32].Text() != prose {
		t.Errorf("%d messages, first %q", len(messages), messages[0].Text())
	}

	c = build(900) // 700 of the last answer
	trimmed, err = c.Trim()
	must(t, err)
	if trimmed.Messages == 0 || trimmed.Users != 1 || trimmed.After > 900 || lastUser(c.items) < 0 ||
		!strings.HasPrefix(c.items[lastUser(c.items)].msg.Text(), "message 29") {
		t.Errorf("%+v", trimmed)
	}

	c = build(600)
	if trimmed, err = c.Trim(); !isFull(err) || trimmed.Messages != 0 {
		t.Errorf("%+v, %v", trimmed, err)
	}
	c.SetReserve(300) // the tokens that the reply can spare
	_, err = c.Trim()
	must(t, err)
	c.SetReserve(0)
	c.cfg.MaxContextTokens = 200
	_, err = c.Trim()
	var full *FullError
	if !errors.As(err, &full) || full.ErrorKind() != "context" || full.ErrorHint() == "" || full.Budget != 200 ||
		full.Latest == 0 {
		t.Errorf("%#v", err)
	}
}

func TestTheLatestUserMessageIsWhole(t *testing.T) {
	t.Parallel()
	c := New(Config{MaxContextTokens: 5000, OutputDir: t.TempDir()}, nil)
	giant := strings.Repeat("giant ", 10_000)
	add(t, c, user("first"), said(provider.RoleAssistant, "hm"), user(giant))
	trimmed, err := c.Trim()
	if !isFull(err) {
		t.Fatalf("%+v, %v", trimmed, err)
	}
	if got := c.Messages(); got[2].Text() != giant || len(got) != 3 {
		t.Error("it was changed")
	}
	// As soon as it is not the latest, it is cut.
	add(t, c, said(provider.RoleAssistant, "ok"), user("next"))
	trimmed, err = c.Trim()
	must(t, err)
	if trimmed.Users != 1 || trimmed.After > 3750 {
		t.Errorf("%+v", trimmed)
	}
}

func TestImagesGoBeforeResults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := New(Config{MaxContextTokens: 28_700, OutputDir: dir}, nil)
	img := provider.Image{MediaType: "image/jpeg", Data: []byte("jpeg")}
	add(t, c, provider.UserText("look", img))
	for i := range 15 {
		id := fmt.Sprint("c", i)
		add(t, c, calling("", id))
		addResult(t, c, provider.ToolResult{CallID: id, Name: "read", Text: "an image" + strings.Repeat(".", 1000),
			Images: []provider.Image{img}})
	}
	add(t, c, provider.UserText("and this", img))
	trimmed, err := c.Trim()
	must(t, err)
	if trimmed.Images != 13 || trimmed.Results+trimmed.Steps+trimmed.Recent != 0 {
		t.Fatalf("%+v", trimmed)
	}
	got := c.Messages()
	if want := "[an image was left out here to save room; it is in " + filepath.Join(dir, "image-1.jpg") +
		"]"; got[0].Parts[1] != any(provider.Text{Text: want}) {
		t.Errorf("%+v", got[0].Parts[1])
	}
	r := got[2].Parts[0].(provider.ToolResult)
	if !strings.HasPrefix(r.Text, "an image....") || !strings.HasSuffix(r.Text,
		".\n[an image was left out here to save room; it is in "+filepath.Join(dir, "read-2.jpg")+"]") ||
		len(r.Images) != 0 {
		t.Errorf("%+v", r)
	}
	if readFile(t, filepath.Join(dir, "read-2.jpg")) != "jpeg" {
		t.Error("the image is not in its file")
	}
	if len(got[31].Parts) != 2 || got[31].Parts[1].(provider.Image).MediaType != "image/jpeg" {
		t.Error("the latest message lost its image")
	}
}

func TestRecentResultsAreTheLastResort(t *testing.T) {
	t.Parallel()
	c := New(Config{MaxContextTokens: 4000, OutputDir: t.TempDir()}, nil)
	long(t, c, 3, 8000)
	trimmed, err := c.Trim()
	must(t, err)
	if trimmed.Recent == 0 || trimmed.Steps != 0 || trimmed.After > 3000 {
		t.Errorf("%+v", trimmed)
	}
	for i, m := range c.Messages() {
		if m.Role == provider.RoleTool {
			if r := m.Parts[0].(provider.ToolResult); len(r.Text) < 500 || !strings.HasPrefix(r.Text, "a line with out\n") {
				t.Errorf("message %d: %q", i, r.Text)
			}
		}
	}
}

// In a window of 4,096 tokens little is left beside the prompt and the tools.
func TestASmallWindowHoldsThreeSteps(t *testing.T) {
	t.Parallel()
	for budget, least := range map[int]int{480: 200, 800: 500} {
		c := New(Config{MaxContextTokens: budget, OutputDir: t.TempDir()}, nil)
		long(t, c, 3, 3000)
		trimmed, err := c.Trim()
		must(t, err)
		if trimmed.Recent != 3 || trimmed.After > budget {
			t.Errorf("%d: %+v", budget, trimmed)
		}
		for _, m := range c.Messages() {
			if m.Role == provider.RoleTool && len(m.Parts[0].(provider.ToolResult).Text) < least {
				t.Errorf("%d: a result is cut to %q", budget, m.Parts[0].(provider.ToolResult).Text)
			}
		}
	}
}

// Three answers as long as a reply may be fill the window of 4,096 tokens.
func TestASmallWindowGoesOnAfterLongAnswers(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("a sentence of the model. ", 200)
	c := New(Config{MaxContextTokens: 3000, OutputDir: t.TempDir()}, nil)
	for i := range 20 {
		add(t, c, user(fmt.Sprint("question ", i)))
		trimmed, err := c.Trim()
		if err != nil || c.EstimatedTokens() > 3000 {
			t.Fatalf("message %d: %+v, %v", i, trimmed, err)
		}
		add(t, c, said(provider.RoleAssistant, prose))
	}
	if messages := c.Messages(); messages[len(messages)-1].Text() != prose {
		t.Error("the last answer was changed")
	}
}

func TestReasoningGoesWithItsStep(t *testing.T) {
	t.Parallel()
	c := New(Config{MaxContextTokens: 3000}, nil)
	add(t, c, user("task"))
	for i := range 10 {
		m := calling("", fmt.Sprint("c", i))
		m.Parts = append([]provider.Part{provider.Reasoning{Text: strings.Repeat("hm ", 500), Opaque: "sig"}}, m.Parts...)
		add(t, c, m)
		addResult(t, c, result(fmt.Sprint("c", i), "ok"))
	}
	trimmed, err := c.Trim()
	must(t, err)
	if trimmed.Steps < 5 || trimmed.Results+trimmed.Texts > 0 {
		t.Errorf("%+v", trimmed)
	}
	for _, m := range c.Messages() {
		if m.Role == provider.RoleAssistant &&
			!cmp.Equal(m.Parts[0], any(provider.Reasoning{Text: strings.Repeat("hm ", 500), Opaque: "sig"})) {
			t.Error("reasoning was changed")
		}
	}
}

func TestTrimHardGoesWellBelow(t *testing.T) {
	t.Parallel()
	c := New(Config{MaxContextTokens: 100_000, OutputDir: t.TempDir()}, nil)
	long(t, c, 12, 3500)
	before := c.EstimatedTokens()
	trimmed, err := c.TrimHard(true)
	must(t, err)
	if trimmed.After > before*6/10+1 || trimmed.Before != before {
		t.Errorf("%+v", trimmed)
	}
	if b := c.Budget(); b < before*8/10 || b > before*9/10+1 {
		t.Errorf("the budget is %d after %d did not fit", b, before)
	}

	// The window the error named is less still.
	c = New(Config{MaxContextTokens: 100_000, OutputDir: t.TempDir()}, nil)
	long(t, c, 12, 3500)
	c.SetBudget(5000)
	trimmed, err = c.TrimHard(true)
	must(t, err)
	if trimmed.After > 3750 || c.Budget() != 5000 {
		t.Errorf("%+v, budget %d", trimmed, c.Budget())
	}

	c = New(Config{MaxContextTokens: 100_000}, nil)
	add(t, c, user(strings.Repeat("x", 10_000)))
	if trimmed, err := c.TrimHard(true); !isFull(err) || trimmed.String() != "" || c.Budget() != 100_000 {
		t.Errorf("%+v, %v, budget %d", trimmed, err, c.Budget())
	}
}

func TestTrimIsRecordedBeforeItHolds(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{MaxContextTokens: 5000}, s)
	long(t, c, 12, 3500)
	before, tokens := encoded(t, c.Messages()), c.EstimatedTokens()
	s.file = &fullDisk{s.file, s.Path(), 10}
	trimmed, err := c.Trim()
	if !errors.Is(err, syscall.ENOSPC) || trimmed != (Trimmed{}) {
		t.Errorf("%+v, %v", trimmed, err)
	}
	if encoded(t, c.Messages()) != before || c.EstimatedTokens() != tokens {
		t.Error("the history changed though its trim was not recorded")
	}
	must(t, s.Close())
}

func TestTrimFollowsTheProvidersCount(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{MaxContextTokens: 10_000}, s)
	long(t, c, 6, 3500) // about 6,200 tokens by itself
	c.Messages()
	usage := provider.Usage{Input: 12_000, Output: 10}
	c.Observe(usage)
	must(t, c.RecordUsage("m", usage, nil))
	trimmed, err := c.Trim()
	must(t, err)
	if trimmed.Before != 12_000 || trimmed.After > 7500 || c.EstimatedTokens() != trimmed.After {
		t.Errorf("%+v, now %d", trimmed, c.EstimatedTokens())
	}
	must(t, s.Close())
	s, err = st.Open(s.ID())
	must(t, err)
	if got := New(Config{}, s).EstimatedTokens(); got != trimmed.After {
		t.Errorf("resumed with %d tokens, not %d", got, trimmed.After)
	}
	must(t, s.Close())
}

func TestFilesThatCannotBeWrittenDoNotStopATrim(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	c := New(Config{MaxContextTokens: 11_000, OutputDir: filepath.Join(file, "out")}, nil)
	long(t, c, 12, 3500)
	_, err := c.Trim()
	must(t, err)
	r := c.Messages()[2].Parts[0].(provider.ToolResult)
	if r.Text != "[old result of bash, 3.4 KB, left out to save room. Call the tool again if it is needed]" ||
		r.File != "" {
		t.Errorf("%+v", r)
	}
}
