package kafka

import (
	"slices"
	"time"
)

// age seals parcels that nothing filled in time.
func (w *writer) age() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := w.ripe()
		if wait == 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-w.aged:
		case <-w.ctx.Done():
			return
		}
	}
}

// ripe seals the oldest parcel if it is old enough, and says how long to wait before the next look.
func (w *writer) ripe() time.Duration {
	w.mu.Lock()
	if len(w.aging) == 0 {
		w.mu.Unlock()
		return time.Hour
	}
	oldest := w.aging[0]
	if wait := time.Until(oldest.closes); wait > 0 {
		w.mu.Unlock()
		return wait
	}
	w.aging[0] = aging{}
	w.aging = w.aging[1:]
	w.mu.Unlock()
	oldest.lane.ripen(oldest.parcel, oldest.closes)
	return 0
}

// offer lists a lane where its next parcel, of checkpoint n, can leave from. The lane's lock is held.
func (w *writer) offer(l *lane, n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offerLocked(l, n)
}

func (w *writer) offerLocked(l *lane, n uint64) {
	if w.tx != nil && !w.tx.admitLocked(l, n) {
		return
	}
	w.toSenderLocked(l)
}

// toSenderLocked lists a lane with its leader's sender, or with the homeless.
func (w *writer) toSenderLocked(l *lane) {
	to, ok := w.log.dir.leader(l.at)
	if !ok {
		w.strayLocked(l)
		return
	}
	s := w.senders[to.addr]
	if s == nil {
		s = newSender(w, to.addr)
		w.senders[to.addr] = s
	}
	s.ready = append(s.ready, l)
	signal(s.wake)
}

func (w *writer) strayLocked(l *lane) {
	w.homeless = append(w.homeless, l)
	signal(w.lost)
}

// find looks for the leaders of homeless lanes, as reads.find does for cursors.
func (w *writer) find() {
	wait := newBackoff()
	for {
		select {
		case <-w.lost:
		case <-w.ctx.Done():
			return
		}
		if !wait.sleep(w.ctx, time.Time{}) {
			return
		}
		w.findOnce()
	}
}

func (w *writer) findOnce() {
	w.mu.Lock()
	lanes := w.homeless
	w.homeless = nil
	w.mu.Unlock()
	var topics []string
	for _, l := range lanes {
		if !slices.Contains(topics, l.at.Topic) {
			topics = append(topics, l.at.Topic)
		}
	}
	_, err := w.log.dir.describe(w.ctx, topics)
	if err != nil && w.ctx.Err() == nil {
		w.often.warn(w.dialer.log, "cannot find the leaders of partitions to write to", "", "writer", w.how.Name, "topics", topics, "error", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range lanes {
		w.toSenderLocked(l)
	}
}
