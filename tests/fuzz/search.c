/* What is linked where libFuzzer invents the inputs. */
#include "fuzz.h"

const bool fuzz_every_way = false;
