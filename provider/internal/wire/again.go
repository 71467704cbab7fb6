package wire

import (
	"iter"
	"net/http"
	"strings"

	"artoo/provider"
)

// mostTries is how often one request is sent while something is learned of the
// server each time.
const mostTries = 12

// Again yields the events of what send makes. When that was refused and learn
// finds in the error what can be done without, the request is sent again: the
// refusal came before anything of a reply, so that nobody sees it but for the
// notice, where it is not empty. learn is asked about refusals only, and must not
// learn the same thing twice.
func Again(send func() iter.Seq2[provider.Event, error], learn func(*provider.Error) (learned bool, notice string)) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		for tries := 1; ; tries++ {
			again, notice := once(send(), tries < mostTries, learn, yield)
			if !again || notice != "" && !yield(provider.Notice{Text: notice, Warning: true}, nil) {
				return
			}
		}
	}
}

func once(events iter.Seq2[provider.Event, error], mayLearn bool, learn func(*provider.Error) (bool, string), yield func(provider.Event, error) bool) (again bool, notice string) {
	for ev, err := range events {
		if e := provider.AsError(err); e != nil && mayLearn && refusal(e) {
			if learned, notice := learn(e); learned {
				return true, notice
			}
		}
		if !yield(ev, err) {
			return false, ""
		}
	}
	return false, ""
}

// refusal reports whether the server refused the request for what stands in it.
// llama.cpp calls it a failure of its own when it cannot read a tool's schema,
// OpenAI one that is not found when it looks for an item of the history.
func refusal(e *provider.Error) bool {
	if e.Status == http.StatusNotFound {
		return strings.HasPrefix(e.Message, "Item with id ")
	}
	if said := strings.ToLower(e.Message); e.Status == http.StatusInternalServerError && e.Kind == provider.KindProvider {
		return strings.Contains(said, "schema") || strings.Contains(said, "grammar")
	}
	return (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity) &&
		(e.Kind == provider.KindInvalid || e.Kind == provider.KindContext)
}

// Room is a limit for a reply that was learned of one request: it holds as long
// as the history is not shorter than it was then. The zero value is no limit.
type Room struct {
	tokens   int
	messages int
}

// Learn works out what room a failed request leaves for the reply: less than the
// size it asked for, and enough to be of use. The limit is an eighth lower than
// what is left, so that the next step still fits.
func (r *Room) Learn(window, input, asked, messages int) bool {
	const least = 1024
	left := window - input
	left -= left / 8
	if window <= 0 || input <= 0 || left < least || left >= asked {
		return false
	}
	*r = Room{tokens: left, messages: messages}
	return true
}

// Cut limits the length of a reply to a history of so many messages.
func (r Room) Cut(tokens, messages int) int {
	if r.tokens == 0 || messages < r.messages || tokens > 0 && tokens <= r.tokens {
		return tokens
	}
	return r.tokens
}
