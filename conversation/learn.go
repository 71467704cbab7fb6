package conversation

import "math"

// What is believed of a tokenizer before it counted anything. A first estimate is
// rather too high: too low a one costs a refusal.
const (
	firstFactor = 1.1
	together    = 0.4  // how far off all kinds may be together, as a share (a deviation)
	apart       = 0.15 // and each by itself
	blurred     = 0.06 // how far off what is known of a text is at best
	blurTokens  = 15   // tokens that nobody counted right: of marks between messages
	forgetting  = 0.02 // what is forgotten of a kind with each count
	leastFactor = 0.45
	mostFactor  = 6 // small models of one's own may count a token a byte
)

// factors are how many tokens of each kind a model counts for one that was guessed,
// with what is not known of them yet: their covariance. It is a Kalman filter whose
// state stands still. The zero value is not usable.
type factors struct {
	of  [kinds]float64
	cov [kinds][kinds]float64
}

func newFactors() (f factors) {
	for k := range f.of {
		f.of[k] = firstFactor
	}
	f.of[picture] = 1
	f.unsure(1)
	return f
}

// unsure forgets so much of how well the factors are known: 1 all of it.
func (f *factors) unsure(share float64) {
	for i := range f.cov {
		for j := range f.cov[i] {
			f.cov[i][j] = 0
			if i != int(picture) && j != int(picture) {
				f.cov[i][j] = share * together * together
			}
		}
		f.cov[i][i] += share * apart * apart
	}
	f.cov[picture][picture] += share * together * together
}

// tokens estimates what was guessed.
func (f *factors) tokens(guess [kinds]int) (sum float64) {
	for k, n := range guess {
		sum += f.of[k] * float64(n)
	}
	return sum
}

// learn corrects the factors: what was guessed, or came to what was there before,
// turned out to be so many tokens.
func (f *factors) learn(guess [kinds]int, counted float64) {
	all := 0.0
	for k, n := range guess {
		all += f.of[k] * math.Abs(float64(n))
	}
	wrong := counted - f.tokens(guess)
	noise := blurred*blurred*all*all + blurTokens*blurTokens
	gain, variance := f.gain(guess, noise)
	if wrong*wrong > 16*variance { // another model, or another text than was believed
		f.unsure(1)
		gain, variance = f.gain(guess, noise)
	}
	for i := range f.of {
		f.of[i] = min(max(f.of[i]+gain[i]*wrong, leastFactor), mostFactor)
	}
	for i := range f.cov {
		for j := range f.cov[i] {
			f.cov[i][j] -= gain[i] * gain[j] * variance
		}
		f.cov[i][i] += forgetting * forgetting
	}
}

// gain is how much of an error in the sum each factor takes, and the variance that
// is expected of the sum.
func (f *factors) gain(guess [kinds]int, noise float64) (gain [kinds]float64, variance float64) {
	variance = noise
	for i := range gain {
		for j, n := range guess {
			gain[i] += f.cov[i][j] * float64(n)
		}
		variance += gain[i] * float64(guess[i])
	}
	for i := range gain {
		gain[i] /= variance
	}
	return gain, variance
}

// byName are the factors as a session file keeps them, nil before anything was
// learned.
func (f *factors) byName() map[string]float64 {
	if f.of == newFactors().of {
		return nil
	}
	named := make(map[string]float64, kinds)
	for k, name := range kindNames {
		named[name] = math.Round(f.of[k]*1000) / 1000
	}
	return named
}

// restore takes the factors of a session file. What was learned there is known, but
// for what another model would make of it.
func (f *factors) restore(named map[string]float64) {
	if named == nil {
		return
	}
	for k, name := range kindNames {
		if of, ok := named[name]; ok {
			f.of[k] = min(max(of, leastFactor), mostFactor)
		}
	}
	f.unsure(0.05)
}
