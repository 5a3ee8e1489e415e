package kafka

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy/xerial"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/weirstream/weir/internal/wire"
)

// expandMost is the greatest size of a batch after decompression: a few kilobytes can otherwise claim all memory there is.
const expandMost = 512 << 20

// expand is the plain form of a batch's records, of most bytes. Where it is not b itself it lies in a buffer, on which the caller has the
// first hold.
//
// How large it will be is not known before: the sizes in a batch are not to be believed. There is room for what batches of this kind came
// to lately, and more when that is not enough.
func (c *codecs) expand(s *buffers, how wire.Compression, b []byte, most int) (plain []byte, in *buffer, err error) {
	if how == wire.None {
		return b, nil, nil
	}
	decode := c.decoder(how)
	if decode == nil {
		return nil, nil, fmt.Errorf("compression %d is not known", how)
	}
	rate := &c.rates[how]
	for size := rate.room(len(b)); ; size *= 4 {
		in = s.get(min(size, most))
		plain, err = decode(in.b, b)
		if err == nil && len(plain) <= most {
			rate.learn(len(b), len(plain))
			return plain, in, nil
		}
		in.release()
		if err != nil && err != errNoRoom {
			return nil, nil, err
		}
		if size >= most {
			return nil, nil, fmt.Errorf("the batch is larger than %d MiB when it is decompressed", most>>20)
		}
	}
}

// errNoRoom is a decoder's answer when room is too small for what it decodes.
var errNoRoom = errors.New("no room")

// decoder is what decodes b into room and returns the part of it that is used.
func (c *codecs) decoder(how wire.Compression) func(room, b []byte) ([]byte, error) {
	switch how {
	case wire.Gzip:
		return c.gunzip
	case wire.Snappy:
		return unsnap
	case wire.LZ4:
		return c.unlz4
	case wire.Zstd:
		return c.unzstd
	}
	return nil
}

func (c *codecs) gunzip(room, b []byte) ([]byte, error) {
	r, _ := c.gzipIn.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	defer c.gzipIn.Put(r)
	if err := r.Reset(bytes.NewReader(b)); err != nil {
		return nil, err
	}
	return readInto(room, r)
}

func (c *codecs) unlz4(room, b []byte) ([]byte, error) {
	r, _ := c.lz4In.Get().(*lz4.Reader)
	if r == nil {
		r = lz4.NewReader(nil)
	}
	defer c.lz4In.Put(r)
	r.Reset(bytes.NewReader(b))
	return readInto(room, r)
}

func unsnap(room, b []byte) ([]byte, error) {
	plain, err := xerial.DecodeCapped(room[:0], b)
	if err == xerial.ErrDstTooSmall {
		err = errNoRoom
	}
	return plain, err
}

func (c *codecs) unzstd(room, b []byte) ([]byte, error) {
	r, _ := c.zstdIn.Get().(*zstd.Decoder)
	if r == nil {
		var err error
		if r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(expandMost)); err != nil {
			return nil, err
		}
	}
	defer c.zstdIn.Put(r)
	return r.DecodeAll(b, room[:0]) // in memory of its own when room is too small
}

// readInto reads all there is, which must end within room.
func readInto(room []byte, r io.Reader) ([]byte, error) {
	n, err := io.ReadFull(r, room)
	switch err {
	case io.EOF, io.ErrUnexpectedEOF:
		return room[:n], nil
	case nil:
	default:
		return nil, err
	}
	var more [1]byte
	switch _, err := io.ReadFull(r, more[:]); err {
	case io.EOF:
		return room, nil
	case nil:
		return nil, errNoRoom
	default:
		return nil, err
	}
}

// A rate is how many times as large batches lately became, in sixteenths. It need not be exact: concurrent users may undo each other's.
type rate struct{ sixteenths atomic.Int64 }

// room is what a batch of n bytes should fit into.
func (r *rate) room(n int) int {
	times := r.sixteenths.Load()
	if times == 0 {
		times = 4 * 16
	}
	return int(int64(n)*times/16) + n/8 + 1<<10
}

// learn takes a larger one at once and a smaller one slowly.
func (r *rate) learn(packed, plain int) {
	times := (16*int64(plain) + int64(packed) - 1) / max(int64(packed), 1)
	if old := r.sixteenths.Load(); old > times {
		times = old - (old-times+7)/8
	}
	r.sixteenths.Store(max(times, 1))
}
