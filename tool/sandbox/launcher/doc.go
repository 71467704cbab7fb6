// Package launcher is the program that artoo starts itself as to confine
// commands: see package sandbox, whose other half it is. Its init looks at the
// name the process was started under and does not return when that is Name.
//
// It imports nothing but the standard library's lowest packages, not even os:
// packages are initialised by import path as soon as what they import is, so this
// one comes before those that take long, and before os raises the limit of open
// files that commands are to inherit.
package launcher

// Name is the first argument of a launcher.
const Name = "artoo-sandbox"

// FD is where a launcher finds its socket.
const FD = 3
