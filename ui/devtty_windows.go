package ui

import (
	"errors"
	"os"
	"time"
)

// Foreground reports whether this process may talk to the terminal: a question
// beside a pipe is not asked on Windows.
func Foreground(*os.File) bool { return false }

func flushInput(*os.File) error { return errors.ErrUnsupported }

func inLines(*os.File) bool { return false }

func readable(*os.File, time.Duration) (bool, error) { return false, errors.ErrUnsupported }
