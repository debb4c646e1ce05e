/* A profiler for the ranges that the library opens. NVTX loads it (NVTX_INJECTION64_PATH), and it writes one line to
 * standard error for each range of the domain "Synfire". */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <string.h>

/* The header with NVTX's side of the interface is too large for this program, so the parts that it needs are repeated
 * here. */
static int depth = 0;
static int ours = 0;

static nvtxDomainHandle_t NVTX_API domain_create(const char *name) {
  ours = strcmp(name, "Synfire") == 0;
  return ours ? (nvtxDomainHandle_t)&depth : NULL;
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes) {
  if (domain == (nvtxDomainHandle_t)&depth) fprintf(stderr, "range %d: %s\n", depth, attributes->message.ascii);
  return depth++;
}

static int NVTX_API pop(nvtxDomainHandle_t domain) {
  (void)domain;
  return --depth;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  const NvtxExportTableCallbacks *callbacks = (const NvtxExportTableCallbacks *)get_export_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table = NULL;
  unsigned int size = 0;
  nvtxDomainHandle_t(NVTX_API * create)(const char *) = domain_create;
  int(NVTX_API * begin)(nvtxDomainHandle_t, const nvtxEventAttributes_t *) = push;
  int(NVTX_API * end)(nvtxDomainHandle_t) = pop;
  if (callbacks == NULL || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  if (size <= NVTX_CBID_CORE2_DomainCreateA) return 0;
  memcpy(table[NVTX_CBID_CORE2_DomainCreateA], &create, sizeof create);
  memcpy(table[NVTX_CBID_CORE2_DomainRangePushEx], &begin, sizeof begin);
  memcpy(table[NVTX_CBID_CORE2_DomainRangePop], &end, sizeof end);
  return 1;
}
