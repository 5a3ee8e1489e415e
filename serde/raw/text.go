package raw

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weirstream/weir/serde"
)

// A Charset says how characters are bytes.
type Charset uint8

// The charsets.
const (
	UTF8        Charset = iota
	ASCII               // US-ASCII: bytes below 128
	Latin1              // ISO 8859-1: a byte is the character of that number
	Windows1252         // Latin1 with printable characters in place of 27 controls; 5 bytes are no character
	UTF16BE             // 16-bit units, the high byte first
	UTF16LE             // 16-bit units, the low byte first
	UTF16               // as UTF16BE, behind a byte order mark when written; read by its mark, without one as UTF16BE
	charsets
)

var charsetNames = [charsets]string{"utf-8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16be", "utf-16le", "utf-16"}

// String returns the IANA name in lower case.
func (c Charset) String() string {
	if c < charsets {
		return charsetNames[c]
	}
	return fmt.Sprintf("charset %d", uint8(c))
}

// Text is a string in this charset. Text that the charset does not have, and bytes that are no text in it, are data
// errors; nothing is replaced. Unlike serde.String, which takes any bytes, UTF8 checks them.
func Text(c Charset) serde.Serde[string] { return text{c} }

type text struct{ charset Charset }

func (t text) Format() string { return "raw text " + t.charset.String() }

// Problem refuses a charset that there is not.
func (t text) Problem() error {
	if t.charset >= charsets {
		return fmt.Errorf("raw: there is no %v", t.charset)
	}
	return nil
}

var errNotUTF8 = errors.New("raw: text is not UTF-8")

func (t text) Append(dst []byte, v string) ([]byte, error) {
	if !utf8.ValidString(v) {
		return dst, errNotUTF8
	}
	switch t.charset {
	case UTF8:
		return append(dst, v...), nil
	case UTF16:
		return appendUTF16(append(dst, 0xfe, 0xff), v, binary.BigEndian), nil
	case UTF16BE:
		return appendUTF16(dst, v, binary.BigEndian), nil
	case UTF16LE:
		return appendUTF16(dst, v, binary.LittleEndian), nil
	}
	out := dst
	for _, r := range v {
		b, ok := t.charset.byteOf(r)
		if !ok {
			return dst, fmt.Errorf("raw: %v has no character %q", t.charset, r)
		}
		out = append(out, b)
	}
	return out, nil
}

func appendUTF16(dst []byte, v string, order binary.AppendByteOrder) []byte {
	for _, r := range v {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			dst = order.AppendUint16(order.AppendUint16(dst, uint16(high)), uint16(low))
		} else {
			dst = order.AppendUint16(dst, uint16(r))
		}
	}
	return dst
}

func (t text) Decode(b []byte) (string, error) {
	switch t.charset {
	case UTF8:
		if !utf8.Valid(b) {
			return "", errNotUTF8
		}
		return string(b), nil
	case UTF16:
		switch {
		case len(b) >= 2 && b[0] == 0xfe && b[1] == 0xff:
			return decodeUTF16(b[2:], binary.BigEndian)
		case len(b) >= 2 && b[0] == 0xff && b[1] == 0xfe:
			return decodeUTF16(b[2:], binary.LittleEndian)
		}
		return decodeUTF16(b, binary.BigEndian)
	case UTF16BE:
		return decodeUTF16(b, binary.BigEndian)
	case UTF16LE:
		return decodeUTF16(b, binary.LittleEndian)
	}
	out := make([]byte, 0, len(b)+len(b)/8)
	for i, c := range b {
		r, ok := t.charset.runeOf(c)
		if !ok {
			return "", fmt.Errorf("raw: byte 0x%02x at %d is no character in %v", c, i, t.charset)
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), nil
}

func decodeUTF16(b []byte, order binary.ByteOrder) (string, error) {
	if len(b)%2 != 0 {
		return "", fmt.Errorf("raw: UTF-16 text has an odd number of bytes, %d", len(b))
	}
	out := make([]byte, 0, len(b)/2+len(b)/8)
	for i := 0; i < len(b); i += 2 {
		r := rune(order.Uint16(b[i:]))
		if utf16.IsSurrogate(r) {
			if i+4 > len(b) {
				return "", errSurrogate(i)
			}
			if r = utf16.DecodeRune(r, rune(order.Uint16(b[i+2:]))); r == utf8.RuneError {
				return "", errSurrogate(i)
			}
			i += 2
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), nil
}

func errSurrogate(at int) error {
	return fmt.Errorf("raw: half of a UTF-16 surrogate pair at byte %d", at)
}

// windows1252 has the characters of bytes 0x80 to 0x9f, 0 where there is none.
var windows1252 = [32]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

// byteOf returns the byte of a character in a charset of single bytes.
func (c Charset) byteOf(r rune) (byte, bool) {
	switch {
	case r < 0x80:
		return byte(r), true
	case c == ASCII:
		return 0, false
	case c == Windows1252 && (r < 0xa0 || r > 0xff):
		for i, w := range windows1252 {
			if w == r {
				return byte(0x80 + i), true
			}
		}
		return 0, false
	}
	return byte(r), r <= 0xff
}

// runeOf returns the character of a byte in a charset of single bytes.
func (c Charset) runeOf(b byte) (rune, bool) {
	switch {
	case b < 0x80:
		return rune(b), true
	case c == ASCII:
		return 0, false
	case c == Windows1252 && b < 0xa0:
		r := windows1252[b-0x80]
		return r, r != 0
	}
	return rune(b), true
}
