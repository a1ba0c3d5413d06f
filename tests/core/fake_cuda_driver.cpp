// Two invented devices behind the driver API. FAKE_CUDA: "broken" makes cuInit fail, "empty" shows no device.

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {
bool asked_for(std::string_view mode) {
  const char* value = std::getenv("FAKE_CUDA");
  return value != nullptr && value == mode;
}

thread_local std::vector<int> contexts;  // the last is current
}  // namespace

extern "C" {

int cuInit(unsigned) { return asked_for("broken") ? 999 : 0; }

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = asked_for("empty") ? 0 : 2;
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < 2 ? 0 : 101;  // CUDA_ERROR_INVALID_DEVICE
}

// Contexts are pointers to the devices' numbers.
int cuDevicePrimaryCtxRetain(void** context, int device) {
  static int devices[] = {0, 1};
  *context = &devices[device];
  return 0;
}

int cuCtxPushCurrent_v2(void* context) {
  contexts.push_back(*static_cast<int*>(context));
  return 0;
}

int cuCtxPopCurrent_v2(void**) {
  contexts.pop_back();
  return 0;
}

int cuCtxGetDevice(int* device) {
  if (contexts.empty()) return 201;  // CUDA_ERROR_INVALID_CONTEXT
  *device = contexts.back();
  return 0;
}

/// For tests: the device of the thread's current context, -1: there is none.
int fake_current() { return contexts.empty() ? -1 : contexts.back(); }

int cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<std::size_t>(length), "Invented %d", device);
  return 0;
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  *bytes = std::size_t{8} << (30 + device);  // 8 and 16 GiB
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  switch (attribute) {
    case 8:
      *value = 48 << 10;
      return 0;  // shared memory a block
    case 16:
      *value = 10 + device;
      return 0;  // multiprocessors
    case 39:
      *value = 2048;
      return 0;  // threads a multiprocessor
    case 75:
      *value = 9;
      return 0;  // compute capability, major
    case 76:
      *value = device;
      return 0;  // and minor
    case 81:
      *value = 228 << 10;
      return 0;  // shared memory a multiprocessor
    case 82:
      *value = 65536;
      return 0;  // registers a multiprocessor
    case 97:
      *value = 227 << 10;
      return 0;  // shared memory a block, opt-in
    default:
      return 1;  // CUDA_ERROR_INVALID_VALUE: what an old driver says of an attribute it does not know
  }
}

int cuGetErrorString(int, const char** text) {
  *text = "invented error";
  return 0;
}
}
