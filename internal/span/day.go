package span

import "time"

const dayMillis = 24 * 60 * 60 * 1000

// day is the calendar day of t in the zone. A day begins when the clock on the wall first shows its date (and, with an
// offset, that time of day). So days follow each other without gap or overlap whatever clocks do: where midnight
// is skipped the day begins an hour later, where it comes twice at the first, and a date that a
// country skipped has no span at all.
func (s *Spec) day(t int64) Span {
	at := time.UnixMilli(t).In(s.Zone)
	_, offset := at.Zone()
	wall := t + int64(offset)*1000
	midnight := floor(wall, dayMillis, s.Offset)
	end := s.shows(midnight + dayMillis)
	for end <= t { // the clock was put back behind a midnight that had passed: that day has begun already
		midnight += dayMillis
		end = s.shows(midnight + dayMillis)
	}
	return Span{s.shows(midnight), end}
}

// shows is the first instant at which the clock on the wall shows wall or later.
func (s *Spec) shows(wall int64) int64 {
	// No zone is two days off UTC and changes its offset, so the search begins before any answer. It crosses as
	// many changes of offset as lie within four days: rarely one.
	at := time.UnixMilli(wall - 2*dayMillis).In(s.Zone)
	for {
		_, offset := at.Zone()
		from, until := at.ZoneBounds()
		t := wall - int64(offset)*1000
		if !from.IsZero() {
			t = max(t, from.UnixMilli())
		}
		if until.IsZero() || t < until.UnixMilli() {
			return t
		}
		at = until
	}
}
