package builtin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"artoo/tool"
	"artoo/tool/shell"
)

// atOnce is how long a call waits for what a background command says at first: one
// that cannot start says so then.
const atOnce = time.Second

// startJob starts a command in the background. limited says that its limit holds there
// too.
func startJob(ctx context.Context, env *tool.Env, c *shell.Command, limited bool, remark string) (tool.Result, error) {
	limit := c.Limit
	if !limited {
		c.Limit, limit = 0, 0
	}
	job, err := env.Jobs.Start(c)
	if err != nil {
		return tool.Result{}, fmt.Errorf("bash: %w", startError(err))
	}
	job.Settle(ctx, 0, atOnce)
	said := job.Read()
	if !job.Runs() {
		return endedResult(job, said+job.Read(), remark, env.Withheld), nil
	}
	text := lines(said) + remark + "[it runs in the background as " + job.ID
	if limit > 0 {
		text += ", for at most " + seconds(limit)
	}
	return tool.Result{Text: text + ": use shell with this id" + inFile(job) + "]\n", Summary: "in the background as " + job.ID,
		Job: job}, nil
}

// lateResult is of a command whose time was up, and which goes on in the background.
func lateResult(end shell.Result, most time.Duration) tool.Result {
	id := end.Job.ID
	return tool.Result{Job: end.Job, Summary: fmt.Sprintf("after %s it goes on in the background as %s", seconds(end.Took), id),
		Text: fmt.Sprintf("%s[not done after %s: it goes on in the background as %s, until %s at most: use shell with this "+
			"id%s]\n", lines(string(end.Output)), seconds(end.Took), id, seconds(most), inFile(end.Job))}
}

// endedResult is of a background command that has ended; said is what was not read
// of it.
func endedResult(job *shell.Job, said, remark string, withheld []string) tool.Result {
	job.Tell()
	end := job.Result()
	end.Output = []byte(said)
	r := commandResult(end, job.Line, remark, withheld)
	if said == "" {
		r.Text = strings.TrimPrefix(r.Text, "[no output]\n")
	}
	return r
}

// lines ends a text with a line break, if there is one.
func lines(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n"
	}
	return text
}

// inFile says where the whole output of a background command is.
func inFile(job *shell.Job) string {
	name, err := job.File()
	switch {
	case err != nil:
		return "; its whole output is not kept: " + err.Error()
	case name == "":
		return ""
	}
	return "; its whole output is in " + name
}
