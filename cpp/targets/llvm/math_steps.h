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

/// exp(x), or 2^x where `binary`, of a float64 whose result is normal, to 2^-37 of itself.
lanes::Real short_exponential(lanes::Real x, bool binary);

/// exp(x) - 1 of a float64, 0 <= x <= 60, likewise.
lanes::Real short_exponential_less_one(lanes::Real x);

/// 2^(r + low) of float64, |r| <= 1/2.
lanes::Real exp2_of_fraction(lanes::Real r, lanes::Real low);

/// x = 2^k m of a positive number, m in [sqrt(1/2), sqrt(2)).
struct Decomposed {
  lanes::Real k;
  lanes::Real m;
};
Decomposed decompose(lanes::Real x, bool may_be_subnormal);

} // namespace tilewright::math
