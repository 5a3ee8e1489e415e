package serde

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// MaxPrecision is the largest number of digits of a decimal that is read from text or bytes.
const MaxPrecision = 1000

// A Decimal is an exact number, unscaled × 10^-scale. 1.50 and 1.5 are equal by Cmp, and differ in scale. It does not change; the
// zero Decimal is 0.
type Decimal struct {
	unscaled *big.Int // nil is 0
	scale    int
}

// NewDecimal returns unscaled × 10^-scale. It copies unscaled. A scale outside 0 to MaxPrecision panics.
func NewDecimal(unscaled *big.Int, scale int) Decimal {
	if scale < 0 || scale > MaxPrecision {
		panic(fmt.Sprintf("serde: decimal scale %d is outside 0 to %d", scale, MaxPrecision))
	}
	return Decimal{new(big.Int).Set(unscaled), scale}
}

// ParseDecimal reads a number as "-12.50" or "1.25e3". It refuses more than MaxPrecision digits, also those an exponent
// adds: "1e1000000000" is short to write and long to hold.
func ParseDecimal(s string) (Decimal, error) {
	digits, exponent, err := cutExponent(s)
	if err != nil {
		return Decimal{}, err
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	sign := strings.TrimLeft(whole, "+-")
	if len(whole)-len(sign) > 1 || !allDigits(sign+fraction) || sign+fraction == "" {
		return Decimal{}, notDecimal(s)
	}
	zeros := max(0, exponent-len(fraction))
	scale := max(0, len(fraction)-exponent)
	if len(sign)+len(fraction)+zeros > MaxPrecision || scale > MaxPrecision {
		return Decimal{}, fmt.Errorf("serde: decimal of more than %d digits", MaxPrecision)
	}
	unscaled, ok := new(big.Int).SetString(whole+fraction+strings.Repeat("0", zeros), 10)
	if !ok {
		return Decimal{}, notDecimal(s)
	}
	return Decimal{unscaled, scale}, nil
}

func notDecimal(s string) error { return fmt.Errorf("serde: %.40q is no decimal number", s) }

func cutExponent(s string) (digits string, exponent int, err error) {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, 0, nil
	}
	exponent, err = strconv.Atoi(s[i+1:])
	if err != nil || exponent > MaxPrecision || exponent < -MaxPrecision {
		return "", 0, fmt.Errorf("serde: exponent of %.40q is no number between -%d and %d", s, MaxPrecision, MaxPrecision)
	}
	return s[:i], exponent, nil
}

func allDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// Unscaled returns the digits as a new integer.
func (d Decimal) Unscaled() *big.Int {
	if d.unscaled == nil {
		return new(big.Int)
	}
	return new(big.Int).Set(d.unscaled)
}

// Scale returns how many of the digits are behind the point.
func (d Decimal) Scale() int { return d.scale }

// Sign returns -1, 0 or 1.
func (d Decimal) Sign() int { return d.digits().Sign() }

// digits is Unscaled without the copy.
func (d Decimal) digits() *big.Int {
	if d.unscaled == nil {
		return zeroInt
	}
	return d.unscaled
}

var zeroInt = new(big.Int) // never written

// Precision returns how many digits the number needs.
func (d Decimal) Precision() int {
	return max(1, len(new(big.Int).Abs(d.digits()).String()), d.scale)
}

// Cmp compares the numbers.
func (d Decimal) Cmp(e Decimal) int {
	return d.scaledTo(max(d.scale, e.scale)).Cmp(e.scaledTo(max(d.scale, e.scale)))
}

func (d Decimal) scaledTo(scale int) *big.Int {
	return new(big.Int).Mul(d.digits(), pow10(scale-d.scale))
}

func pow10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// Rescale returns the same number with this scale. It fails when digits would be lost; nothing is rounded.
func (d Decimal) Rescale(scale int) (Decimal, error) {
	if scale < 0 || scale > MaxPrecision {
		return Decimal{}, fmt.Errorf("serde: decimal scale %d is outside 0 to %d", scale, MaxPrecision)
	}
	if scale >= d.scale {
		return Decimal{d.scaledTo(scale), scale}, nil
	}
	q, r := new(big.Int).QuoRem(d.digits(), pow10(d.scale-scale), new(big.Int))
	if r.Sign() != 0 {
		return Decimal{}, fmt.Errorf("serde: %v has more than %d digits behind the point", d, scale)
	}
	return Decimal{q, scale}, nil
}

// Fit returns the number as a value of this decimal type, and an error when it has too many digits for it.
func (d Decimal) Fit(t Type) (Decimal, error) {
	f, err := d.Rescale(t.Scale())
	if err != nil {
		return Decimal{}, err
	}
	if f.Precision() > t.Precision() {
		return Decimal{}, fmt.Errorf("serde: %v does not fit %v", d, t)
	}
	return f, nil
}

// String returns the number in plain digits, as many behind the point as its scale says.
func (d Decimal) String() string {
	s := new(big.Int).Abs(d.digits()).String()
	if d.scale > 0 {
		if missing := d.scale + 1 - len(s); missing > 0 {
			s = strings.Repeat("0", missing) + s
		}
		s = s[:len(s)-d.scale] + "." + s[len(s)-d.scale:]
	}
	if d.Sign() < 0 {
		s = "-" + s
	}
	return s
}
