package keys

// The layouts of rows. All are read back by their Cut function; key slices that alias src are named so.
//
// By time, for windows and timers: what is due lies at the head of the store, so closing reads what closes and nothing
// else. A scan should begin at the last time it reached, not at the beginning: backends step over deleted rows slowly.
// By key, where a record has to find the neighbours in time of its own key: sessions, sliding windows, joins.

// AppendByTime lays out a row found by time, then key.
func AppendByTime(dst []byte, ms int64, key []byte) []byte {
	return append(AppendTime(dst, ms), key...)
}

// CutByTime reads AppendByTime's layout. key aliases src.
func CutByTime(src []byte) (ms int64, key []byte, err error) { return CutTime(src) }

// AppendByKey lays out a row found by key, then time. The rows of one key between two times are a range.
func AppendByKey(dst, key []byte, ms int64) []byte { return AppendTime(AppendBytes(dst, key), ms) }

// CutByKey reads AppendByKey's layout. The key is appended to dst.
func CutByKey(dst, src []byte) (key []byte, ms int64, err error) {
	key, src, err = CutBytes(dst, src)
	if err != nil {
		return nil, 0, err
	}
	ms, err = lastTime(src)
	return key, ms, err
}

// AppendSession lays out a session: by key, then end, then start, so that the sessions that a record at t may touch
// are those from (key, t − gap) on.
func AppendSession(dst, key []byte, start, end int64) []byte {
	return AppendTime(AppendTime(AppendBytes(dst, key), end), start)
}

// CutSession reads AppendSession's layout. The key is appended to dst.
func CutSession(dst, src []byte) (key []byte, start, end int64, err error) {
	if key, src, err = CutBytes(dst, src); err != nil {
		return nil, 0, 0, err
	}
	if end, src, err = CutTime(src); err != nil {
		return nil, 0, 0, err
	}
	start, err = lastTime(src)
	return key, start, end, err
}

// AppendVersion lays out a version of a key's value: newest first, so that the first row from (key, t) on is the
// version that was valid at t.
func AppendVersion(dst, key []byte, from int64) []byte {
	return AppendTimeDown(AppendBytes(dst, key), from)
}

// CutVersion reads AppendVersion's layout. The key is appended to dst.
func CutVersion(dst, src []byte) (key []byte, from int64, err error) {
	key, down, err := CutByKey(dst, src)
	return key, ^down, err
}

// AppendTimer lays out a timer: by name, then due time, then key.
func AppendTimer(dst []byte, name string, at int64, key []byte) []byte {
	return AppendByTime(AppendBytes(dst, []byte(name)), at, key)
}

// CutTimer reads AppendTimer's layout. key aliases src.
func CutTimer(src []byte) (name string, at int64, key []byte, err error) {
	b, src, err := CutBytes(nil, src)
	if err != nil {
		return "", 0, nil, err
	}
	at, key, err = CutByTime(src)
	return string(b), at, key, err
}

func lastTime(src []byte) (int64, error) {
	ms, rest, err := CutTime(src)
	if err == nil && len(rest) > 0 {
		err = ErrMalformed
	}
	return ms, err
}
