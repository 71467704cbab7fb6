package sandbox

import (
	"syscall"
	"time"
)

// Options are how one command runs.
type Options struct {
	Layer    bool // on a copy-on-write layer; needs Facts.Layer
	ReadOnly bool // nothing but a temporary directory can be written; no network, as on a layer
	Exec     bool // programs on the layer may be executed: the project is trusted
	// Caches has artoo's own caches written from a layer too, as in the sandbox: what the
	// command builds there stays.
	Caches bool
	// Beside has a command that only reads run beside others that write, however long it
	// runs: what is denied is covered for it, not gone.
	Beside bool
	// Grace is how long processes that the command left in the background may
	// still write before they are ended.
	Grace time.Duration
}

// Exit is how a command ended.
type Exit struct {
	Status  syscall.WaitStatus
	Stopped int      // processes left in the background that were ended
	Limit   string   // the limit that ended it, in words: "512 processes", "2 GB of memory in a process"; "" for none
	Denials []Denial // the walls it met, each once
}

// Denial is one wall that the kernel refused to let a command through.
type Denial struct {
	Wall string // "network", "socket", "namespace", "trace", "home"
	What string // the refusal in words, such as "no route to another machine"
	N    int    // how often
}
