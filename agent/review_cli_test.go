package agent_test

import (
	"testing"

	"artoo/agent"
	"artoo/provider/fake"
	"artoo/tool/changes"
)

// A coding CLI runs tools of its own, so that it reviews nothing.
func TestACodingCLIReviewsNothing(t *testing.T) {
	t.Parallel()
	p := steps(fake.Say("done"))
	opt := testOptions(p)
	opt.Model.Wait = func() {}
	review, err := anAgent(t, opt).ReviewChange(t.Context(), &changes.Set{}, &recorder{})
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindUsage || review == nil || len(p.Requests()) > 0 {
		t.Errorf("%v, %+v, %d requests", err, review, len(p.Requests()))
	}
}
