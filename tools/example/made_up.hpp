#pragma once

#include <string>

#include "warploom/io/nifti.hpp"
#include "warploom/io/png.hpp"

/// Inputs made up for `warploom example`: the same on every machine, but for the last bit of a sine.
namespace warploom::tool {

struct DiffusionSeries {
  io::Nifti image;         ///< 48 x 48 x 16 voxels of 2 mm, 2 volumes at b = 0 and 30 at b = 1000 s/mm^2
  std::string bval, bvec;  ///< as FSL writes them
};
/// A ring of white matter crossed by a straight bundle, in grey matter, with free water in the middle; Rician
/// noise at a signal-to-noise ratio of 20 in white matter at b = 0.
DiffusionSeries made_up_series();

/// Of 60 x 70 x 58 voxels of 3 mm, 8 bits. Labels: 1 grey matter, 2 white matter, 3 ventricles.
struct TwoHeads {
  io::Nifti first, first_labels;
  io::Nifti second, second_labels;  ///< the same head turned, shifted, stretched and bent, and darker
};
TwoHeads made_up_heads();

/// Bright cells on an uneven, noisy background, 320 x 240, 8 bits.
io::Picture made_up_cells();

/// FASTA: 400 reads of 80 bases, both strands, from a genome of 3,000 in which a piece of 300 comes three
/// times; one base in a hundred is wrong.
std::string made_up_reads();

/// Walking, as PhysioNet's gaitpdb has it: tabs, no header, time [s], 8 force sensors under either foot [N]
/// and their sums, 100 Hz, 40 s. From 20 s to 28 s the right foot drags.
std::string made_up_gait();

/// Three accelerometers [mg] at ankle, thigh and trunk as in UCI's Daphnet: blanks, no header, time in whole
/// milliseconds, 64 Hz, 60 s; the last column is 0 before the experiment, 1 while walking and 2 in a freeze
/// of gait.
std::string made_up_activity();

}  // namespace warploom::tool
