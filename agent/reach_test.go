package agent_test

import (
	"slices"
	"testing"

	"artoo/agent/permission"
)

// A command in a sandbox that leaves it the network may have sent anything, except one that only reads.
func TestATurnNamesTheCommandsThatHadTheNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line           string
		network, layer bool
		want           []string
	}{{"awk 1 /dev/null", true, true, []string{"awk 1 /dev/null"}}, {"awk 1 /dev/null", false, true, nil},
		{"ls", true, false, nil}} {
		a := (&confinement{}).agent(t, c.line, permission.ModeAsk)
		a.Policy().Confinement = permission.Confinement{Sandbox: true, Layer: c.layer, Network: c.network}
		reach := mustSend(t, a, &recorder{}, "go").Reach
		if !slices.Equal(reach.Networked, c.want) || len(reach.Outside) > 0 {
			t.Errorf("%s, network %v: %+v", c.line, c.network, reach)
		}
	}
}
