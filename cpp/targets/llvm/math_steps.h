// The steps that several of the elementary functions share.
#pragma once

#include "targets/llvm/lanes.h"

namespace tilewright::math {

/// y 2^k, rounded once where it is below the normal range.
lanes::Real scaled(lanes::Real y, const lanes::Rounded &k);

/// x = k ln 2 + (r + error), |r| <= ln(2)/2.
struct Reduced {
  lanes::Rounded k;
  lanes::Real r;
  lanes::Real error;
};
Reduced reduce_exponent(lanes::Real x);

/// (exp(r + error) - 1 - r) to float64's precision of r^2.
lanes::Real exp_tail(const Reduced &reduced);

/// exp(x) - 1 as a pair; right while 0 <= k <= 60.
lanes::Pair exp_less_one(const Reduced &reduced, lanes::Real tail);

/// exp of float32.
lanes::Real exponential_single(lanes::Real x, bool fast);

/// exp(x), or 2^x where `binary`, of a float64 whose result is normal, to 2^-37 of itself.
lanes::Real short_exponential(lanes::Real x, bool binary);

/// exp(x) - 1 of a float64, -60 <= x <= 90, likewise.
lanes::Real short_exponential_less_one(lanes::Real x);

/// 2^(r + low) of float64, |r| <= 1/2.
lanes::Real exp2_of_fraction(lanes::Real r, lanes::Real low);

/// x = 2^k m of a positive number, m in [sqrt(1/2), sqrt(2)).
struct Decomposed {
  lanes::Real k;
  lanes::Real m;
};
Decomposed decompose(lanes::Real x, bool may_be_subnormal);

/// log(1 + a) + more ln 2 of a > -1; -infinity at -1, NaN below.
lanes::Real log1p_of_pair(const lanes::Pair &a, lanes::Real more);
/// log(1 + a) of a float64, to 2^-36 of itself; likewise.
lanes::Real short_log1p(lanes::Real a);

/// The square root; 0 stays 0.
lanes::Pair square_root(const lanes::Pair &x);

} // namespace tilewright::math
