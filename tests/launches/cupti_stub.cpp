// A CUPTI that calls back when the test says so.
#include <cupti.h>

namespace {
CUpti_CallbackFunc callback = nullptr;
bool enabled[2][4096];
}  // namespace

extern "C" {
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc function, void*) {
  callback = function;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  enabled[domain == CUPTI_CB_DOMAIN_RUNTIME_API][id] = enable != 0;
  return CUPTI_SUCCESS;
}

/// False: nobody asked for this call.
int stub_call(CUpti_CallbackDomain domain, CUpti_CallbackId id, CUpti_ApiCallbackSite site,
              const char* symbol, const void* parameters) {
  if (callback == nullptr || !enabled[domain == CUPTI_CB_DOMAIN_RUNTIME_API][id]) return 0;
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.symbolName = symbol;
  data.functionParams = parameters;
  callback(nullptr, domain, id, &data);
  return 1;
}
}
