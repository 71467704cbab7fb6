package cli

import (
	"fmt"
	"sync"
	"testing"

	"artoo/tool/extension"
)

// Servers that start at once look up and note the user's answers side by side.
func TestAnswersAreNotedSideBySide(t *testing.T) {
	x := &extensions{session: new(session)}
	e := func(i int) extension.Extension { return extension.Extension{Sum: fmt.Sprint(i)} }
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			if x.answerTo(e(i)) != nil {
				t.Error("an answer before it was given")
			}
			x.noteAnswer(e(i), i%2 == 0)
		})
	}
	all.Wait()
	for i := range 100 {
		if answer := x.answerTo(e(i)); answer == nil || answer.Approved != (i%2 == 0) {
			t.Errorf("%d: %+v", i, answer)
		}
	}
}
