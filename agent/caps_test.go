package agent

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"artoo/agent/permission"
	"artoo/tool"
)

// Changes that land at once do not pass a cap together.
func TestCapsCountChangesThatLandAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	counted, err := newTally(Options{Env: &tool.Env{Dir: root}, Policy: &permission.Policy{Root: root}, Limits: Limits{Effects: EffectCaps{MaxFiles: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			path := filepath.Join(root, strconv.Itoa(i))
			err := counted.land(t.Context(), []effect{{path: path, read: func(context.Context, *tally, content) (content, error) {
				return content{exists: true}, nil
			}}})
			if err != nil {
				return
			}
			defer counted.landed()
			runtime.Gosched()
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made, err := os.ReadDir(root); err != nil || len(made) != 1 {
		t.Errorf("%d files, %v", len(made), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := counted.land(ctx, nil); err == nil {
		t.Error("a landing that is given up lands")
	}
}
