/* Stays for cmd_flight.c: the layout of text is in output/. */
#include "output/layout.h"
