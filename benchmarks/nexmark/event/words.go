package event

import (
	"math"
	"strconv"
	"strings"
)

var (
	firstNames = strings.Fields("Ada Ben Clara Dmitri Elena Farid Grace Hugo Ines Jonas Kofi")
	lastNames  = strings.Fields("Abara Brandt Castillo Dubois Eriksen Fontana Garcia Haddad Ito")
	states     = strings.Fields("AZ CA ID OR WA WY")
	cities     = strings.Split("Phoenix,Los Angeles,San Francisco,Boise,Portland,Bend,Redmond,Seattle,Kent,Cheyenne", ",")
	// Half of all bids come through one of these.
	hotChannels = strings.Fields("Google Facebook Baidu Apple")
)

// channels is how many other channels there are.
const channels = 10_000

// words holds every string that can be made beforehand, so that an event mostly picks instead of building.
type words struct {
	names   []string
	channel []string // channels, then the hot ones
	url     []string // one per channel, as the suite has it
	filler  string
	prices  [1<<12 + 1]int64
}

// fillerLen leaves room for the longest piece behind any offset of 16 bits.
const fillerLen = 1<<16 + 1024

func newWords(seed uint64) *words {
	r := newRandom(seed, math.MaxUint64)
	w := &words{filler: makeFiller(&r)}
	for _, f := range firstNames {
		for _, l := range lastNames {
			w.names = append(w.names, f+" "+l)
		}
	}
	for i := range channels + len(hotChannels) {
		name := "channel-" + strconv.Itoa(i)
		url := "https://www.nexmark.com/" + w.letters(&r, 5, 5) + "/" + w.letters(&r, 5, 5) + "/" + w.letters(&r, 5, 5) + "/item.htm?query=1"
		if i >= channels {
			name = hotChannels[i-channels]
		} else if r.below(10) > 0 { // one channel in ten has no id, and query 21 drops its bids
			url += "&channel_id=" + strconv.Itoa(i)
		}
		w.channel = append(w.channel, name)
		w.url = append(w.url, url)
	}
	for i := range w.prices {
		w.prices[i] = int64(math.Round(math.Pow(10, 2+6*float64(i)/(1<<12)) * (1 << 16)))
	}
	return w
}

func makeFiller(r *random) string {
	b := make([]byte, fillerLen)
	for i := range b {
		b[i] = byte('a' + r.below(26))
	}
	return string(b)
}

// letters is a piece of the filler of between least and most letters.
func (w *words) letters(r *random, least, most int64) string {
	n := least
	if most > least {
		n += r.below(most - least + 1)
	}
	at := r.below(1 << 16)
	return w.filler[at : at+n]
}

// extra pads an event to an average size, give or take a fifth.
func (w *words) extra(r *random, size, average int) string {
	missing := int64(average - size)
	if missing <= 0 {
		return ""
	}
	return w.letters(r, missing-missing/5, missing+missing/5)
}

// price is log-uniform between 100 and 100,000,000 cents: as many from 1 to 10 dollars as from 10 to 100. It
// interpolates in a table with integers, which give the same price on every machine.
func (w *words) price(r *random) int64 {
	x := r.next()
	i, fraction := x>>52, int64(x>>36&0xffff)
	return (w.prices[i]*(1<<16-fraction) + w.prices[i+1]*fraction + 1<<31) >> 32
}
