package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"artoo/conversation"
)

// crashVar names a kind of crash and the write to the session's files it happens at: KIND|NUMBER.
const crashVar = "CLI_TEST_CRASH"

// The kinds. A kill comes after the write, all else instead of it.
const (
	crashKill  = "kill"
	crashFull  = "full disk"              // half of a line, and nothing from then on
	crashShort = "full disk for a moment" // half of a line, once
	crashFail  = "nothing written"        // once
)

// crashing is artoo whose session files fail as crashVar says.
func crashing() int {
	kind, number, _ := strings.Cut(os.Getenv(crashVar), "|")
	n, err := strconv.Atoi(number)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	p := thisProcess()
	done := 0
	p.openSession = func(path string, flags int) (conversation.File, error) {
		f, err := os.OpenFile(path, flags, 0o600)
		if err != nil {
			return nil, err
		}
		return &crashingFile{File: f, kind: kind, number: n, done: &done}, nil
	}
	return Main(p)
}

// crashingFile is one of the files; they are written one after another.
type crashingFile struct {
	*os.File
	kind   string
	number int
	done   *int
}

func (f *crashingFile) Write(line []byte) (int, error) {
	*f.done++
	hit := *f.done == f.number || f.kind == crashFull && *f.done > f.number
	part, fault := len(line), error(nil)
	if hit && f.kind != crashKill {
		part, fault = len(line)/2, syscall.ENOSPC
		if f.kind == crashFail || *f.done > f.number {
			part = 0
		}
	}
	n, err := f.File.Write(line[:part])
	if hit && f.kind == crashKill {
		self, _ := os.FindProcess(os.Getpid()) // never fails on Unix
		_ = self.Kill()
		select {}
	}
	return n, errors.Join(err, fault)
}
