package engine

import (
	"slices"
	"sync"
)

// warnings are what an app has noticed and goes on with, though it is hardly meant. Each is said once.
type warnings struct {
	mu    sync.Mutex
	about map[string]bool
	texts []string
}

// warn says what was noticed about something, the first time.
func (a *App) warn(about, text string, args ...any) {
	w := &a.warnings
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.about[about] {
		return
	}
	if w.about == nil {
		w.about = map[string]bool{}
	}
	w.about[about] = true
	w.texts = append(w.texts, text)
	a.log.Warn(text, args...)
}

// all is a snapshot, in the order of noticing.
func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.texts)
}

// keyedBy is by how many partitions the keys of a source were spread; 0 if that is not known, or differs from topic to topic.
func (s *session) keyedBy(sub *Sub) func(source string) int {
	return func(source string) (n int) {
		for _, src := range sub.Sources {
			if src.Name != source {
				continue
			}
			for i, topic := range s.sourceNames[src] {
				p := int(s.sourceTopics[topic].Partitions)
				if i > 0 && p != n {
					return 0
				}
				n = p
			}
		}
		return n
	}
}
