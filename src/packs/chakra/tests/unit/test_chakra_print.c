/* A Chakra execution trace as JSON: every kind of attribute that there is, texts that JSON escapes, numbers that it has
 * not, dependencies, inputs and outputs; read again by another reader. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <unistd.h>

#include "chakra/proto.h"
#include "rankscope/chakra_trace.h"
#include "support.h"

static void add_message(text *t, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m), left = n;
    uint8_t *bytes = malloc(n + !n);
    assert_non_null(bytes);
    protobuf_c_message_pack(m, bytes);
    do {
        char byte = (char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
        text_add(t, &byte, 1);
        left >>= 7;
    } while (left);
    text_add(t, bytes, n);
    free(bytes);
}

static bool keep(void *context, const char *bytes, size_t n)
{
    text_add(context, bytes, n);
    return true;
}

static text print(const text *trace, bool lines)
{
    char path[] = "/tmp/rankscope-print-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    text_save(trace, path);
    text out = {0};
    rs_error err = RS_ERROR_INIT;
    uint64_t nodes = 0;
    assert_int_equal(rs_chakra_print(path, 0, lines, &(rs_sink){keep, &out}, &nodes, &err), RS_OK);
    assert_int_equal(nodes, 1);
    unlink(path);
    return out;
}

#define SCALAR(name_, kind, member, value)                                                                   \
    {                                                                                                        \
        .base = PROTOBUF_C_MESSAGE_INIT(&rs__et__attribute__descriptor), .name = (char *)(uintptr_t)(name_), \
        .doc_string = (char *)(uintptr_t) "", .value_case = RS__ET__ATTRIBUTE__VALUE_##kind, .member = value \
    }
#define LIST(name_, kind, member, type, lower, ...)                                                          \
    SCALAR(name_, kind, member,                                                                              \
           (&(Rs__Et__##type){.base = PROTOBUF_C_MESSAGE_INIT(&rs__et__##lower##__descriptor),               \
                              .n_values = 2,                                                                 \
                              .values = __VA_ARGS__}))

static char *word(const char *s)
{
    return (char *)(uintptr_t)s;
}

TEST(test_every_kind)
{
    static uint8_t three[] = {0, 0x10, 0x83}, one[] = {0xff};
    Rs__Et__Attribute all[] = {
        SCALAR("double", DOUBLE_VAL, double_val, 0.1),
        SCALAR("float", FLOAT_VAL, float_val, -2.5F),
        SCALAR("nan", DOUBLE_VAL, double_val, NAN),
        SCALAR("up", DOUBLE_VAL, double_val, INFINITY),
        SCALAR("down", FLOAT_VAL, float_val, -INFINITY),
        SCALAR("int32", INT32_VAL, int32_val, INT32_MIN),
        SCALAR("int64", INT64_VAL, int64_val, INT64_MIN),
        SCALAR("uint32", UINT32_VAL, uint32_val, UINT32_MAX),
        SCALAR("uint64", UINT64_VAL, uint64_val, 9223372036854775807),
        SCALAR("sint32", SINT32_VAL, sint32_val, -3),
        SCALAR("sint64", SINT64_VAL, sint64_val, -4),
        SCALAR("fixed32", FIXED32_VAL, fixed32_val, 5),
        SCALAR("fixed64", FIXED64_VAL, fixed64_val, 6),
        SCALAR("sfixed32", SFIXED32_VAL, sfixed32_val, -7),
        SCALAR("sfixed64", SFIXED64_VAL, sfixed64_val, -8),
        SCALAR("yes", BOOL_VAL, bool_val, 1),
        SCALAR("no", BOOL_VAL, bool_val, 0),
        SCALAR("text", STRING_VAL, string_val, (char *)(uintptr_t) "a\"\n\\\x01"),
        SCALAR("bytes", BYTES_VAL, bytes_val, ((ProtobufCBinaryData){3, three})),
        SCALAR("two", BYTES_VAL, bytes_val, ((ProtobufCBinaryData){2, three})),
        SCALAR("one", BYTES_VAL, bytes_val, ((ProtobufCBinaryData){1, one})),
        LIST("doubles", DOUBLE_LIST, double_list, DoubleList, double_list, (double[]){1.5, NAN}),
        LIST("floats", FLOAT_LIST, float_list, FloatList, float_list, (float[]){1.5F, -1}),
        LIST("int32s", INT32_LIST, int32_list, Int32List, int32_list, (int32_t[]){-1, 2}),
        LIST("int64s", INT64_LIST, int64_list, Int64List, int64_list, (int64_t[]){-3, 4}),
        LIST("uint32s", UINT32_LIST, uint32_list, Uint32List, uint32_list, (uint32_t[]){5, 6}),
        LIST("uint64s", UINT64_LIST, uint64_list, Uint64List, uint64_list, (uint64_t[]){7, 8}),
        LIST("sint32s", SINT32_LIST, sint32_list, Sint32List, sint32_list, (int32_t[]){-9, 10}),
        LIST("sint64s", SINT64_LIST, sint64_list, Sint64List, sint64_list, (int64_t[]){-11, 12}),
        LIST("fixed32s", FIXED32_LIST, fixed32_list, Fixed32List, fixed32_list, (uint32_t[]){13, 14}),
        LIST("fixed64s", FIXED64_LIST, fixed64_list, Fixed64List, fixed64_list, (uint64_t[]){15, 16}),
        LIST("sfixed32s", SFIXED32_LIST, sfixed32_list, Sfixed32List, sfixed32_list, (int32_t[]){-17, 18}),
        LIST("sfixed64s", SFIXED64_LIST, sfixed64_list, Sfixed64List, sfixed64_list, (int64_t[]){-19, 20}),
        LIST("bools", BOOL_LIST, bool_list, BoolList, bool_list, (protobuf_c_boolean[]){1, 0}),
        LIST("texts", STRING_LIST, string_list, StringList, string_list, (char *[]){word("a"), word("")}),
        LIST("many", BYTES_LIST, bytes_list, BytesList, bytes_list,
             (ProtobufCBinaryData[]){{1, one}, {0, NULL}}),
        SCALAR("nothing", _NOT_SET, int32_val, 0),
    };
    static const char *const wanted[] = {"0.1",
                                         "-2.5",
                                         "\"NaN\"",
                                         "\"Infinity\"",
                                         "\"-Infinity\"",
                                         "-2147483648",
                                         "-9223372036854775808",
                                         "4294967295",
                                         "9223372036854775807",
                                         "-3",
                                         "-4",
                                         "5",
                                         "6",
                                         "-7",
                                         "-8",
                                         "true",
                                         "false",
                                         "\"a\\\"\\n\\\\\\u0001\"",
                                         "\"ABCD\"",
                                         "\"ABA=\"",
                                         "\"/w==\"",
                                         "[1.5, \"NaN\"]",
                                         "[1.5, -1]",
                                         "[-1, 2]",
                                         "[-3, 4]",
                                         "[5, 6]",
                                         "[7, 8]",
                                         "[-9, 10]",
                                         "[-11, 12]",
                                         "[13, 14]",
                                         "[15, 16]",
                                         "[-17, 18]",
                                         "[-19, 20]",
                                         "[true, false]",
                                         "[\"a\", \"\"]",
                                         "[\"/w==\", \"\"]",
                                         "null"};
    enum { N = sizeof all / sizeof *all };
    assert_int_equal(N, sizeof wanted / sizeof *wanted);
    Rs__Et__Attribute *pointers[N];
    for (size_t i = 0; i < N; i++) pointers[i] = &all[i];
    all[1].doc_string = word("what it is");
    Rs__Et__GlobalMetadata metadata = RS__ET__GLOBAL_METADATA__INIT;
    metadata.version = word("0.0.4");
    metadata.n_attr = 1;
    metadata.attr = pointers;
    Rs__Et__InputsOutputs inputs = RS__ET__INPUTS_OUTPUTS__INIT;
    inputs.values = word("[1]");
    inputs.shapes = word("[[2]]");
    inputs.types = word("[\"Int\"]");
    Rs__Et__Node node = RS__ET__NODE__INIT;
    node.id = 9;
    node.name = word("a node");
    node.type = (Rs__Et__NodeType)99;
    node.start_time_micros = 10;
    node.duration_micros = 11;
    node.n_ctrl_deps = 2;
    node.ctrl_deps = (uint64_t[]){3, 4};
    node.n_data_deps = 1;
    node.data_deps = (uint64_t[]){5};
    node.inputs = &inputs;
    node.n_attr = N;
    node.attr = pointers;
    text trace = {0}, want = {0};
    add_message(&trace, &metadata.base);
    add_message(&trace, &node.base);

    text out = print(&trace, false), lines = print(&trace, true);
    json_error_t error;
    json_t *top = json_loadb(out.s, out.n, 0, &error);
    assert_non_null(top);
    json_t *read = json_array_get(json_object_get(top, "nodes"), 0), *attr = json_object_get(read, "attr");
    assert_int_equal(json_array_size(json_object_get(top, "nodes")), 1);
    assert_int_equal(json_integer_value(json_object_get(read, "type")), 99);
    assert_string_equal(json_string_value(json_object_get(json_object_get(read, "inputs"), "shapes")),
                        "[[2]]");
    assert_null(json_object_get(read, "outputs"));
    assert_int_equal(json_array_size(attr), N);
    for (size_t i = 0; i < N; i++) {
        json_t *one_of = json_array_get(attr, i), *value = NULL, *member;
        const char *key;
        assert_string_equal(json_string_value(json_object_get(one_of, "name")), all[i].name);
        json_object_foreach(one_of, key, member)
        {
            if (strcmp(key, "name") != 0 && strcmp(key, "doc_string") != 0) value = member;
        }
        json_t *right = json_loads(wanted[i], JSON_DECODE_ANY, &error);
        if (!value || !right || !json_equal(value, right)) fail_msg("%s is not %s", all[i].name, wanted[i]);
        json_decref(right);
    }
    json_decref(top);
    /* how a list, a doc string and the whole of a node stand there, byte for byte */
    assert_non_null(
        strstr(out.s, "{\"name\": \"float\", \"doc_string\": \"what it is\", \"float_val\": -2.5}"));
    assert_non_null(strstr(
        out.s, "{\"id\": 9, \"name\": \"a node\", \"type\": 99, \"ctrl_deps\": [3, 4], \"data_deps\": [5], "
               "\"start_time_micros\": 10, \"duration_micros\": 11, \"inputs\": {\"values\": \"[1]\", "
               "\"shapes\": \"[[2]]\", \"types\": \"[\\\"Int\\\"]\"}, \"attr\": ["));
    assert_non_null(strstr(out.s, "{\"name\": \"int32s\", \"int32_list\": [-1, 2]}"));
    assert_non_null(strstr(out.s, "{\"name\": \"nothing\", \"value\": null}"));
    assert_int_equal(
        strncmp(out.s, "{\"metadata\": {\"version\": \"0.0.4\", \"attr\": [{\"name\": \"double\"", 60), 0);
    assert_int_equal(strncmp(lines.s, "{\"version\": \"0.0.4\", \"attr\": [", 30), 0);
    assert_int_equal(lines.s[lines.n - 1], '\n');
    text_clear(&trace);
    text_clear(&want);
    text_clear(&out);
    text_clear(&lines);
}
