// The yardstick: simdjson's on-demand parser walks the events of a trace and reads `ts` of each, nothing
// else. The file is in memory before. Prints the seconds of the first walk, which pays for fresh memory as a
// program that reads one file does; those of the fastest of further walks with the same parser, which does
// not, and the processor time of that which took least; how many it read; the library's version and its
// kernel.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <simdjson.h>

static double processor_seconds()
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) return 2;
    int n_walks = argc == 3 ? std::atoi(argv[2]) : 3;
    simdjson::padded_string text;
    if (simdjson::padded_string::load(argv[1]).get(text)) return 1;
    simdjson::ondemand::parser parser;
    double sum = 0, first = 0, best = 1e9, best_processor = 1e9;
    size_t n = 0, n_ts = 0;
    for (int walk = 0; walk < n_walks; walk++) {
        sum = 0;
        n = n_ts = 0;
        double processor = processor_seconds();
        auto begin = std::chrono::steady_clock::now();
        simdjson::ondemand::document document;
        simdjson::ondemand::array events;
        if (parser.iterate(text).get(document) || document["traceEvents"].get_array().get(events)) return 1;
        for (auto element : events) {
            double ts;
            simdjson::ondemand::object event;
            if (element.get_object().get(event)) return 1;
            if (!event["ts"].get_double().get(ts)) {
                sum += ts;
                n_ts++;
            }
            n++;
        }
        std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        if (walk == 0) first = took.count();
        best = std::min(best, took.count());
        best_processor = std::min(best_processor, processor_seconds() - processor);
    }
#ifdef SIMDJSON_BUILTIN_IMPLEMENTATION
#define NAME_OF(x) #x
#define NAME(x) NAME_OF(x)
    const char *kernel = NAME(SIMDJSON_BUILTIN_IMPLEMENTATION);
#else
    const char *kernel = "builtin";
#endif
    std::printf("{\"seconds\": %.6f, \"warm\": %.6f, \"processor\": %.6f, \"events\": %zu, \"ts\": %zu, "
                "\"sum\": %.0f, "
                "\"version\": \"%d.%d.%d\", "
                "\"kernel\": \"%s\"}\n",
                first, best, best_processor, n, n_ts, sum, int(simdjson::SIMDJSON_VERSION_MAJOR),
                int(simdjson::SIMDJSON_VERSION_MINOR), int(simdjson::SIMDJSON_VERSION_REVISION), kernel);
    return 0;
}
