package wire

import "artoo/provider"

// Called appends the event of a piece of a call's arguments, if there is one.
func Called(events []provider.Event, piece string) []provider.Event {
	if piece == "" {
		return events
	}
	return append(events, provider.CallDelta{Bytes: len(piece)})
}
