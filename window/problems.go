package window

import (
	"fmt"
	"strings"
	"time"
)

// problems collects what is wrong with a spec, so that one Build reports all of it.
type problems []string

func (p *problems) when(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// whole: event time is in milliseconds. Cutting 1.5 ms to 1 without a word would change results.
func (p *problems) whole(name string, d time.Duration) {
	p.when(d%time.Millisecond != 0, "%s %v is not in whole milliseconds", name, d)
}

func (p *problems) positive(name string, d time.Duration) {
	p.when(d <= 0, "%s %v is not positive", name, d)
	p.whole(name, d)
}

func (p *problems) notNegative(name string, d time.Duration) {
	p.when(d < 0, "%s %v is negative", name, d)
	p.whole(name, d)
}

func (p problems) err(spec fmt.Stringer) error {
	if len(p) == 0 {
		return nil
	}
	return fmt.Errorf("window: %v: %s", spec, strings.Join(p, "; "))
}
