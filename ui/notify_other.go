//go:build !unix

package ui

import "os/exec"

// ownGroup has a command started out of reach of the terminal's Ctrl-C, where
// there is such a thing.
func ownGroup(*exec.Cmd) {}

// killGroup kills a started command. That it has ended by itself meanwhile is
// as good.
func killGroup(command *exec.Cmd) { _ = command.Process.Kill() }
