/* The columns of what counters measured, for the tables of several analyses. */
#pragma once

#include "table/record.h"
#include "trace/measures.h"

/* Means over time; NaN: unknown. */
typedef struct rs_measured_means {
    double sm, tensor, dram, nvlink_rx, nvlink_tx, pcie_rx, pcie_tx, clock, memory_clock, power, temperature;
} rs_measured_means;

rs_measured_means rs_measured_means_of(const rs_measured *measured);

#define RS_MEASURED_CELLS(CELL, row, member)                                                                 \
    CELL(OF(row, member.sm), "sm_active_pct", REAL, PERCENT, "cycles in which SMs have a warp, of all",      \
         "SM active")                                                                                        \
    CELL(OF(row, member.tensor), "tensor_active_pct", REAL, PERCENT,                                         \
         "cycles in which the pipes of the tensor cores work", "tensor active")                              \
    CELL(OF(row, member.dram), "dram_pct", REAL, PERCENT, "reads and writes of memory, of the peak", "DRAM") \
    CELL(OF(row, member.nvlink_rx), "nvlink_rx_pct", REAL, PERCENT, "received over NVLink, of the peak",     \
         "NVLink in")                                                                                        \
    CELL(OF(row, member.nvlink_tx), "nvlink_tx_pct", REAL, PERCENT, "sent over NVLink, of the peak",         \
         "NVLink out")                                                                                       \
    CELL(OF(row, member.pcie_rx), "pcie_rx_pct", REAL, PERCENT, "received over PCIe, of the peak",           \
         "PCIe in")                                                                                          \
    CELL(OF(row, member.pcie_tx), "pcie_tx_pct", REAL, PERCENT, "sent over PCIe, of the peak", "PCIe out")   \
    CELL(OF(row, member.clock), "clock_mhz", REAL, NONE, "clock of the SMs, MHz", "clock MHz")               \
    CELL(OF(row, member.memory_clock), "memory_clock_mhz", REAL, NONE, "clock of the memory, MHz",           \
         "memory MHz")                                                                                       \
    CELL(OF(row, member.power), "power_w", REAL, NONE, "power that the device draws, W", "power W")          \
    CELL(OF(row, member.temperature), "temperature_c", REAL, NONE, "temperature of the device, C", "temp C")
