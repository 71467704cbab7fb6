//go:build unix

package cli

import "testing"

// A line that failed at the sandbox's walls is asked about once more, and a background command that may not write the
// project: the keys of both questions count.
func TestACommandThatWasRefusedIsAskedAboutInATerminal(t *testing.T) {
	t.Parallel()
	const (
		calls   = "exec 3<>/dev/tcp/192.0.2.7/80"
		job     = "echo made > job || exit 3"
		outside = "outside the sandbox? "
		whole   = `approve: start "` + job
	)
	bash := func(input string) [2]string { return [2]string{"bash", input} }
	k := talkOfCalls(t, []string{"ARTOO_SANDBOX=auto"}, []string{"--approval", "auto"},
		bash(`{"command":"`+calls+`"}`), bash(`{"command":"`+job+`","background":true}`),
		bash(`{"command":"`+job+`","background":true}`))
	needsLayers(t, k.cmd.Path, k.env)
	k.types("go\r")
	k.shows("it failed in the sandbox", outside, keepIt)
	k.answers("a")
	k.shows("please answer y, n, p, q or ?", outside, keepIt)
	k.answers("n")
	k.shows(whole, keepIt)
	k.holds("job", "")
	k.answers("?")
	k.shows("yes, start it again; it may write all of the project", whole, keepIt)
	k.answers("n")
	k.shows(whole, keepIt)
	k.holds("job", "")
	k.answers("y")
	k.shows("well done", "you")
	k.waitsUntil("job", "made\n")
	k.leave()
}
