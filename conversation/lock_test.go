package conversation

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// Of several processes that want a session at once one gets it, also while another releases it and removes the lock
// file.
func TestALockHasOneHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	var all sync.WaitGroup
	var holders, held atomic.Int32
	const turns = 100
	for range 8 {
		all.Go(func() {
			for held.Load() < turns && !t.Failed() {
				lock, err := lockFile(path)
				if errors.Is(err, errInUse) {
					continue
				} else if err != nil {
					t.Error(err)
					return
				}
				held.Add(1)
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold it", n)
				}
				runtime.Gosched()
				holders.Add(-1)
				if err := release(lock); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
