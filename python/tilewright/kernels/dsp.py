"""Signal processing: recurrences over unbounded time, as textbooks write them.

Each kernel returns a `tw.StreamFunction`, whose streams take chunks of any length; what comes out does not depend
on the cuts. Coefficients are finite arrays that are given when a stream is opened::

    s = tw.kernels.dsp.fir(tw.float32).stream(h=np.ones(4, np.float32))
    y = s.push(np.ones(100, np.float32))

Before the first element, all is 0 where a kernel does not say otherwise. The page docs/streams.md says what
streams can do.
"""

from __future__ import annotations

from .dsp_delays import (
    echo,
    feedback_delay_network,
    plucked_string,
    reverb,
    wave_1d,
    wave_2d,
)
from .dsp_filters import (
    autocorrelation,
    biquads,
    filter_bank,
    fir,
    iir,
    lms,
    max_filter,
    moving_statistics,
)
from .dsp_parts import Channels
from .dsp_rates import cic, decimator, resampler
from .dsp_spectra import fourier_stages, istft, stft

__all__ = [
    "autocorrelation",
    "biquads",
    "cic",
    "decimator",
    "echo",
    "feedback_delay_network",
    "filter_bank",
    "fir",
    "iir",
    "istft",
    "lms",
    "max_filter",
    "moving_statistics",
    "plucked_string",
    "resampler",
    "reverb",
    "stft",
    "wave_1d",
    "wave_2d",
]

_SHOWN = (Channels, fourier_stages)  # on the page of kernels
