package main

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"hash/crc32"
	"io"

	"github.com/weirstream/weir/state"
)

// edits are a batch as the log has it.
type edits struct {
	Ranges [][2][]byte
	Writes []write
}

type write struct {
	Key, Value []byte
	Deleted    bool
}

// editsOf copies a batch, whose memory is its owner's again when Apply returns.
func editsOf(b *state.Batch) (e edits) {
	for from, to := range b.DeletedRanges() {
		e.Ranges = append(e.Ranges, [2][]byte{bytes.Clone(from), bytes.Clone(to)})
	}
	for k, v := range b.Ops() {
		e.Writes = append(e.Writes, write{bytes.Clone(k), bytes.Clone(v), v == nil})
	}
	return e
}

const headerBytes = 8 // length, then checksum

// encode frames a batch, so that replay can tell a whole one from one that a crash cut short.
func (e edits) encode() []byte {
	buf := bytes.NewBuffer(make([]byte, headerBytes))
	if err := gob.NewEncoder(buf).Encode(e); err != nil {
		panic(err) // slices of bytes can always be encoded
	}
	b := buf.Bytes()
	binary.LittleEndian.PutUint32(b, uint32(len(b)-headerBytes))
	binary.LittleEndian.PutUint32(b[4:], crc32.ChecksumIEEE(b[headerBytes:]))
	return b
}

// replay reads the log up to its first batch that is not whole, and cuts it there.
func (d *db) replay() error {
	info, err := d.log.Stat()
	if err != nil {
		return err
	}
	var at int64
	for {
		e, size, err := d.next(info.Size() - at)
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		d.publish(e)
		at += size
	}
	if err := d.log.Truncate(at); err != nil {
		return err
	}
	_, err = d.log.Seek(at, io.SeekStart)
	return err
}

// next reads a batch of at most left bytes. What is cut short or damaged is io.ErrUnexpectedEOF.
func (d *db) next(left int64) (e edits, size int64, err error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(d.log, header[:]); err != nil {
		return e, 0, err
	}
	n := int64(binary.LittleEndian.Uint32(header[:]))
	if n > left-headerBytes {
		return e, 0, io.ErrUnexpectedEOF
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(d.log, body); err != nil {
		return e, 0, err
	}
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(header[4:]) {
		return e, 0, io.ErrUnexpectedEOF
	}
	return e, headerBytes + n, gob.NewDecoder(bytes.NewReader(body)).Decode(&e)
}
