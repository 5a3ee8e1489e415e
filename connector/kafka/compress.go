package kafka

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy/xerial"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/weirstream/weir/internal/wire"
)

// expandMost is the greatest size of a batch after decompression: a few kilobytes can otherwise claim all memory there is.
const expandMost = 512 << 20

// codecs keep what compresses and decompresses between batches, because making one costs more than a batch.
type codecs struct {
	gzipIn, gzipOut, lz4In, lz4Out, zstdIn, zstdOut sync.Pool
}

var errTooLarge = fmt.Errorf("the batch is larger than %d MiB when it is decompressed", expandMost>>20)

// expand is the plain form of a batch's records.
func (c *codecs) expand(how wire.Compression, b []byte) ([]byte, error) {
	switch how {
	case wire.None:
		return b, nil
	case wire.Gzip:
		r, _ := c.gzipIn.Get().(*gzip.Reader)
		if r == nil {
			r = new(gzip.Reader)
		}
		defer c.gzipIn.Put(r)
		if err := r.Reset(bytes.NewReader(b)); err != nil {
			return nil, err
		}
		return readAll(r, len(b))
	case wire.Snappy:
		return unsnap(b)
	case wire.LZ4:
		r, _ := c.lz4In.Get().(*lz4.Reader)
		if r == nil {
			r = lz4.NewReader(nil)
		}
		defer c.lz4In.Put(r)
		r.Reset(bytes.NewReader(b))
		return readAll(r, len(b))
	case wire.Zstd:
		r, _ := c.zstdIn.Get().(*zstd.Decoder)
		if r == nil {
			var err error
			if r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(expandMost)); err != nil {
				return nil, err
			}
		}
		defer c.zstdIn.Put(r)
		return r.DecodeAll(b, nil)
	}
	return nil, fmt.Errorf("compression %d is not known", how)
}

func readAll(r io.Reader, size int) ([]byte, error) {
	out := bytes.NewBuffer(make([]byte, 0, 4*size+bytes.MinRead))
	n, err := out.ReadFrom(io.LimitReader(r, expandMost+1))
	if err == nil && n > expandMost {
		err = errTooLarge
	}
	return out.Bytes(), err
}

// unsnap grows its room until the batch fits: the sizes in it are not to be believed.
func unsnap(b []byte) ([]byte, error) {
	for size := 4*len(b) + 1024; ; size *= 4 {
		size = min(size, expandMost)
		out, err := xerial.DecodeCapped(make([]byte, 0, size), b)
		if err != xerial.ErrDstTooSmall {
			return out, err
		}
		if size == expandMost {
			return nil, errTooLarge
		}
	}
}

// shrink is the compressed form of a batch's records.
func (c *codecs) shrink(how wire.Compression, b []byte) ([]byte, error) {
	switch how {
	case wire.Gzip:
		w, _ := c.gzipOut.Get().(*gzip.Writer)
		if w == nil {
			w = gzip.NewWriter(nil)
		}
		defer c.gzipOut.Put(w)
		return writeAll(w, b)
	case wire.Snappy:
		return xerial.Encode(nil, b), nil
	case wire.LZ4:
		w, _ := c.lz4Out.Get().(*lz4.Writer)
		if w == nil {
			w = lz4.NewWriter(nil)
			if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
				return nil, err
			}
		}
		defer c.lz4Out.Put(w)
		return writeAll(w, b)
	case wire.Zstd:
		w, _ := c.zstdOut.Get().(*zstd.Encoder)
		if w == nil {
			var err error
			if w, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true)); err != nil {
				return nil, err
			}
		}
		defer c.zstdOut.Put(w)
		return w.EncodeAll(b, nil), nil
	}
	return nil, fmt.Errorf("compression %d is not known", how)
}

// A compressor writes a stream of its own into out after Reset.
type compressor interface {
	io.WriteCloser
	Reset(out io.Writer)
}

func writeAll(w compressor, b []byte) ([]byte, error) {
	var out bytes.Buffer
	w.Reset(&out)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}
