package headless

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui/result"
)

func TestResult(t *testing.T) {
	t.Parallel()
	info := result.Info{SessionID: "s1", Provider: "p", Model: "m", Sandbox: "none", Began: time.Now()}
	cost := 0.5
	response := &agent.Response{
		Text: "<a> & b \u009b31m\u202e", Stop: provider.StopComplete, Steps: 2, CostUSD: &cost, Model: "m-2",
		Denied:   []agent.Denial{{Tool: "bash", Object: "rm x", Reason: "no", Rule: "bash(rm x)", Nobody: true}},
		Reach:    agent.Reach{Created: 1, Modified: 2, Outside: []string{"git push"}, Network: []string{"example.org"}},
		Requests: []agent.RequestReport{{ID: "r", Model: "m-2", Tries: 1}},
	}
	failure := &agent.Failure{Kind: agent.KindApproval, What: "a", Err: errors.New("b"), Hint: "c"}
	usage := `{"input_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"output_tokens":0,"reasoning_tokens":0}`
	for _, test := range []struct {
		name string
		r    result.Result
		want string
	}{
		{"nothing came of it", result.New(info, nil, failure, 6),
			`{"v":1,"type":"result","result":"","session_id":"s1","provider":"p","model":"m","stop_reason":"","turns":0,"usage":` + usage +
				`,"cost_usd":null,"duration_ms":0,"denied":[],"effects":{"created":0,"modified":0,"deleted":0,"outside":[],"network":[],"networked":[]},"sandbox":"none","stdin":"none","exit_code":6,"requests":[],"error":{"kind":"approval","message":"a: b","hint":"c"}}`},
		{"all", result.New(info, response, nil, 0),
			`{"v":1,"type":"result","result":"<a> & b \u009b31m\u202e","session_id":"s1","provider":"p","model":"m-2","stop_reason":"complete","turns":2,"usage":` + usage +
				`,"cost_usd":0.5,"duration_ms":0,"denied":[{"tool":"bash","object":"rm x","reason":"no","rule":"bash(rm x)","nobody":true}],"effects":{"created":1,"modified":2,"deleted":0,"outside":["git push"],"network":["example.org"],"networked":[]},"sandbox":"none","stdin":"none","exit_code":0,` +
				`"requests":[{"id":"r","model":"m-2","usage":` + usage +
				`,"cost_usd":null,"ms":0,"tries":1}],"error":null}`},
	} {
		test.r.DurationMS = 0
		var b bytes.Buffer
		if err := WriteLine(&b, test.r); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != test.want+"\n" {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestInputOfIsAlwaysJSON(t *testing.T) {
	t.Parallel()
	for _, call := range []provider.ToolCall{{Input: json.RawMessage(`{"a":1}`)},
		{Input: json.RawMessage(`{}`), Raw: "{broken"}, {Input: json.RawMessage(`{"a"`)}, {}} {
		if got := inputOf(agent.Call{ToolCall: call}); !json.Valid(got) {
			t.Errorf("the input of %+v becomes %s", call, got)
		}
	}
}
