package mcptest

import (
	"os"
	"os/signal"
	"syscall"
)

func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }

func awaitTerm() {
	sent := make(chan os.Signal, 1)
	signal.Notify(sent, syscall.SIGTERM)
	<-sent
}

// closeInput closes stdin, which no goroutine may be reading.
func closeInput() { _ = syscall.Close(0) }
