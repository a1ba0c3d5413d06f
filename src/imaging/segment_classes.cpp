#include "imaging/segment_convex.hpp"
#include "warploom/core/error.hpp"
namespace warploom::imaging {
Segmentation segment_classes(const Image&, const ScaledImage&, const SegmentOptions&) { throw BadInput("classes"); }
}
