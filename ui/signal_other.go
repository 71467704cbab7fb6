//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package ui

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

func watchSignals() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt)
	return signals, func() { signal.Stop(signals) }
}

func endingSignals() []os.Signal { return []os.Signal{syscall.SIGTERM} }

const hangup = syscall.SIGHUP

func isResize(os.Signal) bool      { return false }
func isContinue(os.Signal) bool    { return false }
func isInterrupt(s os.Signal) bool { return s == os.Interrupt }
func isQuit(os.Signal) bool        { return false }
func exitCode(os.Signal) int       { return 1 }
func suspend() bool                { return false }
func dump() error                  { return errors.New("quit: not on this system") }
