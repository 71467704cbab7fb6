package agent

import (
	"cmp"
	"strings"
	"time"

	"artoo/provider"
)

// incoming is what is known of a request while its reply comes in.
type incoming struct {
	began   time.Time
	started provider.Started
	prompt  int // about how many tokens were sent
	tries   int

	text strings.Builder // of the try that delivered text last
	void bool            // that try failed: text that comes now takes its place
	// worded says that some of the text is more than blanks.
	worded bool

	answers bool // the current try has begun to answer
	// bytes counts the text, reasoning and calls of the current try; calls are those that it
	// is writing.
	bytes int
	calls map[int]ToolInput
	// known and lost are the usage of tries that failed: known as far as the server said, lost
	// with an estimate where it did not.
	known, lost provider.Usage
}

// say takes a piece of text and returns what of the text is to be shown now: a
// reply may be nothing but blanks, and be asked again, so they wait for a word.
func (in *incoming) say(text string) (show string) {
	if in.void {
		in.void, in.worded = false, false
		in.text.Reset()
	}
	in.text.WriteString(text)
	in.bytes += len(text)
	if in.worded {
		return text
	}
	if show = in.text.String(); strings.TrimSpace(show) == "" {
		return ""
	}
	in.worded = true
	return show
}

// input counts a piece of a call's arguments, and returns what came of them so far.
func (in *incoming) input(piece provider.CallDelta) ToolInput {
	all, known := in.calls[piece.Call]
	if !known {
		all.Index = len(in.calls)
	}
	if in.calls == nil {
		in.calls = map[int]ToolInput{}
	}
	all.Tool = cmp.Or(piece.Tool, all.Tool)
	all.Bytes += piece.Bytes
	in.bytes += piece.Bytes
	in.calls[piece.Call] = all
	return all
}

// lose counts a try that failed. said is what the server told of its usage:
// often nothing, or of the output only that it has begun.
func (t *turn) lose(in *incoming, said provider.Usage) {
	in.known = in.known.Add(said)
	lost := said
	if in.answers || in.bytes > 0 || said.Total() > 0 {
		if lost.Prompt() == 0 {
			lost.Input, lost.Estimated = in.prompt, true
		}
		if output := t.conv.Tokens(in.bytes); output > lost.Output {
			lost.Output, lost.Estimated = output, true
		}
		if lost.Estimated && !said.Estimated {
			lost.CostUSD = nil // a bill for a part is none; who estimates it means all of it
		}
	}
	in.lost = in.lost.Add(lost)
	in.answers, in.bytes, in.calls = false, 0, nil
}

// account records a complete reply, with what the tries before it used: that
// costs, but says nothing of the history's size.
func (t *turn) account(reply provider.Done, in *incoming) error {
	own := without(reply.Usage, in.known)
	if own.Total() == 0 {
		own = provider.Usage{Input: in.prompt, Output: t.replyTokens(reply.Message), Estimated: true}
	}
	if !reply.Several && t.aside == 0 {
		t.conv.Observe(own)
	}
	t.cached = own.CacheRead + own.CacheWrite
	return t.recordUsage(in, reply.RequestID, max(1, reply.Tries), in.lost, own)
}

// replyTokens is about how many tokens a reply has.
func (t *turn) replyTokens(m provider.Message) (n int) {
	for _, p := range m.Parts {
		n += t.conv.PartTokens(p)
	}
	return n
}

// without takes what failed tries used out of a sum.
func without(all, lost provider.Usage) provider.Usage {
	all.Input -= min(all.Input, lost.Input)
	all.CacheRead -= min(all.CacheRead, lost.CacheRead)
	all.CacheWrite -= min(all.CacheWrite, lost.CacheWrite)
	all.Output -= min(all.Output, lost.Output)
	all.Reasoning -= min(all.Reasoning, lost.Reasoning)
	if all.CostUSD != nil && lost.CostUSD != nil {
		all.CostUSD = new(*all.CostUSD - *lost.CostUSD)
	}
	return all
}

// accountFailure records what a request without a whole reply used.
func (t *turn) accountFailure(in *incoming, err error) {
	e := provider.AsError(err)
	if e == nil {
		e = &provider.Error{}
	}
	t.lose(in, without(e.Usage, in.known))
	if in.lost.Total() == 0 {
		return
	}
	id := cmp.Or(e.RequestID, in.started.RequestID)
	// The request's own error is what the caller must see; the file that could
	// not take this line fails again, and is told, at the end of the turn.
	_ = t.recordUsage(in, id, in.tries, in.lost)
}

// recordUsage counts the parts of one request's usage.
func (t *turn) recordUsage(in *incoming, id string, tries int, parts ...provider.Usage) error {
	report := RequestReport{ID: id, Model: t.response.Model, Millis: time.Since(in.began).Milliseconds(), Tries: tries}
	t.losing = provider.Usage{}
	report.CostUSD = new(float64)
	for _, usage := range parts {
		if usage.Total() == 0 && usage.CostUSD == nil {
			continue
		}
		report.Usage = report.Usage.Add(usage)
		report.CostUSD = plus(report.CostUSD, provider.Cost(usage, t.model.Info.Price))
	}
	t.spent.add(report.Usage, report.CostUSD)
	t.settleDay(report)
	return t.report(report)
}

// report keeps what a request used, one of a sub-agent too.
func (t *turn) report(report RequestReport) error {
	t.response.Usage = t.response.Usage.Add(report.Usage)
	if t.response.Requests == nil {
		t.response.CostUSD = new(float64)
	}
	t.response.CostUSD = plus(t.response.CostUSD, report.CostUSD)
	t.response.Requests = append(t.response.Requests, report)
	t.cb.OnNotice(Notice{Kind: NoticeUsage, Request: &report})
	return t.conv.RecordUsage(report.Model, report.Usage, report.CostUSD)
}

// plus adds costs; what is unknown stays so.
func plus(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}
