package provider

import (
	"context"
	"time"
)

// Lister is a Provider whose server can say which models it has.
type Lister interface {
	// Models lists the server's models that can hold a conversation, the newest
	// first where the server tells their age. What it says of them goes over
	// the catalogue's facts. Its errors are *Error. It may be called by several
	// goroutines.
	Models(ctx context.Context) ([]ModelInfo, error)
}

// ListTimeout is how long a server's list of models is waited for.
const ListTimeout = 10 * time.Second
