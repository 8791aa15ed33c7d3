//! Records, histograms, series, confidence intervals, and results on disk.
