package cli

import (
	"io"
	"strings"
	"testing"
)

// An error after a landing is named, and the changes count as landed; one before it is the error of the landing.
func TestAnErrorAfterALandingDoesNotTakeItBack(t *testing.T) {
	answer, err := reply{Notes: []string{"landed: 1 path"}}.after(true, io.ErrUnexpectedEOF)
	if err != nil || len(answer.Notes) != 2 || !strings.Contains(answer.Notes[1], io.ErrUnexpectedEOF.Error()) {
		t.Errorf("%v, %q", err, answer.Notes)
	}
	if answer, err := (reply{}).after(false, io.ErrUnexpectedEOF); err == nil || answer.Notes != nil {
		t.Errorf("%v, %q", err, answer.Notes)
	}
}
