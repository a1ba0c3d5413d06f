#pragma once

#include <vector>

#include "search/seen.hpp"

namespace warploom::search {

/// By what a query's channels have to be multiplied to be as large as a recording's, which may be in other
/// units: 1, unless the query is larger or smaller than anything in the recording.
///
/// What counts is the root mean square of a sensor's axes, levels and deviations alike: it does not depend on
/// its orientation, and an accelerometer's is gravity's whatever somebody does. A gain is looked for where a
/// sensor's (channels of no sensor are taken together; those of one strength, noise or nothing at all, do not
/// count beside others) is more than 2.2 times below or above that of all windows. It is read off at the
/// twenty windows of most alike shapes, each channel in its place, of which the most alike count most, and
/// taken as one of confused_units() if it is within 2.2 times of it. All sensors have it, or some, or a
/// second unit besides (accelerometers in g, gyroscopes in rad/s): whatever explains best, beside how much a
/// sensor's windows differ. At least .3 of the sensors have to be out of range for it, and the sizes of
/// channels, in order, have to agree better with it: channels that were exchanged between sensors are no
/// other unit.
/// @param channels  [query channels] whether its gain is not known
/// @return [query channels] 1 where it is known
std::vector<double> estimated_gains(const Searched& searched, const Query& query, const FindOptions& options,
                                    const std::vector<bool>& channels);

}  // namespace warploom::search
